"""A hostile repository whose rules files lead elsewhere: the model receives no file that the user would be asked about."""

import json
import os
import sys
from pathlib import Path

import pytest

from opencode_tui.engine.session.request.instruction import RulesFile
from tests.engine.session.test_subagent import opened, prompt
from tests.engine.tool.test_files import start_swapping
from tests.support.provider.model_script import Answer, Call
from tests.support.world.repo import make_repo

pytestmark = pytest.mark.slow


CANARY = "CANARY-7f3a"
OWN_RULES = "OWN-RULES-2b1c"

LINKS = {
    "a rules file outside": {"AGENTS.md": "{outside}/secret.md"},
    "a relative link outside": {"AGENTS.md": "../outside/secret.md"},
    "the second name": {"CLAUDE.md": "{outside}/secret.md"},
    "the third name": {"CONTEXT.md": "{outside}/secret.md"},
    "a file of secrets": {"CLAUDE.md": ".env"},
    "a file of secrets by its ending": {"AGENTS.md": "prod.env"},
    "a file of secrets in another spelling": {"AGENTS.md": ".ENV.local"},
    "git's settings": {"AGENTS.md": ".git/config"},
    "a link to a link": {"AGENTS.md": "docs/one", "docs/one": "{outside}/secret.md"},
    "a link through a folder that is a link": {"AGENTS.md": "lnk/secret.md", "lnk": "{outside}"},
    "a link with dots behind a link": {"AGENTS.md": "lnk/../outside/secret.md", "lnk": "{outside}"},
    "the user's home": {"AGENTS.md": "{home}/.ssh/id_rsa"},
    "our own credentials": {"AGENTS.md": "{home}/.local/share/opencode-tui/auth.json"},
}

PATTERNS = {
    "a glob through a link": (["l*/secret.md"], {"lnk": "{outside}"}),
    "a glob through links at two levels": (["*/*.md"], {"lnk": "{outside}"}),
    "a glob of links": (["*.lnk"], {"a.lnk": "{outside}/secret.md"}),
    "a glob in a folder": (["docs/*.md"], {"docs/a.md": "../../outside/secret.md"}),
    "a set of letters": (["lnk/secret[.]md"], {"lnk": "{outside}"}),
    "a question mark": (["ln?/secret.md"], {"lnk": "{outside}"}),
    "two stars": (["**/*.md"], {"docs/deep/a.md": "{outside}/secret.md"}),
    "two stars behind a link": (["lnk/**/*.md"], {"lnk": "{outside}"}),
    "globs of secrets": (["*env", ".e*"], {}),
    "a glob of secrets in another spelling": ([".E*"], {}),
    "a name of secrets": (["prod.env", "sub/prod.env"], {}),
    "everything hidden": ([".*", ".*/*"], {}),
    "everything": (["**/*"], {"x": "{outside}/secret.md", "y": "{outside}"}),
    "a literal link": (["docs/a.md"], {"docs/a.md": "{outside}/secret.md"}),
    "a literal path through a link": (["lnk/secret.md"], {"lnk": "{outside}"}),
    "dots": (["../outside/secret.md"], {}),
    "dots behind a link": (["lnk/../outside/secret.md"], {"lnk": "{outside}"}),
    "dots behind a folder": (["docs/../../outside/*.md"], {"docs/x": "y"}),
    "an absolute path": (["{outside}/secret.md", "{outside}/*.md"], {}),
    "the home": (["~/.ssh/id_rsa", "~/.ssh/*"], {}),
    "a place above by a glob": (["[.][.]/outside/secret.md", "?./outside/*.md"], {}),
    "a name that is too long": (["a" * 400 + "/*.md", "*/" + "a" * 400], {}),
}


def make_project(tmp_path: Path, links: dict[str, str]) -> Path:
    """Return a repository with these links, and secrets in and around it."""
    outside, home = tmp_path / "outside", tmp_path / "home"
    project = make_repo(tmp_path / "project").path
    for path in (
        outside / "secret.md",
        home / ".ssh" / "id_rsa",
        home / ".local/share/opencode-tui/auth.json",
        project / ".env",
        project / ".ENV.local",
        project / "prod.env",
        project / "sub" / "prod.env",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({CANARY: {"type": "api", "key": CANARY}}))
    with (project / ".git" / "config").open("a") as file:
        file.write(f"[credential]\n\tusername = {CANARY}\n")
    for name, target in links.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target.format(outside=outside, home=home))
    return project


async def request_of(environ: dict[str, str], project: Path, *calls: Call) -> str:
    """Return all requests of a turn as text."""
    answers = [*(Answer(calls=(call,)) for call in calls), Answer(text="ok")]
    async with opened(environ, project, *answers) as (server, client):
        await prompt(client, "go")
        assert len(server.bodies) > len(calls)
        return str(server.bodies)


@pytest.mark.parametrize("links", LINKS.values(), ids=list(LINKS))
async def test_a_rules_file_that_leads_elsewhere_is_left_out_and_named(
    environ: dict[str, str], tmp_path: Path, links: dict[str, str]
) -> None:
    sent = await request_of(environ, make_project(tmp_path, links))
    assert CANARY not in sent
    assert f"project/{next(iter(links))}\\n(left out: it leads to" in sent


@pytest.mark.parametrize(("patterns", "links"), PATTERNS.values(), ids=list(PATTERNS))
@pytest.mark.parametrize("settings", ["opencode.json", ".opencode/opencode.json", "sub/opencode.jsonc"])
async def test_a_pattern_of_a_repository_brings_no_file_from_elsewhere(
    environ: dict[str, str], tmp_path: Path, patterns: list[str], links: dict[str, str], settings: str
) -> None:
    project = make_project(tmp_path, links)
    file = project / settings
    file.parent.mkdir(exist_ok=True)
    written = [pattern.format(outside=tmp_path / "outside") if "{" in pattern else pattern for pattern in patterns]
    file.write_text(json.dumps({"instructions": written}))
    start = file.parent if file.parent.name == "sub" else project
    assert CANARY not in await request_of(environ, start)


@pytest.mark.parametrize("pattern", ["../secret.md", "x/../../secret.md", "docs/../../secret.md"])
async def test_dots_count_from_the_top_of_the_project_also_in_a_settings_folder(
    environ: dict[str, str], tmp_path: Path, pattern: str
) -> None:
    project = make_project(tmp_path, {})
    (tmp_path / "secret.md").write_text(CANARY)
    (project / "docs").mkdir()
    (project / "x").mkdir()
    (project / ".opencode").mkdir()
    (project / ".opencode" / "opencode.json").write_text(json.dumps({"instructions": [pattern]}))
    assert CANARY not in await request_of(environ, project)


@pytest.mark.parametrize("patterns", [["docs/*.md"], ["l*/secret.md"], ["docs/a.md"], ["**/*.md"], ["lnk/secret.md"]])
async def test_the_users_own_patterns_do_not_follow_links_of_a_repository(
    environ: dict[str, str], tmp_path: Path, patterns: list[str]
) -> None:
    project = make_project(tmp_path, {"docs/a.md": "{outside}/secret.md", "lnk": "{outside}"})
    environ = {**environ, "OPENCODE_CONFIG_DIR": str(tmp_path / "own")}
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "opencode.json").write_text(json.dumps({"instructions": patterns}))
    assert CANARY not in await request_of(environ, project)


async def test_the_users_own_settings_may_name_files_elsewhere_and_links(
    environ: dict[str, str], tmp_path: Path
) -> None:
    project = make_project(tmp_path, {})
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "real.txt").write_text(OWN_RULES)
    (rules / "linked.md").symlink_to("real.txt")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "opencode.json").write_text(json.dumps({"instructions": [f"{rules}/*.md"]}))
    sent = await request_of({**environ, "OPENCODE_CONFIG_DIR": str(tmp_path / "own")}, project)
    assert OWN_RULES in sent


async def test_links_inside_the_project_are_followed(environ: dict[str, str], tmp_path: Path) -> None:
    project = make_project(tmp_path, {"AGENTS.md": "CLAUDE.md", "sub/AGENTS.md": "../docs/rules.md"})
    (project / "CLAUDE.md").write_text(OWN_RULES)
    (project / "docs").mkdir()
    (project / "docs" / "rules.md").write_text(f"nested {OWN_RULES}")
    (project / "sub" / "a.txt").write_text("x")
    sent = await request_of(environ, project, Call("read", {"filePath": "sub/a.txt"}))
    assert f"project/AGENTS.md\\n{OWN_RULES}" in sent
    assert f"nested {OWN_RULES}" in sent


@pytest.mark.parametrize(
    "target", ["../../outside/secret.md", "../.env", "../prod.env", "../.git/config", "../lnk/secret.md"]
)
async def test_the_rules_of_a_folder_that_is_read_may_not_lead_elsewhere_either(
    environ: dict[str, str], tmp_path: Path, target: str
) -> None:
    project = make_project(tmp_path, {"sub/AGENTS.md": target, "lnk": "{outside}"})
    (project / "sub" / "a.txt").write_text("x")
    sent = await request_of(environ, project, Call("read", {"filePath": "sub/a.txt"}))
    assert CANARY not in sent
    assert "sub/AGENTS.md\\n(left out: it leads to" in sent


async def test_a_rules_file_that_becomes_a_link_during_the_session_is_left_out(
    environ: dict[str, str], tmp_path: Path
) -> None:
    project = make_project(tmp_path, {})
    (project / "AGENTS.md").write_text(OWN_RULES)
    async with opened(environ, project, Answer(text="one"), Answer(text="two")) as (server, client):
        await prompt(client, "go")
        os.unlink(project / "AGENTS.md")
        (project / "AGENTS.md").symlink_to(tmp_path / "outside" / "secret.md")
        await prompt(client, "go on")
        assert OWN_RULES in str(server.bodies[0])
        assert CANARY not in str(server.bodies)


@pytest.mark.skipif(sys.platform != "linux", reason="exchanging two names in one step is a Linux call")
def test_a_rules_file_that_is_exchanged_with_a_link_all_the_time_brings_nothing_else(tmp_path: Path) -> None:
    project = make_project(tmp_path, {"other": "../secret.md"})
    (tmp_path / "secret.md").write_text(CANARY)
    (project / "AGENTS.md").write_text(OWN_RULES)
    swapper = start_swapping(project / "AGENTS.md", project / "other")
    try:
        found = {RulesFile(project / "AGENTS.md", project).read() for _ in range(2_000)}
    finally:
        swapper.kill()
        swapper.wait()
    assert OWN_RULES in found
    assert [text for text in found if CANARY in text] == []
