"""Undo of the conversation only or of files only: what stays, redo, the next undo, and a death in between."""

from pathlib import Path

import pytest

from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.records.writer import SessionWriter
from opencode_tui.engine.session.revert.range import visible
from opencode_tui.engine.snapshot.snapshot import Snapshots
from opencode_tui.schema.session.part import PatchPart, TextPart
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.undo import UndoOnly
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage
from tests.engine.session.test_undo_crash import die_at
from tests.support.sessions.stored import read_store
from tests.support.undo.sessions import UndoWorld, undo_world

pytestmark = pytest.mark.slow


async def play(world: UndoWorld) -> SessionInfo:
    world.write("a", "a0")()
    session = await world.session()
    await world.turn(session, world.write("a", "a1"))
    await world.turn(session, world.write("a", "a2"), world.write("b", "b2"))
    return session


async def shown(world: UndoWorld, session: SessionInfo) -> int:
    return len(visible(await world.messages(session), (await world.info(session)).revert))


def state(world: UndoWorld) -> tuple[str | None, str | None]:
    return world.read("a"), world.read("b")


async def test_of_the_conversation_only_no_file_is_touched_by_undo_redo_and_the_next_prompt(environ, tmp_path: Path):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await play(world)
        preview = await world.undo.preview(session.id, only="conversation")
        assert preview.scope is not None and preview.scope.only == "conversation" and not preview.restored
        await world.undo.revert(session.id, only="conversation")
        assert (await shown(world, session), state(world)) == (2, ("a2", "b2"))
        world.write("b", "mine")()
        assert not (await world.undo.unrevert(session.id)).kept
        assert (await shown(world, session), state(world)) == (4, ("a2", "mine"))
        await world.undo.revert(session.id, only="conversation")
        assert await world.clean_up(session)
        assert (len(await world.ids(session)), state(world)) == (2, ("a2", "mine"))


async def test_of_files_only_the_messages_stay_and_a_redo_restores_the_files(environ, tmp_path: Path):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await play(world)
        report = await world.undo.revert(session.id, only="files")
        assert (len(report.restored), len(report.deleted)) == (1, 1)
        assert (await shown(world, session), state(world)) == (4, ("a1", None))
        await world.undo.unrevert(session.id)
        assert (await world.info(session)).revert is None
        assert (await shown(world, session), state(world)) == (4, ("a2", "b2"))


async def test_what_was_changed_since_is_kept_by_an_undo_of_files(environ, tmp_path: Path):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await play(world)
        world.write("a", "mine")()
        report = await world.undo.revert(session.id, only="files")
        assert [Path(file.path).name for file in report.kept] == ["a"] and state(world) == ("mine", None)


@pytest.mark.parametrize("second", [None, "conversation", "files"])
async def test_a_second_undo_replaces_that_of_files(environ, tmp_path: Path, second: UndoOnly | None):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await play(world)
        first = (await world.ids(session))[0]
        await world.undo.revert(session.id, only="files")
        await world.undo.revert(session.id, first, only=second)
        files, messages = {
            None: (("a0", None), 0),
            "conversation": (("a2", "b2"), 0),
            "files": (("a0", None), 4),
        }[second]
        assert (await shown(world, session), state(world)) == (messages, files)
        await world.undo.unrevert(session.id)
        assert (await shown(world, session), state(world)) == (4, ("a2", "b2"))


async def test_the_next_prompt_reports_the_undone_files_and_a_later_undo_reaches_behind_them(environ, tmp_path: Path):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await play(world)
        await world.undo.revert(session.id, only="files")
        assert await world.clean_up(session)
        [*_, added] = await world.messages(session)
        text, patch = added.parts
        assert isinstance(text, TextPart) and isinstance(patch, PatchPart) and text.synthetic
        assert {Path(file).name for file in patch.files} == {"a", "b"}
        assert text.text.startswith("<system-reminder>")
        assert [file for file in patch.files if file not in text.text] == []
        assert {diff.file for diff in await world.summaries.session(session.id)} == {"a"}
        await world.turn(session, world.write("a", "a3"))
        await world.undo.revert(session.id)
        assert state(world) == ("a1", None)
        report = await world.undo.revert(session.id, (await world.ids(session))[0])
        assert not report.kept and state(world) == ("a0", None)
        await world.undo.unrevert(session.id)
        assert state(world) == ("a3", None)


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize(("owner", "name"), [(SessionStore, "update"), (SessionStore, "sync"), (Snapshots, "revert")])
async def test_a_death_leaves_files_and_record_consistent(environ, tmp_path: Path, owner: type, name: str, at: int):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await play(world)
        await die_at(owner, name, at, lambda: world.undo.revert(session.id, only="files"))
    async with undo_world(environ, tmp_path / "p") as world:
        await world.undo.recover(session.id)
        is_undone = (await world.info(session)).revert is not None
        assert (await shown(world, session), state(world)) == (4, ("a1", None) if is_undone else ("a2", "b2"))
        if is_undone:
            await world.undo.unrevert(session.id)
        assert state(world) == ("a2", "b2")


CALLS_WHILE_IT_BECOMES_FINAL = {
    (SessionStore, "update"): 1,
    (SessionStore, "sync"): 1,
    (SessionWriter, "add_message"): 1,
    (SessionWriter, "update_message"): 1,
    (Storage, "write"): 5,
}
"""How often each is called, at least."""


@pytest.mark.parametrize(
    ("owner", "name", "at"),
    [(*what, at) for what, most in CALLS_WHILE_IT_BECOMES_FINAL.items() for at in range(1, most + 1)],
)
@pytest.mark.parametrize("is_redo", [True, False])
async def test_a_death_while_an_undo_of_files_becomes_final(
    environ, paths: Paths, tmp_path: Path, owner: type, name: str, at: int, *, is_redo: bool
):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await play(world)
        await world.undo.revert(session.id, only="files")
        assert await die_at(owner, name, at, lambda: world.clean_up(session))
    async with undo_world(environ, tmp_path / "p") as world:
        if is_redo and (await world.info(session)).revert is not None:
            await world.undo.unrevert(session.id)
            assert (len(await world.ids(session)), state(world)) == (4, ("a2", "b2"))
        else:
            await world.clean_up(session)
            assert (len(await world.ids(session)), state(world)) == (5, ("a1", None))
            assert len((await world.messages(session))[-1].parts) == 2
    assert read_store(paths.storage).strays == []


@pytest.mark.parametrize("at", [1, 2])
async def test_an_undo_of_the_conversation_that_dies_leaves_the_summed_up_changes_as_they_were(environ, tmp_path, at):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await play(world)
        await world.summarize(session.id)
        before = (await world.info(session)).summary, await world.engine.store.diff(session.id)
        assert await die_at(SessionStore, "update", at, lambda: world.undo.revert(session.id, only="conversation"))
    async with undo_world(environ, tmp_path / "p") as world:
        await world.undo.recover(session.id)
        assert (await world.info(session)).revert is None and before[1] != []
        assert ((await world.info(session)).summary, await world.engine.store.diff(session.id)) == before


async def edited_between_undos(world: UndoWorld, only: UndoOnly | None) -> SessionInfo:
    """Undo the second turn, make `b` anew as the user, undo the first turn too."""
    session = await play(world)
    await world.undo.revert(session.id, only=only)
    world.write("b", "mine")()
    report = await world.undo.revert(session.id, (await world.ids(session))[0], only=only)
    assert [[Path(file.path).name for file in files] for files in (report.restored, report.deleted, report.kept)] == [
        ["a"],
        [],
        ["b"],
    ]
    return session


@pytest.mark.parametrize("only", [None, "files"])
async def test_an_edit_between_two_undos_outlives_the_redo(environ, tmp_path: Path, only: UndoOnly | None):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await edited_between_undos(world, only)
        preview = await world.undo.preview_unrevert(session.id)
        report = await world.undo.unrevert(session.id)
        for found in (preview, report):
            assert [Path(file.path).name for file in found.restored] == ["a"]
            assert [Path(file.path).name for file in found.kept] == ["b"]
        assert (await shown(world, session), state(world)) == (4, ("a2", "mine"))


async def test_an_edit_between_two_undos_of_files_is_not_reported_as_undone_and_outlives_later_undos(
    environ, tmp_path: Path
):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await edited_between_undos(world, "files")
        assert await world.clean_up(session)
        text = (await world.messages(session))[-1].parts[0]
        assert isinstance(text, TextPart) and text.text.splitlines()[-2:-1] == [f"- {world.root / 'a'}"]
        await world.turn(session, world.write("a", "a3"))
        await world.undo.revert(session.id)
        assert state(world) == ("a0", "mine")
        await world.undo.revert(session.id, (await world.ids(session))[0])
        assert state(world) == ("a0", "mine")
        await world.undo.unrevert(session.id)
        assert state(world) == ("a3", "mine")


async def test_an_edit_outlives_the_undo_of_the_conversation_that_takes_back_that_of_the_files(environ, tmp_path: Path):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await edited_between_undos(world, None)
        report = await world.undo.revert(session.id, (await world.ids(session))[0], only="conversation")
        assert [Path(file.path).name for file in report.kept] == ["b"] and state(world) == ("a2", "mine")
        assert not (await world.undo.unrevert(session.id)).restored and state(world) == ("a2", "mine")
