"""Random histories as those of `UndoMachine`, in a world where all fails: two engines, a clock that jumps, and a disk with errors.

What fails is done whole or not at all once the disk works again: files, messages, sums; and nothing that was needed is gone.
"""

import errno
from collections.abc import Awaitable, Coroutine

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from opencode_tui.engine.session.revert.range import visible
from opencode_tui.schema.api.request import ForkSession
from opencode_tui.schema.error import OpencodeError
from tests.support.faults.file_system import FaultyFiles
from tests.support.sessions.stored import read_store
from tests.support.snapshot.machine import ACTS, Act
from tests.support.undo.history import as_forked, as_stored
from tests.support.undo.machine import Point, UndoMachine

HOUR_MS = 3_600_000

FAULTS = st.tuples(
    st.sampled_from((errno.ENOSPC, errno.EIO, errno.EMFILE)), st.integers(1, 160), st.booleans(), st.booleans()
)
Fault = tuple[int, int, bool, bool]
"""The error, the number of the call on the records, whether all later ones fail too, and whether the engine then dies."""


class HardUndoMachine(UndoMachine):
    """One session of one project, in two engines."""

    def __init__(self) -> None:
        super().__init__()
        self._aside = (self.world, self._closing, self._holder, self.files)
        self.files = FaultyFiles()
        self.world = self._open()

    def teardown(self) -> None:
        self._close()
        self._swap()
        super().teardown()

    @rule()
    def the_other_engine_is_used(self) -> None:
        self._swap()

    @rule(hours=st.sampled_from((-2, -1, 1, 2)), after=st.integers(0, 60))
    def the_clock_jumps(self, hours: int, after: int) -> None:
        self.clock.jump(hours * HOUR_MS, after=after)

    @precondition(lambda self: self.points)
    @rule(data=st.data(), fault=FAULTS)
    def undo_fails(self, data: st.DataObject, fault: Fault) -> None:
        point, state, revert = self._choose(data), self._state(), self._do(self.world.info(self.session)).revert
        self._attempt(self.world.undo.revert(self.session.id, point.message, point.part), fault)
        if self._do(self.world.info(self.session)).revert == revert:
            assert self._state() == state
            return
        if self.before_undo is None:
            self.before_undo = state
        self._undo(point)

    @precondition(lambda self: self.before_undo is not None)
    @rule(fault=FAULTS)
    def redo_fails(self, fault: Fault) -> None:
        assert self.before_undo is not None
        state = self._state()
        self._attempt(self.world.undo.unrevert(self.session.id), fault)
        if self._do(self.world.info(self.session)).revert is not None:
            assert self._state() == state
            self.redo()
            return
        assert self._state()[1:] == self.before_undo[1:]
        # What did not change is not reported.
        self.is_touched |= self.world.files() != self.before_undo[0]
        self.before_undo = self.last = None

    @precondition(lambda self: self.before_undo is not None)
    @rule(fault=FAULTS)
    def cleanup_fails(self, fault: Fault) -> None:
        info, files = self._do(self.world.info(self.session)), self.world.files()
        kept = visible(self._do(self.world.messages(self.session)), info.revert)
        self._attempt(self.world.clean_up(self.session), fault)
        assert self.world.files() == files
        if self._do(self.world.info(self.session)).revert is not None:
            self.redo()
            return
        found = self._do(self.world.messages(self.session))
        ids = [(one.info.id, [part.id for part in one.parts]) for one in kept]
        assert [(one.info.id, [part.id for part in one.parts]) for one in found] == ids
        self._keep_points(found)
        self._forget_what_was_left()

    @rule(acts=st.lists(ACTS, min_size=1, max_size=3), fault=FAULTS, is_recorded=st.booleans())
    def work_fails(self, acts: list[Act], fault: Fault, is_recorded: bool) -> None:
        """What was changed and could not be recorded is not undone, and no bytes of the user are lost with it."""
        self._make_final()
        before = self._do(self.world.messages(self.session))
        files = self.world.files()
        request = self._do(self.world.request(self.session, "work that fails"))
        self._attempt(self._step(request, acts, is_recorded=is_recorded), fault)
        found = self._do(self.world.messages(self.session))
        kept = [(one.info.id, one.parts) for one in before]
        assert [(one.info.id, one.parts) for one in found[: len(before)]] == kept
        self.points.append(Point(request, None, files))
        self.edits.keep(self.world.files())
        self._do(self.world.summarize_last(self.session.id))
        self.is_touched = True

    @rule(fault=FAULTS)
    def fork_fails(self, fault: Fault) -> None:
        """A fork is there whole or not at all, and its source is as it was."""
        source, state = self.session, self._state()
        shown = visible(state[1], self._do(self.world.info(source)).revert)
        known = self._sessions()
        self._attempt(
            self.world.fork(source, ForkSession()), (*fault[:3], True)
        )  # the next process removes what is left
        assert self._state() == state
        for name in self._sessions() - known:
            fork = self._do(self.world.engine.store.get(name))
            self.others[name] = as_forked(shown, name)
            assert as_stored(self._do(self.world.messages(fork))) == self.others[name]

    def _sessions(self) -> set[str]:
        return {one["id"] for one in read_store(self.world.engine.core.paths.storage).of_kind("session")}

    def _swap(self) -> None:
        here = (self.world, self._closing, self._holder, self.files)
        self.world, self._closing, self._holder, self.files = self._aside
        self._aside = here

    def _attempt(self, work: Coroutine[object, object, object], fault: Fault) -> None:
        """Do something that fails, let the disk work again, and recover in this engine, or in the next one."""
        files, self.world_fails = self.files, True
        files.log.clear()
        files.calls = 0
        files.error, files.at, files.lasting, dies = fault
        try:
            self._do(_ended(work))
        finally:
            files.heal()
            self.world_fails = False
        if dies:
            self._begin_anew()
        self._do(self.world.undo.recover(self.session.id))


async def _ended(work: Awaitable[object]) -> None:
    try:
        await work
    except (OSError, OpencodeError):
        return
