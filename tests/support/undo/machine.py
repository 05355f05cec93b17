"""Random histories of a session: turns of an agent and its subagents, edits of the user, undo to messages and parts, redo, forks,
deaths.

Checked after each act: an undo without other edits restores the exact earlier state, whatever undo came before it; what the user
made exists or is in a snapshot; redo restores every byte and every sum; a cleanup keeps the earlier state and leaves no orphan; a
fork contains what its source showed, whatever happens to the source; the user's repository is unchanged byte for byte.
"""

from collections.abc import Generator
from contextlib import contextmanager

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.records.stored_history import ForkMap
from opencode_tui.engine.session.records.writer import SessionWriter
from opencode_tui.engine.session.revert.files import FileRevert
from opencode_tui.engine.session.revert.range import visible
from opencode_tui.schema.api.request import ForkSession
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.storage.storage import Storage
from tests.support.sessions.stored import read_store
from tests.support.snapshot.fresh_edits import edit
from tests.support.snapshot.machine import ACTS, Act, Facts, compare_facts
from tests.support.snapshot.worktree import Death
from tests.support.undo.history import Point, UndoHistory, as_forked, as_stored

# A process that dies within a method: its call number `at` and all later ones never happen.


@contextmanager
def dying(owner: type, name: str, at: int) -> Generator[None]:
    """Raise Death instead of calling an async method for the `at`-th time (from 1)."""
    whole = getattr(owner, name)
    calls = 0

    async def call(*arguments: object, **fields: object) -> object:
        nonlocal calls
        calls += 1
        if calls >= at:
            raise Death
        return await whole(*arguments, **fields)

    setattr(owner, name, call)
    try:
        yield
    finally:
        setattr(owner, name, whole)


STEPS = st.lists(st.tuples(st.lists(ACTS, min_size=1, max_size=3), st.booleans()), min_size=1, max_size=3)
Steps = list[tuple[list[Act], bool]]
"""Each with whether it is recorded as the loop does it, files that tools write apart from commands."""

DEATHS = st.sampled_from(
    [(SessionStore, "update"), (SessionStore, "sync"), (FileRevert, "delete_record"), (SessionWriter, "write_diff")]
)
CLEANUP_DEATHS = st.sampled_from(
    [
        (SessionWriter, "remove_message"),
        (SessionWriter, "remove_part"),
        (SessionWriter, "write_diff"),
        (SessionStore, "update"),
        (SessionStore, "sync"),
        (Storage, "write"),
        (Storage, "remove"),
        (Storage, "remove_tree"),
    ]
)


class UndoMachine(UndoHistory):
    """One session of one project."""

    @initialize(steps=STEPS, helped=st.booleans())
    def agent_begins(self, steps: Steps, helped: bool) -> None:
        self.agent_works(steps, helped)

    @rule(steps=STEPS, helped=st.booleans())
    def agent_works(self, steps: Steps, helped: bool) -> None:
        self._make_final()
        files = self.world.files()
        request = self._do(self.world.request(self.session, "work"))
        self.points.append(Point(request, None, files))
        for number, (acts, is_recorded) in enumerate(steps):
            files = self.world.files()
            if helped and number == 0:
                self._do(self._delegate(request, acts))
                continue
            message = self._do(self._step(request, acts, is_recorded=is_recorded))
            part = self._do(self.world.messages(self.session))[-1].parts[2].id
            self.points.append(Point(message, part, files))
        self._do(self.world.summarize_last(self.session.id))
        self.edits.keep(self.world.files())

    @rule(act=ACTS)
    def person_works(self, act: Act) -> None:
        before = self.world.files()
        self._act(act)
        self.edits.keep(self.world.files())
        self._person_wrote(before)

    @precondition(lambda self: self.points)
    @rule(data=st.data())
    def undo_often(self, data: st.DataObject) -> None:
        """Come up more often than other acts: undo after undo is where it gets hard."""
        self.undo(data)

    @precondition(lambda self: self.points)
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        self._undo(self._choose(data))

    def _undo(self, point: Point) -> None:
        if self.before_undo is None:
            self.before_undo = self._state()
        before, inner = self.world.files(), self._inner_repositories()
        preview = self._do(self.world.undo.preview(self.session.id, point.message, point.part))
        self.last = self._do(self.world.undo.revert(self.session.id, point.message, point.part))
        named = [file.path for file in [*self.last.kept, *self.last.unprotected]]
        self.edits.check(self.world.files())
        assert self.last.failed == [] and preview.scope == self.last.scope
        assert self._inner_repositories() == inner
        if not self.is_touched:
            compare_facts(self.world.files(), point.files, self._inside(named))
        for file in preview.kept:
            name = self._inside([file.path])[0]
            found = self.world.files().get(name)
            # Where nothing exists, a folder may be created for what is restored into it.
            assert found == before.get(name) or (name not in before and found is not None and found[0] == "folder")

    @precondition(lambda self: self.before_undo is not None)
    @rule()
    def redo(self) -> None:
        assert self.before_undo is not None
        files, messages, summary = self.before_undo
        inner = self._inner_repositories()
        report = self._do(self.world.undo.unrevert(self.session.id))
        named = [
            file.path for file in [*report.kept, *report.unprotected, *(self.last.unprotected if self.last else [])]
        ]
        if not self.is_touched:
            compare_facts(self.world.files(), files, self._inside(named))
        after = self._state()
        self.edits.check(after[0])
        assert (after[1], after[2]) == (messages, summary) and self._inner_repositories() == inner
        self.before_undo = self.last = None

    @precondition(lambda self: len(self.points) > 1)
    @rule(data=st.data(), removals=st.lists(st.sampled_from((False, False, True)), min_size=1, max_size=3))
    def edits_come_between_undos(self, data: st.DataObject, removals: list[bool]) -> None:
        """Undo, edit what was undone, undo again, redo: each edit must not be taken for what an undo made."""
        for is_removal in removals:
            self.undo(data)
            self._edit_what_was_undone(data, is_removal)
        self.undo(data)
        self.redo()

    @rule()
    def cleanup(self) -> None:
        self._make_final()

    @precondition(lambda self: self.before_undo is not None)
    @rule(death=CLEANUP_DEATHS, at=st.integers(1, 3))
    def cleanup_dies(self, death: tuple[type, str], at: int) -> None:
        self._make_final((*death, at))

    @precondition(lambda self: self.points and self.before_undo is None)
    @rule(data=st.data(), death=DEATHS, at=st.integers(1, 3))
    def undo_dies(self, data: st.DataObject, death: tuple[type, str], at: int) -> None:
        point, state = self._choose(data), self._state()
        try:
            with dying(*death, at):
                self.last = self._do(self.world.undo.revert(self.session.id, point.message, point.part))
        except Death:
            pass
        self._begin_anew()
        if self._do(self.world.info(self.session)).revert is None:
            # Drops what the dead one began, and with it what that had summed up.
            self._do(self.world.undo.recover(self.session.id))
            assert self._state() == state
            self.last = None
        else:
            self.before_undo = state
            self.last = self._do(self.world.undo.revert(self.session.id, point.message, point.part))

    @precondition(lambda self: self.before_undo is not None)
    @rule(death=DEATHS, at=st.integers(1, 3))
    def redo_dies(self, death: tuple[type, str], at: int) -> None:
        before = self.world.files()
        try:
            with dying(*death, at):
                self._do(self.world.undo.unrevert(self.session.id))
        except Death:
            pass
        self._begin_anew()
        self.edits.check(self.world.files())
        if self._do(self.world.info(self.session)).revert is not None:
            assert self.world.files() == before
            self.redo()
            return
        assert self.before_undo is not None and self._state()[1:] == self.before_undo[1:]
        # What did not change is not reported.
        self.is_touched |= self.world.files() != self.before_undo[0]
        self.before_undo = self.last = None

    @precondition(lambda self: self.points)
    @rule(data=st.data(), is_whole=st.sampled_from((True, True, False)), goes_on=st.booleans(), deletes=st.booleans())
    def fork(self, data: st.DataObject, is_whole: bool, goes_on: bool, deletes: bool) -> None:
        source, files = self.session, self.world.files()
        boundary = None if is_whole else self._choose(data).message
        whole = self._do(self.world.messages(source))
        shown = visible(whole, self._do(self.world.info(source)).revert)
        names = [one.info.id for one in shown]
        taken = shown[: names.index(boundary)] if boundary in names else shown
        fork = self._do(self.world.fork(source, ForkSession(message_id=boundary)))
        wanted = as_forked(taken, fork.id)
        assert as_stored(self._do(self.world.messages(fork))) == wanted
        assert self.world.files() == files
        if not goes_on:
            self.others[fork.id] = wanted
            return
        self.is_touched |= len(taken) < len(shown)
        self._forget_what_was_left()
        self._keep_points(taken)
        mapping = ForkMap(fork.id)
        self.points = [
            Point(mapping.id(point.message), point.part and mapping.id(point.part), point.files)
            for point in self.points
        ]
        self.session = fork
        self._do(self.world.summarize(fork.id))
        if deletes:
            # The sessions of helpers go with it, and what they did cannot be undone by the fork any more.
            self.is_touched |= bool(self._do(self.world.engine.store.children(source.id)))
            self._do(self.world.delete(source))
        else:
            self.others[source.id] = as_stored(whole)

    @rule()
    def fork_dies(self) -> None:
        count = len(read_store(self.world.engine.core.paths.storage).of_kind("session"))
        try:
            with dying(SessionStore, "create", 1):
                self._do(self.world.fork(self.session, ForkSession()))
        except Death:
            pass
        self._begin_anew()
        assert len(read_store(self.world.engine.core.paths.storage).of_kind("session")) == count

    @rule()
    def another_process_comes(self) -> None:
        self._come_back()

    @invariant()
    def records_are_whole(self) -> None:
        stored = read_store(self.world.engine.core.paths.storage)
        assert (stored.damaged, stored.strays) == ([], [])

    @invariant()
    def nothing_of_the_person_is_lost(self) -> None:
        self.persons.check(self.world.files())

    @invariant()
    def repository_is_as_it_was(self) -> None:
        self.repo.check()

    def _edit_what_was_undone(self, data: st.DataObject, is_removal: bool) -> None:
        assert self.last is not None
        before = self.world.files()
        names = self._inside([file.path for file in (*self.last.restored, *self.last.deleted)]) or ["a"]
        edit(self.world.root, data.draw(st.sampled_from(names)), None if is_removal else self.edits.content())
        self.edits.wrote(before, self.world.files())
        self._person_wrote(before)

    def _person_wrote(self, before: Facts) -> None:
        after = self.world.files()
        self.persons.wrote(before, after)
        self.is_touched |= after != before

    def _make_final(self, death: tuple[type, str, int] | None = None) -> None:
        if self.before_undo is None:
            return
        info, files = self._do(self.world.info(self.session)), self.world.files()
        assert info.revert is not None
        kept = visible(self._do(self.world.messages(self.session)), info.revert)
        is_done = self._clean_up(death)
        found = self._do(self.world.messages(self.session))
        ids = [(one.info.id, [part.id for part in one.parts]) for one in kept]
        assert [(one.info.id, [part.id for part in one.parts]) for one in found] == ids
        assert is_done and self.world.files() == files
        assert self._do(self.world.info(self.session)).revert is None
        self._keep_points(found)
        self._forget_what_was_left()

    def _clean_up(self, death: tuple[type, str, int] | None) -> bool:
        if death is None:
            return self._do(self.world.clean_up(self.session))
        try:
            with dying(*death):
                self._do(self.world.clean_up(self.session))
        except Death:
            pass
        self._begin_anew()
        return self._do(self.world.clean_up(self.session)) or True

    def _keep_points(self, messages: list[MessageWithParts]) -> None:
        ids = {one.info.id for one in messages} | {part.id for one in messages for part in one.parts}
        self.points = [point for point in self.points if point.message in ids and (point.part or point.message) in ids]

    def _forget_what_was_left(self) -> None:
        """What was left as it is has another state than the steps before it left: from here on exactness is not known."""
        if self.before_undo is not None:
            self.is_touched |= self.last is None or bool([*self.last.kept, *self.last.unprotected])
        self.before_undo = self.last = None
