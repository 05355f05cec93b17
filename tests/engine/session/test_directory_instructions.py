import pytest

from tests.engine.session.test_subagent import opened, prompt, tool_parts
from tests.support.provider.model_script import Answer, Call


def read(path):
    return Call("read", {"filePath": path})


async def loaded(client, session):
    return [part.state.metadata.get("loaded") or [] for part in await tool_parts(client, session.id)]


async def test_reading_deep_in_the_tree_brings_the_rules_of_the_folders_between(environ, tmp_path):
    nested = tmp_path / "sub" / "deep"
    nested.mkdir(parents=True)
    (tmp_path / "AGENTS.md").write_text("root rules")
    (tmp_path / "sub" / "AGENTS.md").write_text("sub rules")
    (nested / "a.py").write_text("x = 1\n")
    answers = [Answer(calls=(read("sub/deep/a.py"),)), Answer(calls=(read("sub/deep/a.py"),)), Answer(text="ok")]
    async with opened(environ, tmp_path, *answers) as (server, client):
        session = await prompt(client, "go")
        assert await loaded(client, session) == [[str(tmp_path / "sub" / "AGENTS.md")], []]
        first, *_ = await tool_parts(client, session.id)
        assert "sub rules" in first.state.output
        assert "root rules" not in first.state.output
        assert "root rules" in str(server.bodies[0]["messages"][0])


@pytest.mark.slow
async def test_reading_the_rules_file_itself_brings_nothing_more(environ, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "AGENTS.md").write_text("sub rules")
    async with opened(environ, tmp_path, Answer(calls=(read("sub/AGENTS.md"),)), Answer(text="ok")) as (_, client):
        assert await loaded(client, await prompt(client, "go")) == [[]]


async def test_rules_that_are_links_to_one_another_are_sent_once(environ, tmp_path):
    nested = tmp_path / "sub" / "deep"
    nested.mkdir(parents=True)
    (tmp_path / "AGENTS.md").write_text("root rules")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    (tmp_path / "sub" / "CLAUDE.md").symlink_to("../AGENTS.md")
    (nested / "AGENTS.md").symlink_to("../CLAUDE.md")
    (nested / "a.py").write_text("x = 1\n")
    async with opened(environ, tmp_path, Answer(calls=(read("sub/deep/a.py"),)), Answer(text="ok")) as (server, client):
        session = await prompt(client, "go")
        assert await loaded(client, session) == [[]]
        assert str(server.bodies[-1]["messages"]).count("root rules") == 1
