"""The world of a random history: one session of one project, its observed states, and acts of the agent and of the user."""

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine
from msgspec.structs import replace

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.session.background import Background
from opencode_tui.engine.session.records.stored_history import ForkMap
from opencode_tui.engine.session.revert.retention import SnapshotRetention
from opencode_tui.engine.session.step.file_changes import StepRecorder
from opencode_tui.engine.snapshot.objects.quota import SnapshotSettings
from opencode_tui.engine.snapshot.record.call import CallChanges
from opencode_tui.engine.snapshot.scan.lost_files import LostPath
from opencode_tui.engine.tool.files.files import NotTextError, WorktreeFiles
from opencode_tui.engine.tool.files.transaction import Change
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage, Tokens
from opencode_tui.schema.session.part import StepFinishPart, StepStartPart, TextPart
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.undo import RevertReport
from tests.conftest import isolated_environment
from tests.support.faults.file_system import FaultyFiles
from tests.support.snapshot.fresh_edits import FreshEdits
from tests.support.snapshot.guarded_repo import data_of, make_guarded
from tests.support.snapshot.machine import LIMIT, Act, Facts, do
from tests.support.undo.sessions import UndoWorld, undo_world
from tests.support.undo.user_bytes import PersonsBytes
from tests.support.world.tools import Workbench

# Conversations as JSON, and what a conversation becomes in a fork.

Stored = list[tuple[Any, list[Any]]]


def as_stored(messages: Sequence[MessageWithParts]) -> Stored:
    """Return each message's record with those of its parts."""
    return [(one.info.to_dict(), [part.to_dict() for part in one.parts]) for one in messages]


def as_forked(messages: Sequence[MessageWithParts], fork_id: str) -> Stored:
    """Return what these messages are in a fork that works in the same folder."""
    mapping = ForkMap(fork_id)
    return [
        (
            json.loads(mapping.message(one.info.to_json()) or b"null"),
            [json.loads(mapping.part(part.to_json()) or b"null") for part in one.parts],
        )
        for one in messages
    ]


# Steps as the loop records them: files that tools write, commands between two scans, one patch part.


@dataclass(frozen=True)
class Written:
    """A file that a tool writes; `name` is relative to the folder."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Discarding:
    """A command whose words name what it discards, so that this is kept before; `name` is relative to the folder."""

    name: str
    act: Callable[[], object]


Work = Written | Discarding | Callable[[], object]
"""What one call of a step does: a file tool's write, or a command."""


async def recorded_step(
    world: UndoWorld, session: SessionInfo, request: str, *works: Work, is_covered: bool = True
) -> str:
    """Store an answer whose step did these works, and what was recorded of it; returns its id.

    Undo covers all of it, but where `is_covered` is False.
    """
    core = world.engine.core
    snapshots = Lazy(lambda: world.snapshots)
    retention = SnapshotRetention(snapshots=snapshots, background=Background(), clock=lambda: -1)
    recorder = StepRecorder(
        snapshots=snapshots,
        store=core.store,
        identifier=core.identifier,
        retention=retention,
        lock=core.session_lock,
    )
    message = await world.answer(session, request)
    await world.part(session, message, StepStartPart)
    await world.part(session, message, TextPart, text="I will")
    await world.tool(session, message, core.clock())
    info = (await world.messages(session))[-1].info
    assert isinstance(info, AssistantMessage)
    async with core.store.locked(session.id):  # as the run that records
        changes = recorder.begin(info)
        for work in works:
            watch = changes.watch()
            await _do(world.root, work, watch)
            assert watch.unprotected is None or not is_covered
        await changes.store_interrupted()
    await world.part(session, message, StepFinishPart, reason="stop", tokens=Tokens())
    return message


async def _do(root: Path, work: Work, watch: CallChanges) -> None:
    if isinstance(work, Discarding):
        async with watch.commands([LostPath(work.name)]):
            work.act()
        return
    if not isinstance(work, Written):
        async with watch.commands():
            work()
        return
    path = Path(os.path.realpath(root / work.name))
    bench = Workbench(root)
    try:
        change = Change(path, work.content, await _stamp(bench.files, path))
        await bench.files.apply([change], replace(bench.context, watch=watch))
    except ToolError:  # a folder, or a file where its folder should be: nothing is written
        return


async def _stamp(files: WorktreeFiles, path: Path):
    try:
        found = await files.read(path)
    except NotTextError as error:
        return error.stamp
    return None if found is None else found.stamp


T = TypeVar("T")
MEMORY = Path("/dev/shm")
"""Where it is there: these histories are about order, and a disk's syncs would take nine tenths of their time."""


class JumpingClock:
    """The clock of the system, until it jumps."""

    def __init__(self) -> None:
        self._offset = 0
        self._jumps: list[tuple[int, int]] = []
        self._calls = 0

    def __call__(self) -> int:
        self._calls += 1
        self._offset += sum(by for at, by in self._jumps if at == self._calls)
        return system_clock() + self._offset

    def jump(self, by_ms: int, *, after: int) -> None:
        """Jump after so many calls."""
        self._jumps.append((self._calls + after + 1, by_ms))


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
        self.edits = FreshEdits()
        self.runner = asyncio.Runner()
        self.files = FaultyFiles()
        self.world_fails = False
        self.clock = JumpingClock()
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
        """Continue in another process; sessions without new work are unchanged."""
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
        works = [self._work(act) for act in acts]
        return await recorded_step(self.world, self.session, request, *works, is_covered=not self.world_fails)

    def _work(self, act: Act) -> Work:
        """Return what a call does: a file tool writes, a command removes what its words name, or changes anything unnamed."""
        kind, name, content, _ = act
        if kind == "write":
            return Written(name, content.encode())
        is_named = kind in ("remove", "large") and content
        return Discarding(name, self._command(act)) if is_named else self._command(act)

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
            environ, settings = isolated_environment(self.base / "home"), SnapshotSettings(ignored_bytes=LIMIT)
            root = self.base / "project"
            async with undo_world(environ, root, settings=settings, files=self.files, clock=self.clock) as world:
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
