"""Random histories of a session: turns of an agent and its helpers, a person's own edits, undo to messages and parts, redo, deaths.

Checked after each act: an undo without anybody's edits restores exactly what was, whatever undo came before it; what the person
made is still there; redo gives back every byte and every sum; a cleanup leaves what stood before, and no orphan.
"""

import asyncio
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from opencode_tui.engine.session.store import SessionStore
from opencode_tui.engine.snapshot.snapshot import Snapshots
from opencode_tui.schema.session import SessionInfo
from opencode_tui.schema.undo import RevertReport
from tests.conftest import isolated_environment
from tests.support.repo import make_repo
from tests.support.snapshot_machine import ACTS, Act, Facts, compare_facts, do
from tests.support.snapshots import Death
from tests.support.stored import read_store
from tests.support.undo import UndoWorld, undo_world

MEMORY = Path("/dev/shm")
"""Where it is there: these histories are about order, and a disk's syncs would take nine tenths of their time."""

STEPS = st.lists(st.lists(ACTS, min_size=1, max_size=3), min_size=1, max_size=3)
DEATHS = st.sampled_from([(SessionStore, "update"), (SessionStore, "sync"), (Snapshots, "forget")])


@dataclass(frozen=True)
class Point:
    """Where an undo can begin, and the files at that point."""

    message: str
    part: str | None
    files: Facts


class UndoMachine(RuleBasedStateMachine):
    """One session of one project."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="undo-histories-", dir=MEMORY if MEMORY.is_dir() else None))
        (self.base / "home").mkdir()
        repo = make_repo(self.base / "project")
        repo.commit(**{"a": "committed\n", ".gitignore": "*.log\n"})
        self.runner = asyncio.Runner()
        self._closing = asyncio.Event()
        self._holder: asyncio.Task[None] | None = None
        self.world = self._open()
        self.session: SessionInfo = self._do(self.world.session())
        self.points: list[Point] = []
        self.before_undo: tuple[Facts, list[object], object] | None = None
        self.last: RevertReport | None = None
        self.is_touched = False

    def teardown(self) -> None:
        self._close()
        self.runner.close()
        shutil.rmtree(self.base)

    @initialize(steps=STEPS, helped=st.booleans())
    def agent_begins(self, steps: list[list[Act]], helped: bool) -> None:
        self.agent_works(steps, helped)

    @rule(steps=STEPS, helped=st.booleans())
    def agent_works(self, steps: list[list[Act]], helped: bool) -> None:
        self._make_final()
        files = self.world.files()
        request = self._do(self.world.request(self.session, "work"))
        self.points.append(Point(request, None, files))
        for number, acts in enumerate(steps):
            files = self.world.files()
            if helped and number == 0:
                self._do(self._delegate(request, acts))
                continue
            message = self._do(self.world.step(self.session, request, *self._acts(acts)))
            part = self._do(self.world.messages(self.session))[-1].parts[2].id
            self.points.append(Point(message, part, files))
        self._do(self.world.summaries.refresh_last(self.session.id))

    @rule(act=ACTS)
    def person_works(self, act: Act) -> None:
        before = self.world.files()
        do(self.world.root, act)
        self.is_touched |= self.world.files() != before

    @precondition(lambda self: self.points)
    @rule(data=st.data())
    def undo_often(self, data: st.DataObject) -> None:
        """Come up more often than other acts: undo after undo is where it gets hard."""
        self.undo(data)

    @precondition(lambda self: self.points)
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        point = self._choose(data)
        if self.before_undo is None:
            self.before_undo = self._state()
        before = self.world.files()
        preview = self._do(self.world.undo.preview(self.session.id, point.message, point.part))
        self.last = self._do(self.world.undo.revert(self.session.id, point.message, point.part))
        named = [file.path for file in [*self.last.kept, *self.last.unprotected]]
        assert self.last.failed == [] and preview.scope == self.last.scope
        if not self.is_touched:
            compare_facts(self.world.files(), point.files, self._inside(named))
        for file in preview.kept:
            name = self._inside([file.path])[0]
            assert self.world.files().get(name) == before.get(name)

    @precondition(lambda self: self.before_undo is not None)
    @rule()
    def redo(self) -> None:
        assert self.before_undo is not None
        files, messages, summary = self.before_undo
        report = self._do(self.world.undo.unrevert(self.session.id))
        named = [
            file.path for file in [*report.kept, *report.unprotected, *(self.last.unprotected if self.last else [])]
        ]
        if not self.is_touched:
            compare_facts(self.world.files(), files, self._inside(named))
        after = self._state()
        assert (after[1], after[2]) == (messages, summary)
        self.before_undo = self.last = None

    @rule()
    def cleanup(self) -> None:
        self._make_final()

    @precondition(lambda self: self.points and self.before_undo is None)
    @rule(data=st.data(), death=DEATHS, at=st.integers(1, 3))
    def undo_dies(self, data: st.DataObject, death: tuple[type, str], at: int) -> None:
        point, state = self._choose(data), self._state()
        owner, name = death
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
            self.last = self._do(self.world.undo.revert(self.session.id, point.message, point.part))
        except Death:
            pass
        finally:
            setattr(owner, name, whole)
        self.another_process_comes()
        self._do(self.world.undo.recover())
        if self._do(self.world.info(self.session)).revert is None:
            assert self.world.files() == state[0]
            self.last = None
        else:
            self.before_undo = state
            self.last = self._do(self.world.undo.revert(self.session.id, point.message, point.part))

    @rule()
    def another_process_comes(self) -> None:
        self._close()
        self.world = self._open()

    @invariant()
    def records_are_whole(self) -> None:
        stored = read_store(self.world.engine.core.paths.storage)
        assert (stored.damaged, stored.strays) == ([], [])

    def _choose(self, data: st.DataObject) -> Point:
        return self.points[data.draw(st.integers(0, len(self.points) - 1))]

    def _acts(self, acts: list[Act]):
        return [lambda act=act: do(self.world.root, act) for act in acts]

    async def _delegate(self, request: str, acts: list[Act]) -> None:
        """Let a child session do the acts."""
        child = await self.world.session(parent=self.session)
        message = await self.world.answer(self.session, request)
        started = self.world.engine.core.clock()
        await self.world.turn(child, *self._acts(acts))
        await self.world.tool(self.session, message, started, task=child)
        self.world.wait()

    def _make_final(self) -> None:
        if self.before_undo is None:
            return
        info, files = self._do(self.world.info(self.session)), self.world.files()
        assert info.revert is not None
        messages = self._do(self.world.messages(self.session))
        cut = next(index for index, one in enumerate(messages) if one.info.id == info.revert.message_id)
        assert self._do(self.world.clean_up(self.session))
        kept = [one.info.id for one in messages[: cut + (info.revert.part_id is not None)]]
        assert self._do(self.world.ids(self.session)) == kept and self.world.files() == files
        assert self._do(self.world.info(self.session)).revert is None
        parts = {part.id for one in self._do(self.world.messages(self.session)) for part in one.parts}
        self.points = [
            point for point in self.points if point.message in kept and (point.part is None or point.part in parts)
        ]
        # What was left as it is has another state than the steps before it left: from here on exactness is not known.
        self.is_touched |= self.last is None or bool([*self.last.kept, *self.last.unprotected])
        self.before_undo = self.last = None

    def _state(self) -> tuple[Facts, list[object], object]:
        async def look() -> tuple[Facts, list[object], object]:
            world = self.world
            info = await world.info(self.session)
            return (
                world.files(),
                [*await world.messages(self.session)],
                (info.summary, await world.engine.store.diff(info.id)),
            )

        return self._do(look())

    def _inside(self, paths: list[str]) -> list[str]:
        return [str(Path(path).relative_to(self.world.root)) for path in paths]

    def _open(self) -> UndoWorld:
        async def begin() -> UndoWorld:
            opened: asyncio.Future[UndoWorld] = asyncio.get_running_loop().create_future()
            self._closing = asyncio.Event()
            self._holder = asyncio.create_task(hold(opened, self._closing))
            return await opened

        async def hold(opened: "asyncio.Future[UndoWorld]", closing: asyncio.Event) -> None:
            async with undo_world(isolated_environment(self.base / "home"), self.base / "project") as world:
                opened.set_result(world)
                await closing.wait()

        return self._do(begin())

    def _close(self) -> None:
        async def end() -> None:
            self._closing.set()
            if self._holder is not None:
                await self._holder

        self._do(end())

    def _do(self, work):
        return self.runner.run(work)
