"""The content of an ignored file that a command changed is only for undo: its ways out of the store, each tried."""

from pathlib import Path

import pytest

from opencode_tui.engine.permission.policy import AskPerson, AutoApprove
from opencode_tui.schema.api.request import ForkSession
from opencode_tui.text.export.html import session_page
from tests.support.provider.model_script import Answer, Call
from tests.support.share.server import recorded_server
from tests.support.snapshot.worktree import facts_of
from tests.support.undo.steps import patches_in
from tests.support.world.engine import opened
from tests.support.world.repo import make_repo

AUTO = AutoApprove(AskPerson(), outside=True)
DONE = Answer(text="done")
SECRET = "kjw4-not-for-anyone-8812"
NEW = "kjw4-written-later-5571"
COMMAND = "tr abcdefghij ABCDEFGHIJ < .env > .new; mv .new .env; rm data/local.db; echo x > seen.txt"
"""Changes an ignored file without naming its content, removes another one, makes a third file."""


@pytest.fixture
def folder(tmp_path):
    repo = make_repo(tmp_path / "project")
    repo.commit("begin", **{"a.txt": "1\n", ".gitignore": ".env\ndata/\n"})
    repo.write(".env", f"TOKEN={SECRET}\n").chmod(0o640)
    repo.write("data/local.db", f"row {SECRET}\n")
    return repo.path


def changed(text: str) -> str:
    return text.translate(str.maketrans("abcdefghij", "ABCDEFGHIJ"))


def assert_without_secret(text: str) -> None:
    assert SECRET not in text and changed(SECRET) not in text


@pytest.mark.slow
async def test_undo_and_redo_of_a_command_restore_ignored_files(environ, folder):
    before = facts_of(folder)
    async with opened(environ, folder, Answer(calls=(bash(COMMAND),)), DONE, policy=AUTO) as world:
        session = await world.prompt("work")
        after = facts_of(folder)
        [patch] = patches_in(await world.parts(session))
        assert {Path(file).name for file in patch.files} == {".env", "local.db", "seen.txt"}
        preview = await world.client.undo.preview(session.id)
        report = await world.client.undo.revert(session.id)
        assert facts_of(folder) == before and (report.kept, report.unprotected, report.failed) == ([], [], [])
        await world.client.undo.unrevert(session.id)
        assert facts_of(folder) == after
    assert {Path(file.path).name for file in preview.restored} == {".env", "local.db"}


def bash(command: str) -> Call:
    return Call("bash", {"command": command, "description": "d"})


async def test_no_record_diff_or_request_has_the_content_of_an_ignored_file(environ, folder, paths):
    answers = (Answer(calls=(bash(COMMAND),)), DONE, DONE, DONE)
    async with opened(environ, folder, *answers, policy=AUTO) as world:
        session = await world.prompt("work")
        diffs = list(await world.client.sessions.diff(session.id))
        found = list(await world.client.undo.changes(session.id, (await world.messages(session))[0].info.id))
        await world.client.undo.revert(session.id, only="files")
        await world.prompt("go on", session=session)
        await world.prompt("and on", session=session)
        page = "".join(session_page(await world.client.sessions.get(session.id), await world.messages(session)))
        sent = repr(world.server.bodies)
    assert [diff.file for diff in diffs] == [diff.file for diff in found] == ["seen.txt"]
    assert ".env" in sent, "the report of the undo names the file"
    assert_without_secret(sent)
    assert_without_secret(page)
    records = [path for top in (paths.data, paths.state, paths.cache) for path in top.rglob("*") if path.is_file()]
    kept = [path for path in records if not path.is_relative_to(paths.snapshot)]
    assert len(kept) > 5
    for path in kept:
        assert_without_secret(path.read_bytes().decode("utf-8", "replace"))


@pytest.mark.slow
async def test_a_share_and_a_fork_have_no_content_of_an_ignored_file(environ, folder, tmp_path):
    answers = (Answer(calls=(bash(COMMAND),)), DONE)
    async with (
        recorded_server(tmp_path / "server") as server,
        opened(environ, folder, *answers, policy=AUTO, settings={"enterprise": {"url": server.url}}) as world,
    ):
        session = await world.prompt("work")
        shared = await world.client.sharing.share(session.id)
        assert shared.share is not None
        data = repr(await server.data(shared.share.url))
        fork = await world.client.sessions.fork(session.id, ForkSession(worktree=True))
    assert "seen.txt" in data
    assert_without_secret(data)
    copied = facts_of(Path(fork.directory))
    assert "seen.txt" in copied and not {".env", "data"} & copied.keys()


@pytest.mark.slow
async def test_a_step_of_a_file_tool_and_a_command_keeps_the_content_of_the_ignored_file_to_itself(environ, folder):
    calls = (
        Call("write", {"filePath": "plain.txt", "content": "p\n"}),
        bash(f"echo {NEW} >> data/local.db"),
    )
    before = facts_of(folder)
    async with opened(environ, folder, Answer(calls=calls), DONE, policy=AUTO) as world:
        session = await world.prompt("work")
        assert [diff.file for diff in await world.client.sessions.diff(session.id)] == ["plain.txt"]
        await world.client.undo.revert(session.id)
        assert facts_of(folder) == before


@pytest.mark.slow
async def test_the_store_is_only_for_its_owner(environ, folder, paths):
    async with opened(environ, folder, Answer(calls=(bash(COMMAND),)), DONE, policy=AUTO) as world:
        await world.prompt("work")
    packs = list(paths.snapshot.rglob("*.pack"))
    assert packs and all(pack.stat().st_mode & 0o077 == 0 for pack in packs)
