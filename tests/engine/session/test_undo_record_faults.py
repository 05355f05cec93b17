"""Failure of any one call on the records, or of it and all later ones, in an undo, a redo and what makes an undo final.

Once the disk works again, what was begun is done whole or not at all: files, messages, parts, sums and the session's diff.
"""

import errno
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from opencode_tui.engine.session.revert.range import visible
from opencode_tui.schema.error import NothingToRevertError, OpencodeError
from opencode_tui.schema.session.part import TextPart
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.undo import UndoOnly
from tests.support.faults.file_system import FaultyFiles
from tests.support.sessions.stored import read_store
from tests.support.undo.history import Stored, as_stored
from tests.support.undo.sessions import UndoWorld, undo_world

pytestmark = pytest.mark.slow

FAULTS = {"full": (errno.ENOSPC, False), "broken": (errno.EIO, True), "out of files": (errno.EMFILE, False)}
"""The error, and whether all later calls fail too."""

KINDS = ["turn", "part", "files", "child"]
CASES = [pytest.param(kind, fault, id=f"{kind}-{fault}") for kind in KINDS for fault in FAULTS]
STEP = 11
"""Every so many calls: an undo makes some 150. Each case begins with another one."""

State = tuple[object, Stored, object, object]


@dataclass
class History:
    """A session of two turns, of which the second is undone and redone: as a whole, from a part on, its files, with an agent's."""

    world: UndoWorld
    files: FaultyFiles
    session: SessionInfo
    kind: str
    request: str = ""
    part: str | None = None
    first: State = ((), [], (), ())
    """The state after the first turn."""

    async def begin(self) -> None:
        """Make the turn to undo."""
        world, number = self.world, len(await self.world.ids(self.session))
        self.request = await world.request(self.session, "do it")
        if self.kind == "child":
            child = await world.session(parent=self.session)
            message = await world.answer(self.session, self.request)
            started = world.engine.core.clock()
            await world.turn(child, world.write("b", f"b{number}"))
            await world.tool(self.session, message, started, task=child)
            world.wait()
        message = await world.step(self.session, self.request, world.write("a", f"a{number}"), world.write("new", "n"))
        await world.summarize_last(self.session.id)
        if self.kind == "part":
            parts = (await world.messages(self.session))[-1].parts
            self.request, self.part = message, next(one.id for one in parts if isinstance(one, TextPart))

    async def undo(self) -> object:
        only: UndoOnly | None = "files" if self.kind == "files" else None
        return await self.world.undo.revert(self.session.id, self.request, self.part, only=only)

    async def redo(self) -> object:
        return await self.world.undo.unrevert(self.session.id)

    async def clean_up(self) -> object:
        return await self.world.clean_up(self.session)

    async def fails(self, act: Callable[[], Awaitable[object]], at: int, code: int, lasting: bool) -> bool:
        """Do something without anything in memory while call number `at` fails; return whether it came so far."""
        self.world.engine.store.drop(self.session.id)
        files = self.files
        files.log.clear()
        files.calls, files.at, files.error, files.lasting = 0, at, code, lasting
        with suppress(OSError, OpencodeError):
            await act()
        files.heal()
        return files.calls >= at

    async def state(self) -> State:
        """Return files, messages and sums, the same in memory and on the disk."""
        found = await self._state()
        self.world.engine.store.drop(self.session.id)
        assert await self._state() == found
        return found

    async def _state(self) -> State:
        world = self.world
        info = await world.info(self.session)
        messages = as_stored(await world.messages(self.session))
        return world.files(), messages, info.summary, await world.engine.store.diff(info.id)

    async def is_undone(self) -> bool:
        return (await self.world.info(self.session)).revert is not None


async def begin(world: UndoWorld, files: FaultyFiles, kind: str) -> History:
    world.write("a", "a")()
    history = History(world, files, await world.session(), kind)
    await world.turn(history.session, world.write("a", "a1"))
    await world.summarize_last(history.session.id)
    history.first = await history.state()
    await history.begin()
    return history


@pytest.mark.parametrize(("kind", "fault"), CASES)
async def test_an_undo_and_a_redo_are_whole_or_not_at_all(environ, tmp_path: Path, kind: str, fault: str):
    files = FaultyFiles()
    async with undo_world(environ, tmp_path / "p", files=files) as world:
        history = await begin(world, files, kind)
        done = await history.state()
        await history.undo()
        undone = await history.state()
        await history.redo()
        assert await history.state() == done
        for act, wanted in ((history.undo, undone), (history.redo, done)):
            at = _first(kind, fault)
            while await history.fails(act, at, *FAULTS[fault]):
                place = (act.__name__, at, files.log[at - 1])
                await world.undo.recover(history.session.id)
                assert (place, await history.state()) == (place, undone if await history.is_undone() else done)
                if await history.is_undone() != (wanted is undone):
                    await act()
                assert (place, await history.state()) == (place, wanted)
                await (history.redo if wanted is undone else history.undo)()
                assert (place, await history.state()) == (place, done if wanted is undone else undone)
                at += STEP
            assert at > 2 * STEP


@pytest.mark.parametrize(("kind", "fault"), CASES)
async def test_an_undo_is_made_final_whole_or_not_at_all(environ, tmp_path: Path, kind: str, fault: str):
    files = FaultyFiles()
    async with undo_world(environ, tmp_path / "p", files=files) as world:
        history = await begin(world, files, kind)
        done = await history.state()
        await history.undo()
        at = _first(kind, fault)
        while True:
            info, undone = await world.info(history.session), await history.state()
            kept = as_stored(visible(await world.messages(history.session), info.revert))
            if not await history.fails(history.clean_up, at, *FAULTS[fault]):
                break
            place = (at, files.log[at - 1])
            try:
                await history.redo()
            except NothingToRevertError:
                now = await history.state()
                assert (place, now[0], now[2:]) == (place, undone[0], history.first[2:])
                if kind != "files":
                    assert (place, _ids(now[1])) == (place, _ids(kept))
                history = await begin(world, files, kind)
                done = await history.state()
            else:
                assert (place, await history.state()) == (place, done)
            await history.undo()
            at += STEP
        assert at > 2 * STEP
        stored = read_store(world.engine.core.paths.storage)
        assert (stored.damaged, stored.strays) == ([], [])


def _first(kind: str, fault: str) -> int:
    return 1 + (KINDS.index(kind) * len(FAULTS) + [*FAULTS].index(fault)) % STEP


def _ids(messages: Stored) -> object:
    return [(info["id"], [part["id"] for part in parts]) for info, parts in messages]
