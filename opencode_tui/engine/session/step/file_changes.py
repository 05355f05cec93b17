"""What a step changes in files: recorded while its tools work, stored as its one patch part.

Nothing is loaded or looked at for a step that changes nothing. The patch part is there, with what the files are to become, before
the first of them changes, and grows with the step; so it outlives a crash. What cannot be recorded never stops a step: the call
says in its metadata then, as `unprotected`, why undo will not bring its changes back. Source: SPEC, section 5.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.revert.retention import SnapshotRetention
from opencode_tui.engine.tool.tool import FileWrite
from opencode_tui.schema.error import NotFoundError, OpencodeError
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import PatchPart, StepStartPart

if TYPE_CHECKING:
    from opencode_tui.engine.snapshot.record.recording import CommandWindow, StepRecording
    from opencode_tui.engine.snapshot.snapshot import Snapshots

logger = logging.getLogger(__name__)


class StepRecorder:
    """Begins the records of the steps of one folder's sessions."""

    def __init__(
        self,
        *,
        snapshots: "Lazy[Snapshots]",
        store: SessionStore,
        identifier: Identifier,
        retention: SnapshotRetention,
    ) -> None:
        self._snapshots = snapshots
        self.store = store
        self.identifier = identifier
        self._retention = retention
        self._families: dict[str, CommandWindow] = {}

    def begin(self, message: AssistantMessage) -> "StepChanges":
        """Return the record of a step, empty."""
        return StepChanges(self, message)

    async def recording(self, message: AssistantMessage) -> "StepRecording":
        """Return a new recording for a step; raises SnapshotError when there are no snapshots here."""
        from opencode_tui.engine.snapshot.record.recording import (  # only for steps that change something
            CommandWindow,
            StepRecording,
        )

        snapshots = self._snapshots.get()
        if snapshots.unavailable is None:
            self._retention.schedule()
        name = await self._root_session(message.session_id)
        family = self._families.setdefault(name, CommandWindow(name))
        return StepRecording(snapshots.lock, session=message.session_id, message=message.id, window=family)

    async def recover(self, session_id: str) -> None:
        """Name what commands changed whose process died, in this session or in one that worked for it. Needs its run lock.

        Each such step gets a patch part without a state after it: nobody saw that, so undo names its files and leaves them alone.
        Where that is not possible the log tells.
        """
        try:
            await self._recover(session_id)
        except OpencodeError as error:
            logger.warning("session %s: what a killed command changed is not known: %s", session_id, error)

    async def _recover(self, session_id: str) -> None:
        from opencode_tui.engine.snapshot.record.recording import (  # after a crash alone
            collect_orphaned_steps,
            sessions_of_steps,
        )

        snapshots, root = self._snapshots.get(), await self._root_session(session_id)
        if snapshots.unavailable is not None:
            return
        sessions = await sessions_of_steps(snapshots.lock)
        working = self._families[root].running_sessions if root in self._families else set[str]()
        family = {one for one in sessions - working if await self._root_session(one) == root}
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

    async def _root_session(self, session_id: str) -> str:
        """Return the session at whose request all its children and theirs work."""
        seen = {session_id}
        while True:
            try:
                parent = (await self.store.get(session_id)).parent_id
            except NotFoundError:
                return session_id
            if parent is None or parent in seen:
                return session_id
            session_id = parent
            seen.add(parent)


class StepChanges:
    """The record of one step. Nothing here raises, except a cancel."""

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
        """Tell whether everything that is known of the step's changes is stored."""
        return self._recording is None or not self._recording.is_open

    @property
    def snapshot(self) -> str | None:
        """Return the state of the files after the step; None where nothing was looked at."""
        return self._recording.after if self._recording is not None else None

    def begin(self, start: StepStartPart) -> None:
        """Let the part get the state of the files before the step, once something is about to change."""
        self._start = start

    def watch(self) -> "FileChangeRecorder":
        """Return the watch over one call of the step."""
        return FileChangeRecorder(self)

    async def store_interrupted(self) -> None:
        """Record and store what commands changed that were interrupted; they have ended."""
        recording = self._recording
        if recording is not None and recording.is_open:
            await self.attempt(recording.finalize)

    async def open(self) -> "StepRecording":
        """Return the step's recording, made by the first call that changes something; raises SnapshotError."""
        async with self._opening:
            if self._recording is None:
                self._recording = await self._recorder.recording(self._message)
            return self._recording

    async def attempt(self, act: Callable[[], Awaitable[object]]) -> str | None:
        """Do something with the recording, store the patch as it is then, and return why it could not be done."""
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
    """Sees what one call does to files; `unprotected` says why undo will not bring back its changes."""

    def __init__(self, changes: StepChanges) -> None:
        self.unprotected: str | None = None
        self._changes = changes
        self._number: int | None = None

    async def before_write(self, writes: Sequence[FileWrite], made: Sequence[Path]) -> None:
        """Record the files as they are and as they will be."""

        async def act() -> None:
            from opencode_tui.engine.snapshot.record.recording import Write  # only for steps that change something

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
        """Note that the files are written, or as before."""
        number, self._number = self._number, None
        if number is None:
            return

        async def act() -> None:
            recording = await self._changes.open()
            await (recording.after_write(number) if done else recording.cancel_write(number))

        await self._attempt(act)

    def commands(self) -> AbstractAsyncContextManager[None]:
        """Return a context around a command of the call."""
        return self._commands()

    @asynccontextmanager
    async def _commands(self) -> AsyncGenerator[None]:
        is_joined = await self._attempt(self._join)
        try:
            yield
        except asyncio.CancelledError:
            # What it changed is recorded when the run is closed: an interruption must not wait for it.
            is_joined = False
            raise
        finally:
            if is_joined:
                await self._attempt(self._leave)

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
