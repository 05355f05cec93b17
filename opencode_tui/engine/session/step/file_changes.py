"""The changes of files by a step: recorded while its tools run, stored as its one patch part.

Nothing is loaded or scanned for a step that changes nothing. The patch part is stored, with the planned content, before
the first file changes, and grows with the step; so it survives a crash. A failure to record never stops a step: the call
then stores in its metadata, as `unprotected`, why undo will not revert its changes. Source: docs/internals/snapshots.md#steps.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.records.writer import SessionWriter
from opencode_tui.engine.session.revert.retention import SnapshotRetention
from opencode_tui.engine.session.session_lock import SessionLock
from opencode_tui.engine.snapshot.record.call import CallChanges, attempt
from opencode_tui.schema.error import BusyError, NotFoundError, RunAborted, StorageError
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import PatchPart, StepStartPart

if TYPE_CHECKING:
    from opencode_tui.engine.snapshot.record.recording import (
        CommandWindow,
        Moment,
        OrphanedStep,
        Recorded,
        StepRecording,
    )
    from opencode_tui.engine.snapshot.snapshot import Snapshots

LOCK_WAIT_S = 5.0
LOCK_RETRY_S = 0.05


class StepRecorder:
    """Creates the change records of the steps of one folder's sessions."""

    def __init__(
        self,
        *,
        snapshots: "Lazy[Snapshots]",
        store: SessionStore,
        identifier: Identifier,
        retention: SnapshotRetention,
        lock: SessionLock,
        find_log: Callable[[], str] | None = None,
        follow: Callable[[Sequence[str]], None] | None = None,
    ) -> None:
        """`find_log` returns the path of the change log; with it nothing is loaded where no command was killed.

        `follow` gets the files of a step that changed, each time after one of its commands; it does not block.
        """
        self._find_log = find_log
        self.follow = follow
        self._snapshots = snapshots
        self._session_lock = lock
        self.store = store
        self.identifier = identifier
        self._retention = retention
        self.agents: dict[str, str] = {}
        """The names of the agents that work in the background, by their sessions."""
        self._families: dict[str, CommandWindow] = {}

    def begin(self, message: AssistantMessage) -> "StepPatch":
        """Return an empty record for a step."""
        return StepPatch(self, message)

    async def recording(
        self, message: AssistantMessage, store: "Callable[[Moment], Awaitable[None]]"
    ) -> "StepRecording":
        """Return a new recording for a step; `store` stores its result. Raises SnapshotError when there are no snapshots here."""
        from opencode_tui.engine.snapshot.record.recording import (  # only for steps with changes
            CommandWindow,
            StepRecording,
        )

        snapshots = self._snapshots.get()
        if snapshots.unavailable is None:
            self._retention.schedule()
        name = await self.store.root_of(message.session_id)
        family = self._families.setdefault(name, CommandWindow(name))
        return StepRecording(
            snapshots.lock,
            session=message.session_id,
            message=message.id,
            window=family,
            agent=await self._background_agent(message.session_id),
            store=store,
        )

    async def _background_agent(self, session_id: str) -> str | None:
        """Return the name of the agent in the background for which a session works, None where it works for none."""
        seen = set[str]()
        while self.agents and session_id not in seen:
            if (name := self.agents.get(session_id)) is not None:
                return name
            seen.add(session_id)
            with suppress(NotFoundError):  # the session above was deleted
                session_id = (await self.store.get(session_id)).parent_id or session_id
        return None

    @asynccontextmanager
    async def access_after_run(self, session_id: str) -> AsyncGenerator[None]:
        """Allow writes to a session after a run: by its present run, or with its lock, which is waited for.

        Raises BusyError when another process keeps it, NotFoundError when it is deleted.
        """
        deadline = time.monotonic() + LOCK_WAIT_S
        async with AsyncExitStack() as stack:
            while True:
                try:
                    if (run := self._session_lock.runs.get(session_id)) is None:
                        await stack.enter_async_context(self._session_lock.hold(session_id, is_awaited=True))
                    else:
                        await run.writer()
                    break
                except (BusyError, RunAborted):
                    if time.monotonic() > deadline:
                        raise
                    await asyncio.sleep(LOCK_RETRY_S)
            yield

    async def end_run(self, session_id: str) -> None:
        """Record what background commands have changed by the end of the run that started them. Needs the session's run lock.

        What changes later may be the user's: undo lists it and does not change it. A failure is logged.
        """
        for window in [window for family in self._families.values() for window in family.background]:
            if window.step.session == session_id:
                await attempt(partial(window.step.end_run, window), window.step.message)
                await window.step.store("write")

    def has_open_steps(self) -> bool:
        """Return whether a step of any session has no recorded end; loads no snapshots. Blocks. Raises StorageError."""
        return self._find_log is None or _has_open_steps(self._find_log())

    async def recover(self, session_id: str) -> None:
        """Record the changes of commands whose process died, in this session or its child sessions. Needs its run lock.

        Each such step gets a patch part without a snapshot after it, so undo lists its files and does not change them. Raises
        OpencodeError.
        """
        from opencode_tui.engine.snapshot.record.recording import (  # only after a crash
            collect_orphaned_steps,
            runs_elsewhere,
            sessions_of_steps,
        )

        snapshots, root = self._snapshots.get(), await self.store.root_of(session_id)
        if snapshots.unavailable is not None:
            return
        sessions = await sessions_of_steps(snapshots.lock)
        working = self._families[root].running_sessions if root in self._families else set[str]()
        if not working and await runs_elsewhere(snapshots.lock, root):
            return
        for one in sorted(sessions - working):
            if await self.store.root_of(one) != root:
                continue
            with suppress(BusyError):  # another process has it, and does this when it is done
                async with (
                    nullcontext(self.store.writer(one)) if one == session_id else self.store.locked(one) as writer
                ):
                    for dead in await collect_orphaned_steps(snapshots.lock, {one}):
                        await self._record_killed(writer, dead)

    async def _record_killed(self, writer: SessionWriter, dead: "OrphanedStep") -> None:
        """Add the files that a killed command changed, where they are not recorded yet."""
        found = await self.store.named(dead.session, [dead.message])
        parts = (part for message in found for part in message.parts)
        known = {file for part in parts if isinstance(part, PatchPart) for file in part.files}
        files = [file for file in dead.files if file not in known]
        if files:
            await writer.update_part(
                PatchPart(
                    id=self.identifier.ascending("prt"),
                    session_id=dead.session,
                    message_id=dead.message,
                    hash=dead.before,
                    files=files,
                )
            )


def _has_open_steps(path: str) -> bool:
    if not os.path.exists(path):
        return False
    from opencode_tui.engine.snapshot.change_log import ChangeLog  # light, unlike the snapshots

    return bool(ChangeLog(path).read().steps)


class StepPatch:
    """The patch part of one step, and its recording, which the first call that changes something creates."""

    def __init__(self, recorder: StepRecorder, message: AssistantMessage) -> None:
        self._recorder = recorder
        self._message = message
        self._recording: StepRecording | None = None
        self._part: PatchPart | None = None
        self._start: StepStartPart | None = None
        self._opening = asyncio.Lock()
        self._writing = asyncio.Lock()

    @property
    def is_stored(self) -> bool:
        """Return whether all known changes of the step are stored."""
        return self._recording is None or not self._recording.is_open

    @property
    def snapshot(self) -> str | None:
        """Return the snapshot after the step; None without one."""
        return self._recording.after if self._recording is not None else None

    def begin(self, start: StepStartPart) -> None:
        """Set the part that gets the snapshot before the step, once a change is about to start."""
        self._start = start

    def watch(self) -> CallChanges:
        """Return the handle of one call of the step."""
        return CallChanges(self._message.id, self._open)

    async def store_interrupted(self) -> None:
        """Record and store the changes of interrupted commands, after they have ended."""
        recording = self._recording
        if recording is not None and recording.is_open:
            await attempt(recording.finalize, self._message.id)
            await recording.store("command")

    async def _open(self) -> "StepRecording":
        async with self._opening:
            if self._recording is None:
                self._recording = await self._recorder.recording(self._message, self._store)
            return self._recording

    async def _store(self, moment: "Moment") -> None:
        recording = self._recording
        assert recording is not None
        if moment in ("background", "after run"):
            await self._store_after_run(recording, has_changed=moment == "after run")
        else:
            await self._store_parts(recording, has_changed=moment != "write")
        if moment in ("command", "after run") and self._part is not None and self._recorder.follow is not None:
            self._recorder.follow(self._part.files)

    async def _store_after_run(self, recording: "StepRecording", *, has_changed: bool) -> None:
        store, message = self._recorder.store, self._message
        async with self._recorder.access_after_run(message.session_id):
            if await store.named(message.session_id, [message.id]):
                await self._store_parts(recording, has_changed=has_changed)
                await store.sync()

    async def _store_parts(self, recording: "StepRecording", *, has_changed: bool) -> None:
        """Store the step's parts. Raises StorageError unless something `has_changed` already: then they are stored later."""
        store = self._recorder.store
        writer = store.writer(self._message.session_id)
        put = writer.close_part if has_changed else writer.update_part
        async with self._writing:
            start = self._start
            if start is not None and start.snapshot != recording.before:
                start = start.changed(snapshot=recording.before)
                await put(start)
                self._start = start
            await self._store_patch(recording.result, put)

    async def _store_patch(self, result: "Recorded | None", put: Callable[[PatchPart], Awaitable[None]]) -> None:
        part, store = self._part, self._recorder.store
        if result is None:
            if part is not None:
                self._part = None
                await store.writer(part.session_id).remove_part(part.message_id, part.id)
            return
        if part is not None and (part.hash, part.after, part.files) == (result.hash, result.after, result.files):
            return
        self._part = PatchPart(
            id=part.id if part is not None else self._recorder.identifier.ascending("prt"),
            session_id=self._message.session_id,
            message_id=self._message.id,
            hash=result.hash,
            files=result.files,
            after=result.after,
        )
        try:
            await put(self._part)
        except StorageError:
            self._part = part
            raise
