"""Undo of whole turns: the agent's changes are reverted, all others are kept, and the conversation continues."""

import asyncio
import json
from pathlib import Path

import pytest

from opencode_tui.engine.permission.policy import AskPerson, AutoApprove
from opencode_tui.schema.api.request import ShellInput
from opencode_tui.text.undo import stored_report
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import MODEL, opened
from tests.support.world.repo import make_repo

pytestmark = pytest.mark.slow


EDIT = '<<tool read {"filePath":"a.txt"}>> <<tool edit {"filePath":"a.txt","oldString":"%s","newString":"%s"}>>'


def make_project(tmp_path):
    repo = make_repo(tmp_path / "project")
    repo.commit(**{"a.txt": "one\n", "b.txt": "b\n"})
    return repo.path


async def test_after_an_undo_the_model_never_hears_of_it(environ, tmp_path):
    folder = make_project(tmp_path)
    async with opened(environ, folder) as world:
        session = await world.prompt("hello")
        await world.prompt(f"the secret plan {EDIT % ('one', 'two')}", session=session)
        await world.client.undo.revert(session.id)
        assert (folder / "a.txt").read_text() == "one\n"
        await world.prompt("something else", session=session)
        sent = json.dumps(world.server.bodies[-1])
        assert "something else" in sent and "secret plan" not in sent
        texts = [message.info.role for message in await world.messages(session)]
        assert texts == ["user", "assistant", "user", "assistant"]


async def test_edits_by_the_user_while_the_model_streams_are_kept(environ, tmp_path):
    folder = make_project(tmp_path)
    async with opened(environ, folder) as world:
        session = await world.new_session()
        turn = asyncio.create_task(world.prompt(f"<<slow 30>> <<words 20>> {EDIT % ('one', 'two')}", session=session))
        await asyncio.sleep(0.3)
        (folder / "b.txt").write_text("mine\n")
        (folder / "own.txt").write_text("mine\n")
        await turn
        report = await world.client.undo.revert(session.id)
        assert [file.path for file in report.restored] == [str(folder / "a.txt")]
        assert (folder / "b.txt").read_text() == (folder / "own.txt").read_text() == "mine\n"


async def test_a_command_line_of_the_user_can_be_undone(environ, tmp_path):
    folder = make_project(tmp_path)
    async with opened(environ, folder) as world:
        session = await world.prompt("hello")
        given = ShellInput(agent="build", model=MODEL, command="echo changed > a.txt; echo x > made.txt")
        await world.client.prompts.shell(session.id, given)
        report = await world.client.undo.revert(session.id)
        assert (folder / "a.txt").read_text() == "one\n" and not (folder / "made.txt").exists()
        assert report.scope is not None and report.scope.requests == 1
        await world.client.undo.unrevert(session.id)
        assert (folder / "a.txt").read_text() == "changed\n" and (folder / "made.txt").exists()


async def test_the_work_of_another_session_stays(environ, tmp_path):
    folder = make_project(tmp_path)
    async with opened(environ, folder) as world:
        mine = await world.prompt(EDIT % ("one", "two"))
        await world.prompt('<<tool write {"filePath":"other.txt","content":"theirs\\n"}>>')
        await world.client.undo.revert(mine.id)
        assert (folder / "a.txt").read_text() == "one\n" and (folder / "other.txt").read_text() == "theirs\n"


async def test_two_sessions_that_edit_one_file_in_turn_overwrite_nothing(environ, tmp_path):
    folder = make_project(tmp_path)
    async with opened(environ, folder) as world:
        mine = await world.prompt(EDIT % ("one", "two"))
        await world.prompt(EDIT % ("two", "three"))
        await world.prompt(EDIT % ("three", "four"), session=mine)
        first = (await world.messages(mine))[0].info.id
        report = await world.client.undo.revert(mine.id, first)
        assert (folder / "a.txt").read_text() == "four\n"
        assert [(file.path, file.reason) for file in report.kept] == [
            (str(folder / "a.txt"), "changed outside the session")
        ]


async def test_the_files_of_a_subagent_are_undone_with_the_turn_that_started_it(environ, tmp_path):
    folder = make_project(tmp_path)
    order = {"description": "Write", "prompt": "make the file", "subagent_type": "general"}
    write = Call("write", {"filePath": str(folder / "made.txt"), "content": "x\n"})
    answers = (Answer(calls=(Call("task", order),)), Answer(calls=(write,)), Answer(text="made"), Answer(text="done"))
    async with opened(environ, folder, *answers) as world:
        session = await world.prompt("delegate")
        assert len(await world.client.sessions.children(session.id)) == 1 and (folder / "made.txt").exists()
        while not (changes := await world.client.sessions.diff(session.id)):
            await asyncio.sleep(0.01)
        assert [diff.file for diff in changes] == ["made.txt"]
        report = await world.client.undo.revert(session.id)
        assert [file.path for file in report.deleted] == [str(folder / "made.txt")]
        assert not (folder / "made.txt").exists()
        await world.prompt("go on", session=session)
        assert await world.client.sessions.children(session.id) == []


@pytest.mark.parametrize("where", ["home", "above", "off"])
async def test_where_undo_is_off_the_preview_and_the_report_say_so_and_name_the_files(environ, tmp_path, where):
    folder = {"home": Path(environ["HOME"]), "above": Path(environ["HOME"]).parent, "off": tmp_path / "project"}[where]
    folder.mkdir(exist_ok=True)
    settings = {"snapshot": False} if where == "off" else {}
    async with opened(environ, folder, settings=settings) as world:
        session = await world.prompt('<<tool write {"filePath":"new.txt","content":"n"}>>')
        reason = (await world.client.settings.notices()).undo_off
        preview = await world.client.undo.preview(session.id)
        report = await world.client.undo.revert(session.id)
        stored = stored_report(await world.client.sessions.get(session.id))
    assert reason is not None and reason.startswith("undo is off here: ")
    assert stored is not None
    for said in (preview, report, stored):
        assert said.unavailable == reason
        assert [(file.path, file.reason) for file in said.unprotected] == [(str(folder / "new.txt"), reason)]
        assert said.restored == said.deleted == []
    assert (folder / "new.txt").read_text() == "n"


async def test_a_file_outside_the_project_is_named_as_not_covered_by_an_undo(environ, tmp_path):
    folder, outside = make_project(tmp_path), tmp_path / "outside.txt"
    async with opened(environ, folder, policy=AutoApprove(AskPerson(), outside=True)) as world:
        edit = EDIT % ("one", "two")
        session = await world.prompt(f'{edit} <<tool write {{"filePath":"{outside}","content":"n"}}>>')
        report = await world.client.undo.revert(session.id)
        assert (await world.client.settings.notices()).undo_off is None and report.unavailable is None
    assert [file.path for file in report.restored] == [str(folder / "a.txt")]
    assert [(file.path, file.reason) for file in report.unprotected] == [(str(outside), "it is outside the project")]
    assert (outside.read_text(), (folder / "a.txt").read_text()) == ("n", "one\n")
