"""What a command discards is listed in its question, is kept before it runs, and is there again after an undo."""

import re

import pytest

from opencode_tui.engine.permission.policy import AskPerson, AutoApprove, RefuseQuestions
from opencode_tui.schema.event.event import PermissionAsked
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.sandbox import LostRow
from opencode_tui.schema.session.tool_state import ToolStateError
from opencode_tui.text.permission import lost_lines, reasons_of, sandbox_facts
from tests.support.provider.model_script import Answer, Call
from tests.support.undo.discards import facts, make_project
from tests.support.world.engine import opened, while_reacting

pytestmark = pytest.mark.slow


def running(command: str) -> tuple[Answer, Answer]:
    return (Answer(calls=(Call("bash", {"command": command, "description": "Clean up"}),)), Answer(text="done"))


async def test_the_question_lists_what_is_lost_largest_first_and_an_undo_brings_it_back(environ, tmp_path):
    folder = make_project(tmp_path / "project").path
    before = facts(folder)
    async with opened(environ, folder, *running("git clean -fdx"), policy=AskPerson()) as world:
        asked: list[PermissionAsked] = []

        async def allow(event: PermissionAsked) -> None:
            asked.append(event)
            await world.client.permissions.reply(event.id, "once")

        session, _ = await while_reacting(world, PermissionAsked, allow, world.prompt("clean up"))
        lost = sandbox_facts(asked[0]).lost
        assert lost is not None
        assert [row.path for row in lost][:3] == ["data/", "uploads/", "drafts/"]
        assert {row.path: row.git for row in lost}["secret.key"] == "untracked"
        left = {row.path: row.reason for row in lost if row.reason is not None}
        assert left == dict.fromkeys(("build/", "node_modules/"), "ignored, and tools make it again")
        words = " ".join(reasons_of(asked[0], (), folder))
        assert re.search(
            r"Removes or overwrites data/ \(4 files, 6\.0 MiB, ignored\), .*; undo brings it back\.", words
        )
        assert "Undo will not bring back node_modules/ (1 file, 4 B, ignored) and build/" in words
        assert not (folder / "data").exists() and not (folder / "video.mov").exists()
        report = await world.client.undo.revert(session.id)
        assert [(file.path, file.reason) for file in report.unprotected] == [
            (str(folder / name), "ignored, and tools make it again") for name in ("build", "node_modules")
        ]
        after = facts(folder)
        gone = {path for path in before if path.split("/")[0] in ("build", "node_modules")}
        assert {path: fact[:3] for path, fact in before.items() if path not in gone} == {
            path: fact[:3] for path, fact in after.items()
        }


async def test_what_an_automatic_yes_discards_is_kept_too(environ, tmp_path):
    folder = make_project(tmp_path / "project").path
    wanted = (folder / "data/large.parquet").read_bytes()
    async with opened(environ, folder, *running("rm -rf data"), policy=AutoApprove(AskPerson())) as world:
        session = await world.prompt("clean up")
        assert not (folder / "data").exists()
        report = await world.client.undo.revert(session.id)
        assert not report.unprotected and (folder / "data/large.parquet").read_bytes() == wanted


async def test_where_nobody_can_be_asked_the_refusal_names_what_would_be_lost(environ, tmp_path):
    folder = make_project(tmp_path / "project").path
    async with opened(environ, folder, *running("git clean -fdx"), policy=RefuseQuestions()) as world:
        session = await world.prompt("clean up")
        answers = [one for one in await world.messages(session) if isinstance(one.info, AssistantMessage)]
        (call,) = [part for one in answers for part in one.parts if isinstance(part, ToolPart)]
        assert isinstance(call.state, ToolStateError) and call.state.unasked
        assert re.search(
            r"It would remove or overwrite \d+ files: data/, uploads/, drafts/, .* and more\.", call.state.error
        )
        assert call.state.error.endswith("Undo would not bring back node_modules/, build/.")
        assert (folder / "data").exists()


@pytest.mark.parametrize("keep", [0, 4 * 1024 * 1024])
async def test_what_has_no_room_is_named_before_and_by_the_undo(environ, tmp_path, keep):
    folder = make_project(tmp_path / "project").path
    settings = {"snapshot": {"keep": keep}, "permission": {"bash": {"rm *": "ask"}}}
    async with opened(environ, folder, *running("rm -rf data"), settings=settings, policy=AskPerson()) as world:
        asked: list[PermissionAsked] = []

        async def allow(event: PermissionAsked) -> None:
            asked.append(event)
            await world.client.permissions.reply(event.id, "once")

        session, _ = await while_reacting(world, PermissionAsked, allow, world.prompt("clean up"))
        lost = sandbox_facts(asked[0]).lost
        assert lost is not None
        left = [row for row in lost if row.reason is not None]
        assert [(row.path, row.files) for row in left] == [("data/", 2 if keep == 0 else 1)]
        assert "Undo will not bring back data/" in " ".join(reasons_of(asked[0], (), folder))
        report = await world.client.undo.revert(session.id)
        assert {file.reason for file in report.unprotected} == {left[0].reason}
        assert len(report.unprotected) == left[0].files and (folder / "data/rows.csv").read_text() == "1\n"


def test_a_list_that_one_sentence_has_is_not_repeated():
    row = LostRow(path="a", files=1, bytes=1)
    assert lost_lines([row]) == [] and len(lost_lines([row, row])) == 2
