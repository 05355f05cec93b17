"""The changes of files by a step: recorded while its tools run, stored as its one patch part.

Nothing is loaded or scanned for a step that changes nothing. The patch part is stored, with the planned content, before
the first file changes, and grows with the step; so it survives a crash. A failure to record never stops a step: the call
then stores in its metadata, as `unprotected`, why undo will not revert its changes. Source: docs/internals/snapshots.md#steps.
"""

import asyncio
import logging
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.revert.retention import SnapshotRetention
from opencode_tui.engine.session.session_lock import SessionLock
from opencode_tui.engine.tool.tool import BackgroundProgram, FileWrite
from opencode_tui.schema.error import BusyError, OpencodeError
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import PatchPart, StepStartPart

if TYPE_CHECKING:
    from opencode_tui.engine.snapshot.record.recording import BackgroundWindow, CommandWindow, StepRecording
    from opencode_tui.engine.snapshot.snapshot import Snapshots

logger = logging.getLogger(__name__)

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
        self._families: dict[str, CommandWindow] = {}
        self.background: dict[BackgroundWindow, StepChanges] = {}
        """The background commands whose changes are not stored, with their steps."""

    def begin(self, message: AssistantMessage) -> "StepChanges":
        """Return an empty record for a step."""
        return StepChanges(self, message)

    async def recording(self, message: AssistantMessage) -> "StepRecording":
        """Return a new recording for a step; raises SnapshotError when there are no snapshots here."""
        from opencode_tui.engine.snapshot.record.recording import (  # only for steps with changes
            CommandWindow,
            StepRecording,
        )

        snapshots = self._snapshots.get()
        if snapshots.unavailable is None:
            self._retention.schedule()
        name = await self.store.root_of(message.session_id)
        family = self._families.setdefault(name, CommandWindow(name))
        return StepRecording(snapshots.lock, session=message.session_id, message=message.id, window=family)

    @asynccontextmanager
    async def access_after_run(self, session_id: str) -> AsyncGenerator[None]:
        """Allow writes to a session after a run: by its present run, or with its lock, which is waited for.

        Raises BusyError when another process keeps it, NotFoundError when it is deleted.
        """
        deadline = time.monotonic() + LOCK_WAIT_S
        async with AsyncExitStack() as stack:
            while self._session_lock.runs.get(session_id) is None:
                try:
                    await stack.enter_async_context(self._session_lock.hold(session_id, is_awaited=True))
                    break
                except BusyError:
                    if time.monotonic() > deadline:
                        raise
                    await asyncio.sleep(LOCK_RETRY_S)
            yield

    async def end_run(self, session_id: str) -> None:
        """Record what background commands have changed by the end of the run that started them. Needs the session's run lock.

        What changes later may be the user's: undo lists it and does not change it. A failure is logged.
        """
        for window, changes in list(self.background.items()):
            if window.session == session_id:
                await changes.end_run(window)

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
        family = {one for one in sessions - working if await self.store.root_of(one) == root}
        for dead in await collect_orphaned_steps(snapshots.lock, family) if family else ():
            await self.store.open(dead.session)
            parts = self.store.parts(dead.session, dead.message)
            known = {file for part in parts if isinstance(part, PatchPart) for file in part.files}
            files = [file for file in dead.files if file not in known]
            if files:
                await self.store.update_part(
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


class StepChanges:
    """The changes of one step. No method raises, except for cancellation."""

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

    def watch(self) -> "FileChangeRecorder":
        """Return the recorder of one call of the step."""
        return FileChangeRecorder(self)

    async def store_interrupted(self) -> None:
        """Record and store the changes of interrupted commands, after they have ended."""
        recording = self._recording
        if recording is not None and recording.is_open:
            await self.attempt(recording.finalize)
            self.report()

    def report(self) -> None:
        """Report the changed files, after a command."""
        if self._part is not None and self._recorder.follow is not None:
            self._recorder.follow(self._part.files)

    async def open(self) -> "StepRecording":
        """Return the step's recording, created by the first call that changes something; raises SnapshotError."""
        async with self._opening:
            if self._recording is None:
                self._recording = await self._recorder.recording(self._message)
            return self._recording

    async def attempt(self, act: Callable[[], Awaitable[object]]) -> str | None:
        """Run an action on the recording and store the patch; returns the reason of a failure, None on success."""
        reason = None
        try:
            await act()
        except OpencodeError as error:
            reason = str(error)
        except Exception as error:
            logger.exception("recording the changes of message %s failed", self._message.id)
            reason = f"{type(error).__name__}: {error}"
        if reason is not None:
            logger.warning("undo will not cover all changes of message %s: %s", self._message.id, reason)
        if self._recording is not None:
            async with self._writing:
                await self._store_start(self._recording)
                await self._store_patch(self._recording)
        return reason

    async def end_background(self, window: "BackgroundWindow") -> None:
        """Record and store the changes of a background command that has ended, maybe long after the step."""
        recording, message, is_stored = await self.open(), self._message, False
        try:
            try:
                await recording.end_background(window)
                async with self._recorder.access_after_run(message.session_id):
                    stored = await self._recorder.store.messages(message.session_id)
                    if any(one.info.id == message.id for one in stored):
                        async with self._writing:
                            await self._store_start(recording)
                            await self._store_patch(recording)
                        await self._recorder.store.sync()
                is_stored = True
                self.report()
            finally:
                self._recorder.background.pop(window, None)
                await recording.close_background(window, is_stored=is_stored)
        except OpencodeError as error:
            logger.warning("undo will not cover all changes of message %s: %s", message.id, error)

    async def begin_background(self, program: BackgroundProgram) -> "BackgroundWindow":
        """Record all files before a background command; raises SnapshotError, StorageError."""
        window = await (await self.open()).begin_background(program.name, program.open_files)
        self._recorder.background[window] = self
        return window

    async def end_run(self, window: "BackgroundWindow") -> None:
        """Record and store what a background command has changed by the end of the run that started it."""
        recording = await self.open()
        await self.attempt(partial(recording.end_run, window))

    async def _store_start(self, recording: "StepRecording") -> None:
        start = self._start
        if start is not None and start.snapshot != recording.before:
            self._start = start.changed(snapshot=recording.before)
            await self._recorder.store.update_part(self._start)

    async def _store_patch(self, recording: "StepRecording") -> None:
        result, part, store = recording.result, self._part, self._recorder.store
        if result is None:
            if part is not None:
                self._part = None
                await store.remove_part(part.session_id, part.message_id, part.id)
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
        await store.update_part(self._part)


class FileChangeRecorder:
    """Records the changes of files by one call; `unprotected` is the reason why undo will not revert them."""

    def __init__(self, changes: StepChanges) -> None:
        self.unprotected: str | None = None
        self._changes = changes
        self._number: int | None = None

    async def before_write(self, writes: Sequence[FileWrite], made: Sequence[Path]) -> None:
        """Record the files as they are and as they will be."""

        async def act() -> None:
            from opencode_tui.engine.snapshot.record.step_snapshots import Write  # only for steps with changes

            recording = await self._changes.open()
            given = [Write(write.path, write.content, write.mode) for write in writes]
            self._number, outside = await recording.before_write(given, made)
            if outside:
                self.unprotected = f"{', '.join(map(str, outside))}: it is outside the project"

        try:
            await self._attempt(act)
        except BaseException:
            await self._abandon()
            raise

    async def after_write(self, *, done: bool) -> None:
        """Record that the files are written, or unchanged when `done` is false."""
        number, self._number = self._number, None
        if number is None:
            return

        async def act() -> None:
            recording = await self._changes.open()
            await (recording.after_write(number) if done else recording.cancel_write(number))

        await self._attempt(act)

    def commands(self) -> AbstractAsyncContextManager[None]:
        """Return a context for the duration of a command of the call."""
        return self._commands()

    @asynccontextmanager
    async def _commands(self) -> AsyncGenerator[None]:
        is_joined = await self._attempt(self._join)
        try:
            yield
        except asyncio.CancelledError:
            # Its changes are recorded when the run is closed: an interruption must not wait for that.
            is_joined = False
            raise
        finally:
            if is_joined:
                await self._attempt(self._leave)
                self._changes.report()

    def background(self, program: BackgroundProgram) -> AbstractAsyncContextManager[None]:
        """Return a context for the duration of a background command of the call."""
        return self._background(program)

    @asynccontextmanager
    async def _background(self, program: BackgroundProgram) -> AsyncGenerator[None]:
        window: BackgroundWindow | None = None

        async def begin() -> None:
            nonlocal window
            window = await self._changes.begin_background(program)

        try:
            await self._attempt(begin)
            yield
        finally:
            if window is not None:
                await run_to_completion(self._changes.end_background(window))

    async def _abandon(self) -> None:
        number, self._number = self._number, None
        if number is not None:
            (await self._changes.open()).abandon(number)

    async def _join(self) -> None:
        await (await self._changes.open()).begin_command()

    async def _leave(self) -> None:
        await (await self._changes.open()).end_command()

    async def _attempt(self, act: Callable[[], Awaitable[object]]) -> bool:
        reason = await self._changes.attempt(act)
        self.unprotected = reason or self.unprotected
        return reason is None
