"""The world of a random history: one session of one project, what was seen of it, and acts of the agent and of the person."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.undo import RevertReport
from tests.conftest import isolated_environment
from tests.support.forked import as_stored
from tests.support.guarded_repo import data_of, make_guarded
from tests.support.persons_bytes import PersonsBytes
from tests.support.recorded_steps import Work, Written, recorded_step
from tests.support.snapshot_machine import Act, Facts, do
from tests.support.undo import UndoWorld, undo_world

T = TypeVar("T")
MEMORY = Path("/dev/shm")
"""Where it is there: these histories are about order, and a disk's syncs would take nine tenths of their time."""


@dataclass(frozen=True)
class Point:
    """Where an undo can begin, and the files at that point."""

    message: str
    part: str | None
    files: Facts


class UndoHistory(RuleBasedStateMachine):
    """One session of one project, without rules yet."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="undo-histories-", dir=MEMORY if MEMORY.is_dir() else None))
        (self.base / "home").mkdir()
        self.repo = make_guarded(self.base / "project")
        self.persons = PersonsBytes(self.base / "home")
        self.runner = asyncio.Runner()
        self._closing = asyncio.Event()
        self._holder: asyncio.Task[None] | None = None
        self.world = self._open()
        self.session: SessionInfo = self._do(self.world.session())
        self.points: list[Point] = []
        self.before_undo: tuple[Facts, list[MessageWithParts], object] | None = None
        self.last: RevertReport | None = None
        self.others: dict[str, object] = {}
        self.is_touched = False

    def teardown(self) -> None:
        self._check_others()
        self._close()
        self.runner.close()
        shutil.rmtree(self.base)

    def _come_back(self) -> None:
        """Go on in another process; sessions that nobody worked on are as they were."""
        self._close()
        self.world = self._open()
        self._check_others()

    def _begin_anew(self) -> None:
        self._come_back()
        self._do(self.world.undo.recover_all())

    def _check_others(self) -> None:
        for session_id, wanted in self.others.items():
            session = self._do(self.world.engine.store.get(session_id))
            assert as_stored(self._do(self.world.messages(session))) == wanted

    def _choose(self, data: st.DataObject) -> Point:
        return self.points[data.draw(st.integers(0, len(self.points) - 1))]

    def _act(self, act: Act) -> None:
        if act[0] == "rules":
            self.persons.ignore(Path(act[1]).name)
        do(self.world.root, act)

    def _inner_repositories(self) -> object:
        """Return the data of the repositories inside: undo leaves them alone."""
        found = [path for path in self.world.root.rglob(".git") if path.parent != self.world.root]
        return {path: data_of(path) for path in found}

    async def _step(self, request: str, acts: list[Act], *, is_recorded: bool) -> str:
        if not is_recorded:
            return await self.world.step(self.session, request, *[self._command(act) for act in acts])
        works: list[Work] = [
            Written(act[1], act[2].encode()) if act[0] == "write" else self._command(act) for act in acts
        ]
        return await recorded_step(self.world, self.session, request, *works)

    def _command(self, act: Act) -> Callable[[], None]:
        return lambda: self._act(act)

    async def _delegate(self, request: str, acts: list[Act]) -> None:
        """Let a child session do the acts."""
        child = await self.world.session(parent=self.session)
        message = await self.world.answer(self.session, request)
        started = self.world.engine.core.clock()
        await self.world.turn(child, *[self._command(act) for act in acts])
        await self.world.tool(self.session, message, started, task=child)
        self.world.wait()

    def _state(self) -> tuple[Facts, list[MessageWithParts], object]:
        async def look() -> tuple[Facts, list[MessageWithParts], object]:
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
            await asyncio.wait({opened, self._holder}, return_when=asyncio.FIRST_COMPLETED)
            if not opened.done():
                self._holder.result()
            return opened.result()

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

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)
