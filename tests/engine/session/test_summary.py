from pathlib import Path

import pytest

from opencode_tui.engine.session.revert.summary import merge, title_of, totals, truncate
from opencode_tui.schema.event.event import MessageUpdated, SessionDiff, SessionUpdated
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.session import SessionInfo
from tests.support.sessions.records import text
from tests.support.undo.sessions import UndoWorld, undo_world


@pytest.fixture
async def world(environ, tmp_path: Path):
    async with undo_world(environ, tmp_path / "project") as world:
        yield world


def change(file: str, before: str, after: str, status) -> FileDiff:
    [whole] = merge([[FileDiff(file=file, before=before, after=after, status=status)]])
    return whole


def test_changes_of_one_file_are_merged_from_the_first_to_the_last():
    grown = merge([[change("a", "1\n", "2\n", "modified")], [change("a", "2\n", "2\n3\n", "modified")]])
    assert [(diff.before, diff.after, diff.additions, diff.deletions) for diff in grown] == [("1\n", "2\n3\n", 2, 1)]


def test_what_came_to_nothing_is_left_out():
    made, gone = change("a", "", "x\n", "added"), change("a", "x\n", "", "deleted")
    there, back = change("b", "1\n", "2\n", "modified"), change("b", "2\n", "1\n", "modified")
    assert merge([[made, there], [gone, back]]) == []


def test_a_file_that_came_back_is_changed_not_new():
    [back] = merge([[change("a", "1\n", "", "deleted")], [change("a", "", "2\n", "added")]])
    assert (back.status, back.additions, back.deletions) == ("modified", 1, 1)


def test_a_changed_mode_is_kept_although_the_text_is_the_same():
    mode = FileDiff(file="a", before="x\n", after="x\n", status="modified", note="mode 644 → 755")
    [kept] = merge([[mode], [change("a", "x\n", "x\ny\n", "modified")]])
    assert (kept.note, kept.additions) == ("mode 644 → 755", 1)


def test_a_change_too_large_for_a_record_keeps_its_numbers():
    text = ("x" * 80 + "\n") * 20_000
    [first] = truncate([FileDiff(file="a", after=text, additions=20_000, status="added")])
    [whole] = merge([[first], [FileDiff(file="a", before="1\n", after="1\n2\n", additions=1, status="modified")]])
    assert (first.after, first.additions, first.status) == ("", 20_000, "added")
    assert (whole.after, whole.additions, whole.status) == ("", 20_001, "added")


def test_totals_count_lines_and_files():
    summary = totals([FileDiff(file="a", additions=2, deletions=1), FileDiff(file="b", additions=3)])
    assert (summary.additions, summary.deletions, summary.files) == (5, 1, 2)


@pytest.mark.parametrize(("said", "title"), [("\n  First \nsecond", "First"), ("x" * 200, "x" * 99 + "…"), (" ", None)])
def test_a_title_is_the_first_line_cut_to_a_hundred(said, title):
    assert (
        title_of([text("hidden", synthetic=True).changed(message_id="m"), text(said).changed(message_id="m")], "m")
        == title
    )


async def summary_of(world: UndoWorld, session: SessionInfo):
    info = await world.info(session)
    return info.summary and (info.summary.additions, info.summary.deletions, info.summary.files)


async def test_a_session_and_its_turns_are_summarized_and_published(world: UndoWorld):
    world.write("a", "1\n")()
    session = await world.session()
    first = await world.turn(session, world.write("a", "1\n2\n"), text="Add a line\nplease")
    await world.turn(session, world.write("a", "2\n"), world.write("b", "x\n"))
    updated = (await world.info(session)).time.updated
    with world.engine.bus.subscribe() as events:
        await world.summarize(session.id)
        published = [envelope.event for envelope in iter(events.poll, None)]
    users = [event.info for event in published if isinstance(event, MessageUpdated)]
    assert [type(event) for event in published[2:]] == [SessionDiff, SessionUpdated]
    assert [
        [diff.file for diff in info.summary.diffs] for info in users if isinstance(info, UserMessage) and info.summary
    ] == [["a"], ["a", "b"]]
    first_user = users[0]
    assert isinstance(first_user, UserMessage) and first_user.id == first
    assert first_user.summary is not None and first_user.summary.title == "Add a line"
    assert await summary_of(world, session) == (2, 1, 2) and (await world.info(session)).time.updated == updated
    assert [diff.after for diff in await world.summaries.session(session.id)] == ["2\n", "x\n"]


async def test_a_second_equal_summary_publishes_nothing(world: UndoWorld):
    session = await world.session()
    await world.turn(session, world.write("a", "1\n"))
    await world.summarize(session.id)
    with world.engine.bus.subscribe() as events:
        await world.summarize_last(session.id)
        assert events.poll() is None


async def test_undo_removes_the_summary_and_redo_restores_it(world: UndoWorld):
    session = await world.session()
    await world.turn(session, world.write("a", "1\n"))
    await world.turn(session, world.write("b", "1\n2\n"))
    await world.summarize(session.id)
    before = await world.info(session), await world.summaries.session(session.id)
    await world.undo.revert(session.id)
    assert await summary_of(world, session) == (1, 0, 1)
    assert [diff.file for diff in await world.engine.store.diff(session.id)] == ["a"]
    await world.undo.unrevert(session.id)
    after = await world.info(session), await world.summaries.session(session.id)
    assert (after[0].summary, after[0].metadata, after[1]) == (before[0].summary, before[0].metadata, before[1])


async def test_a_part_undone_counts_what_stays_of_its_turn(world: UndoWorld):
    session = await world.session()
    request = await world.turn(session, world.write("a", "1\n"))
    second = await world.step(session, request, world.write("b", "1\n"))
    await world.summarize(session.id)
    part = (await world.messages(session))[-1].parts[2]
    await world.undo.revert(session.id, second, part.id)
    assert await summary_of(world, session) == (1, 0, 1)
    await world.clean_up(session)
    assert await summary_of(world, session) == (1, 0, 1)
    assert [diff.file for diff in await world.summaries.turn(session.id, request)] == ["a"]
    user = (await world.messages(session))[0].info
    assert isinstance(user, UserMessage) and user.summary and [diff.file for diff in user.summary.diffs] == ["a"]


async def test_notes_on_changes_are_published_and_stored_with_the_session_only(world: UndoWorld, paths):
    world.write("tool", "x\n")()
    world.write("way", "x\n")()
    session = await world.session()

    def link() -> None:
        (world.root / "way").unlink()
        (world.root / "way").symlink_to("tool")

    await world.turn(session, lambda: (world.root / "tool").chmod(0o755), world.write("image", b"\0\1"), link)
    await world.summarize(session.id)
    published = {diff.file: (diff.status, diff.note) for diff in await world.summaries.session(session.id)}
    assert published == {
        "image": ("added", "binary"),
        "tool": ("modified", "mode 644 → 755"),
        "way": ("modified", "file → link"),
    }
    stored = (paths.storage / "session_diff" / f"{session.id}.json").read_text()
    assert "note" not in stored and '"file": "image"' in stored
    await world.turn(session, world.write("later", "1\n"))
    await world.summarize(session.id)
    assert {diff.note for diff in await world.summaries.session(session.id)} == {
        "binary",
        "mode 644 → 755",
        "file → link",
        None,
    }


async def test_what_others_did_between_the_steps_is_not_counted(world: UndoWorld):
    session = await world.session()
    await world.turn(session, world.write("a", "1\n"))
    world.write("mine", "1\n2\n3\n")()
    await world.turn(session, world.write("b", "1\n"))
    await world.summarize(session.id)
    assert await summary_of(world, session) == (2, 0, 2)
