from pathlib import Path

import pytest

from opencode_tui.schema.error import BusyError, NoSuchMessageError, NothingToRevertError
from opencode_tui.schema.event.event import MessageRemoved, PartRemoved, SessionDiff, SessionUpdated
from opencode_tui.schema.session.part import TextPart
from opencode_tui.schema.session.undo import UndoNote
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.safe_folder import OpenFolder
from tests.support.sessions.stored import read_store
from tests.support.undo.sessions import UndoWorld, undo_world


@pytest.fixture
async def world(environ, tmp_path: Path):
    async with undo_world(environ, tmp_path / "project") as world:
        yield world


async def three_turns(world: UndoWorld):
    """Files a, b and c, each changed by a turn of its own."""
    for name in "abc":
        world.write(name, f"{name}0")()
    session = await world.session()
    turns = [
        await world.turn(session, world.write("a", "a1")),
        await world.turn(session, world.write("b", "b2")),
        await world.turn(session, world.write("c", "c3")),
    ]
    return session, turns


def contents(world: UndoWorld) -> list[str | None]:
    return [world.read(name) for name in "abc"]


@pytest.mark.slow
async def test_going_forward_brings_the_files_in_between_back(world: UndoWorld):
    session, turns = await three_turns(world)
    await world.undo.revert(session.id, turns[0])
    assert contents(world) == ["a0", "b0", "c0"]
    await world.undo.revert(session.id, turns[1])
    assert contents(world) == ["a1", "b0", "c0"]
    await world.undo.revert(session.id, turns[2])
    assert contents(world) == ["a1", "b2", "c0"]
    await world.undo.unrevert(session.id)
    assert contents(world) == ["a1", "b2", "c3"]
    assert (await world.info(session)).revert is None


@pytest.mark.slow
async def test_one_file_is_reverted_turn_by_turn(world: UndoWorld):
    world.write("a", "a0")()
    session = await world.session()
    turns = [await world.turn(session, world.write("a", f"a{number}")) for number in (1, 2, 3)]
    seen: list[str | None] = []
    for turn in turns:
        await world.undo.revert(session.id, turn)
        seen.append(world.read("a"))
    assert seen == ["a0", "a1", "a2"]
    await world.undo.unrevert(session.id)
    assert world.read("a") == "a3"


async def test_messages_stay_until_the_cleanup(world: UndoWorld):
    session, turns = await three_turns(world)
    before = await world.ids(session)
    await world.undo.revert(session.id, turns[1])
    info = await world.info(session)
    assert info.revert is not None and info.revert.message_id == turns[1]
    assert await world.ids(session) == before
    assert await world.clean_up(session)
    assert await world.ids(session) == before[:2]
    assert (await world.info(session)).revert is None and (await world.info(session)).metadata is None


async def test_one_request_undone_leaves_nothing(world: UndoWorld):
    session = await world.session()
    turn = await world.turn(session)
    await world.undo.revert(session.id, turn)
    await world.clean_up(session)
    assert await world.ids(session) == [] and (await world.info(session)).revert is None


async def test_without_an_undo_the_cleanup_changes_nothing(world: UndoWorld):
    session, _ = await three_turns(world)
    before = await world.messages(session)
    assert not await world.clean_up(session)
    assert await world.messages(session) == before


async def test_undoing_a_part_keeps_the_parts_before_it(world: UndoWorld, paths):
    session = await world.session()
    request = await world.request(session, "p1")
    tool = await world.tool(session, request, 1)
    await world.part(session, request, TextPart, text="p3")
    await world.undo.revert(session.id, request, tool.id)
    with world.engine.bus.subscribe() as events:
        await world.clean_up(session)
        published = [envelope.event for envelope in iter(events.poll, None)]
    removed = [event.part_id for event in published if isinstance(event, PartRemoved)]
    [message] = await world.messages(session)
    assert [part.text for part in message.parts if isinstance(part, TextPart)] == ["p1"] and len(message.parts) == 1
    assert len(removed) == 2 and removed[-1] == tool.id
    assert read_store(paths.storage).strays == []


async def test_each_removed_message_is_published_once(world: UndoWorld, paths):
    session, turns = await three_turns(world)
    gone = (await world.ids(session))[2:]
    await world.undo.revert(session.id, turns[1])
    with world.engine.bus.subscribe() as events:
        await world.clean_up(session)
        published = [envelope.event for envelope in iter(events.poll, None)]
    assert sorted(event.message_id for event in published if isinstance(event, MessageRemoved)) == gone
    assert isinstance(published[-1], SessionUpdated) and published[-1].info.revert is None
    assert read_store(paths.storage).strays == [] and contents(world) == ["a1", "b0", "c0"]


async def test_an_undo_is_published_with_its_diff_and_its_state(world: UndoWorld):
    session, turns = await three_turns(world)
    await world.summarize(session.id)
    with world.engine.bus.subscribe() as events:
        await world.undo.revert(session.id, turns[1])
        published = [envelope.event for envelope in iter(events.poll, None)]
    diffs = [event for event in published if isinstance(event, SessionDiff)]
    assert [diff.file for diff in diffs[-1].diff] == ["a"]
    assert isinstance(published[-1], SessionUpdated) and published[-1].info.revert is not None
    text = published[-1].info.revert.diff or ""
    assert text.startswith("diff --git a/b b/b\n--- a/b\n+++ b/b\n@@") and "-b2" in text and "+b0" in text


async def test_no_undo_while_the_session_works(world: UndoWorld):
    session, turns = await three_turns(world)
    lock = Locks(world.engine.core.paths).session_run(session.id)
    lock.try_acquire()
    for act in (world.undo.revert, world.undo.unrevert, world.undo.preview, world.undo.preview_unrevert):
        with pytest.raises(BusyError, match=session.id):
            await act(session.id)
    lock.release()
    assert contents(world) == ["a1", "b2", "c3"] and (await world.info(session)).revert is None
    assert turns[0] in await world.ids(session)


async def test_files_that_the_user_changed_since_are_kept_and_reported(world: UndoWorld):
    session, turns = await three_turns(world)
    world.write("b", "mine")()
    world.write("new", "mine too")()
    preview = await world.undo.preview(session.id, turns[0])
    report = await world.undo.revert(session.id, turns[0])
    assert contents(world) == ["a0", "mine", "c0"] and world.read("new") == "mine too"
    [kept] = report.kept
    assert (kept.path, kept.reason) == (str(world.root / "b"), "it was changed since") and kept.changed_at is not None
    assert preview.kept == report.kept and preview.restored == report.restored


async def test_changes_by_the_user_after_an_undo_are_kept_by_a_redo(world: UndoWorld):
    session, turns = await three_turns(world)
    await world.undo.revert(session.id, turns[0])
    world.write("a", "mine")()
    preview = await world.undo.preview_unrevert(session.id)
    report = await world.undo.unrevert(session.id)
    assert contents(world) == ["mine", "b2", "c3"]
    assert [file.path for file in report.kept] == [str(world.root / "a")] == [file.path for file in preview.kept]
    assert (await world.info(session)).revert is None


async def test_the_preview_changes_nothing_and_lists_the_changes(world: UndoWorld):
    session = await world.session()
    world.write("old", "1\n2\n")()
    turn = await world.turn(session, world.write("old", "1\n3\n4\n"), world.write("made", "x\n"))
    before = world.files()
    preview = await world.undo.preview(session.id)
    assert preview.scope is not None and preview.scope.message_id == turn
    assert (preview.scope.requests, preview.scope.answers) == (1, 1)
    [old], [made] = preview.restored, preview.deleted
    assert (old.status, old.additions, old.deletions) == ("modified", 2, 1)
    assert (made.path, made.status, made.additions) == (str(world.root / "made"), "added", 1)
    assert world.files() == before and (await world.info(session)).metadata is None


async def test_without_a_message_turn_after_turn_is_undone(world: UndoWorld):
    session, _ = await three_turns(world)
    for wanted in (["a1", "b2", "c0"], ["a1", "b0", "c0"], ["a0", "b0", "c0"]):
        await world.undo.revert(session.id)
        assert contents(world) == wanted
    with pytest.raises(NothingToRevertError):
        await world.undo.revert(session.id)
    await world.undo.unrevert(session.id)
    assert contents(world) == ["a1", "b2", "c3"]


async def test_unknown_messages_and_nothing_to_redo_are_errors(world: UndoWorld):
    session, _ = await three_turns(world)
    with pytest.raises(NoSuchMessageError, match="msg_none"):
        await world.undo.revert(session.id, "msg_none")
    with pytest.raises(NothingToRevertError, match=session.id):
        await world.undo.unrevert(session.id)
    assert (await world.info(session)).revert is None and contents(world) == ["a1", "b2", "c3"]


async def test_an_answer_is_undone_with_all_of_its_turn(world: UndoWorld):
    world.write("a", "a0")()
    session = await world.session()
    request = await world.turn(session, world.write("a", "a1"))
    second = await world.step(session, request, world.write("b", "b1"))
    report = await world.undo.revert(session.id, second)
    assert contents(world)[:2] == ["a0", None]
    assert report.scope is not None and report.scope.message_id == request


async def test_undoing_a_part_reverts_the_steps_from_it_on(world: UndoWorld):
    world.write("a", "a0")()
    session = await world.session()
    request = await world.turn(session, world.write("a", "a1"))
    second = await world.step(session, request, world.write("a", "a2"))
    part = (await world.messages(session))[-1].parts[2]
    report = await world.undo.revert(session.id, second, part.id)
    assert world.read("a") == "a1"
    assert report.scope is not None and (report.scope.message_id, report.scope.part_id) == (second, part.id)
    await world.clean_up(session)
    last = (await world.messages(session))[-1]
    assert last.info.id == second and [part.type for part in last.parts] == ["step-start", "text"]


@pytest.mark.slow
async def test_a_report_outlives_the_process(world: UndoWorld, environ):
    session, turns = await three_turns(world)
    await world.undo.revert(session.id, turns[1])
    async with undo_world(environ, world.root) as later:
        info = await later.info(session)
        assert info.metadata is not None
        report = UndoNote.model_validate(info.metadata["undo"]).report
        assert report is not None and [file.path for file in report.restored] == [
            str(world.root / name) for name in "bc"
        ]
        await later.undo.unrevert(session.id)
        assert contents(later) == ["a1", "b2", "c3"]


async def test_a_disk_that_refuses_is_named_and_tried_again(world: UndoWorld, monkeypatch: pytest.MonkeyPatch):
    session, turns = await three_turns(world)

    def refuse(place: OpenFolder, name: str) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(OpenFolder, "create", refuse)
        report = await world.undo.revert(session.id, turns[0])
        assert [file.reason for file in report.failed] == ["No space left on device"] * 3
        assert contents(world) == ["a1", "b2", "c3"]
    assert (await world.undo.revert(session.id, turns[0])).failed == []
    assert contents(world) == ["a0", "b0", "c0"]
    with monkeypatch.context() as full:
        full.setattr(OpenFolder, "create", refuse)
        assert len((await world.undo.unrevert(session.id)).failed) == 3
    assert (await world.info(session)).revert is not None
    await world.undo.unrevert(session.id)
    assert contents(world) == ["a1", "b2", "c3"] and (await world.info(session)).revert is None
