"""Sessions whose steps really changed files, built record by record, and undo on them."""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from opencode_tui.engine.engine import Engine, open_engine
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.permission.defaults import reading_rules
from opencode_tui.engine.permission.leaving import Leaving
from opencode_tui.engine.permission.path_forms import forms_of
from opencode_tui.engine.project.discover import discover
from opencode_tui.engine.session.repair import repair
from opencode_tui.engine.session.revert.cleanup import Cleanup
from opencode_tui.engine.session.revert.files import FileRevert
from opencode_tui.engine.session.revert.revert import SessionRevert
from opencode_tui.engine.session.revert.summary import SessionSummaries
from opencode_tui.engine.snapshot.objects.quota import SnapshotSettings
from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.engine.snapshot.snapshot import Snapshots, WorktreeLock
from opencode_tui.schema.api.request import ForkSession
from opencode_tui.schema.ids import Clock, system_clock
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import MessagePath, MessageTime, Tokens
from opencode_tui.schema.session.part import AnyPart, PatchPart, StepFinishPart, StepStartPart, TextPart, ToolPart
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolTime
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.safe_folder import Disk
from tests.support.sessions.records import assistant, session_info, user
from tests.support.sessions.store import writing
from tests.support.snapshot.worktree import Fact, facts_of

P = TypeVar("P", bound=AnyPart)
Act = Callable[[], object]


@dataclass
class UndoWorld:
    """A folder, its sessions, undo; names of files are relative to the folder."""

    root: Path
    engine: Engine
    snapshots: Snapshots
    undo: SessionRevert
    summaries: SessionSummaries
    project_id: str

    def write(self, name: str, content: str | bytes) -> Act:
        """Return the act of writing a file, with its folders."""

        def act() -> None:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

        return act

    @staticmethod
    def wait() -> None:
        """Let the clock go on: what comes next is later by a millisecond at least."""
        time.sleep(0.002)

    def remove(self, name: str) -> Act:
        return (self.root / name).unlink

    def read(self, name: str) -> str | None:
        """Return a file's text, None when it is not there."""
        path = self.root / name
        return path.read_text() if path.exists() else None

    def files(self) -> dict[str, Fact]:
        return facts_of(self.root)

    async def session(self, *, parent: SessionInfo | None = None, title: str = "a session") -> SessionInfo:
        core = self.engine.core
        now = core.clock()
        return await core.store.create(
            session_info(
                core.identifier.descending("ses"),
                created=now,
                updated=now,
                project_id=self.project_id,
                directory=str(self.root),
                parent_id=parent.id if parent else None,
                title=title,
            )
        )

    async def fork(self, session: SessionInfo, request: ForkSession) -> SessionInfo:
        instance = await self.engine.instance(self.root)
        return await instance.session.forks.get().fork(session.id, request)

    async def delete(self, session: SessionInfo) -> None:
        instance = await self.engine.instance(self.root)
        await instance.session.trash.get().put(session.id)

    async def turn(self, session: SessionInfo, *acts: Act, text: str = "do it") -> str:
        """Store a request and an answer whose step did these acts; returns the request's id."""
        request = await self.request(session, text)
        await self.step(session, request, *acts)
        return request

    async def request(self, session: SessionInfo, text: str, *, synthetic: bool | None = None) -> str:
        core = self.engine.core
        await core.store.messages(session.id)
        time = MessageTime(created=core.clock())
        message = user(id=core.identifier.ascending("msg"), session_id=session.id, time=time).info
        async with writing(core.store, session.id) as writer:
            await writer.update_message(message)
        await self.part(session, message.id, TextPart, text=text, synthetic=synthetic)
        return message.id

    async def step(self, session: SessionInfo, request: str, *acts: Act, task: SessionInfo | None = None) -> str:
        """Store an answer whose step did these acts between its parts, or let a child session work; returns its id."""
        message = await self.answer(session, request)
        await self.part(session, message, StepStartPart)
        await self.part(session, message, TextPart, text="I will")
        before = await self.snapshots.track()
        started = self.engine.core.clock()
        for act in acts:
            act()
        await self.tool(session, message, started, task=task)
        patch = await self.snapshots.patch(before.id)
        await self.part(session, message, StepFinishPart, reason="stop", tokens=Tokens())
        if not task:
            await self.patch(session, message, patch)
        return message

    async def answer(self, session: SessionInfo, request: str) -> str:
        core = self.engine.core
        now = core.clock()
        message = assistant(
            id=core.identifier.ascending("msg"),
            session_id=session.id,
            parent_id=request,
            path=MessagePath(cwd=str(self.root), root=str(self.root)),
            time=MessageTime(created=now, completed=now),
        ).info
        async with writing(core.store, session.id) as writer:
            await writer.update_message(message)
        return message.id

    async def tool(
        self,
        session: SessionInfo,
        message: str,
        started: int,
        *,
        task: SessionInfo | None = None,
        background: str | None = None,
        work: dict[str, str] | None = None,
    ) -> ToolPart:
        """Store a call that ended now; `work` is what a version since 0.4 records of an agent's."""
        metadata: dict[str, Any] = {"sessionId": task.id} if task else {}
        if work is not None:
            metadata["work"] = work
        if background is not None:
            metadata["background"] = background
        time = ToolTime(start=started, end=self.engine.core.clock())
        state = ToolStateCompleted(input={}, output="done", metadata=metadata, time=time)
        return await self.part(
            session, message, ToolPart, call_id="call_1", tool="task" if task else "write", state=state
        )

    async def patch(self, session: SessionInfo, message: str, patch: Patch) -> PatchPart:
        return await self.part(session, message, PatchPart, hash=patch.hash, files=patch.files, after=patch.after)

    async def part(self, session: SessionInfo, message: str, kind: type[P], **fields: Any) -> P:
        part = kind(
            id=self.engine.core.identifier.ascending("prt"), session_id=session.id, message_id=message, **fields
        )
        async with writing(self.engine.store, session.id) as writer:
            await writer.update_part(part)
        return part

    async def messages(self, session: SessionInfo) -> list[MessageWithParts]:
        return await self.engine.store.messages(session.id)

    async def ids(self, session: SessionInfo) -> list[str]:
        return [message.info.id for message in await self.messages(session)]

    async def info(self, session: SessionInfo) -> SessionInfo:
        return await self.engine.store.get(session.id)

    async def clean_up(self, session: SessionInfo) -> bool:
        """Make the undo final, as a run does before it goes on."""
        async with self.engine.store.locked(session.id):
            return await self.undo.cleanup(session.id)

    async def summarize(self, session_id: str) -> None:
        """Sum up the changes of a session and its turns, as a run does at its end."""
        async with writing(self.engine.store, session_id):
            await self.summaries.refresh(session_id)

    async def summarize_last(self, session_id: str) -> None:
        """Sum up the changes of a session and its last turn."""
        async with writing(self.engine.store, session_id):
            await self.summaries.refresh_last(session_id)


@asynccontextmanager
async def undo_world(
    environ: dict[str, str],
    root: Path,
    *,
    disk: Disk | None = None,
    files: FileSystem | None = None,
    settings: SnapshotSettings | None = None,
    clock: Clock = system_clock,
) -> AsyncGenerator[UndoWorld]:
    """Open an engine on a folder; `disk` are the calls on the folder's files, `files` those on records."""
    root.mkdir(parents=True, exist_ok=True)
    root = root.resolve()
    async with open_engine(environ, clock=clock, files=files) as engine:
        core = engine.core
        project = discover(root, paths=core.paths, environ=environ)
        snapshots = Snapshots(
            WorktreeLock(
                worktree=project.worktree,
                project_id=project.id,
                paths=core.paths,
                locks=core.locks,
                clock=core.clock,
                disk=disk,
                settings=settings,
            )
        )
        source = Lazy(lambda: snapshots)

        async def recover(session_id: str) -> int:
            return await repair(core.store, session_id, clock=core.clock)

        forms = forms_of(project.directory, project.worktree, project.origins)
        leaving = Leaving(str(project.worktree), forms, lambda: [reading_rules()], lambda _path: False)
        summaries = SessionSummaries(
            store=core.store, snapshots=source, publish=core.publisher.publish, leaving=leaving
        )
        revert = SessionRevert(
            store=core.store,
            lock=core.session_lock,
            files=FileRevert(store=core.store, snapshots=snapshots, leaving=leaving),
            summaries=summaries,
            cleanup=Cleanup(store=core.store, runs=core.runs, locks=core.locks),
            recover_session=recover,
            new_id=core.identifier.ascending,
        )
        yield UndoWorld(root, engine, snapshots, revert, summaries, project.id)
