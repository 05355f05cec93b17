"""The handle by which one call of a tool records its changes of files in the recording of its step.

Every tool has one, so this imports nothing of the snapshots: they are loaded by the first call that changes a file. A failure to
record never stops a call: `unprotected` then says why undo will not revert its changes.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.snapshot.record.write import BackgroundProgram, FileWrite
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.system_error import describe

if TYPE_CHECKING:
    from opencode_tui.engine.snapshot.record.recording import BackgroundWindow, Moment, StepRecording
    from opencode_tui.engine.snapshot.scan.lost_files import LostFile, LostPath

logger = logging.getLogger(__name__)


class CallChanges:
    """Records the changes of files by one call; `unprotected` is the reason why undo will not revert them.

    No method raises errors of recording. A failure to store the step's patch is raised before something changes; what has changed
    already is stored later.
    """

    def __init__(self, message_id: str, open_recording: "Callable[[], Awaitable[StepRecording]]") -> None:
        """`open_recording` returns the recording of the call's step, which the first call that changes something creates."""
        self.unprotected: str | None = None
        self.recording: Callable[[], AbstractContextManager[None]] = nullcontext
        """Entered while files are recorded, so that the time of the call itself is known."""
        self._message = message_id
        self._open = open_recording
        self._number: int | None = None

    async def before_write(self, writes: Sequence[FileWrite], made: Sequence[Path]) -> None:
        """Record the files as they are and as they will be; `made` are folders that were made for the new contents.

        Called when the new contents are in temporary files, before the first file changes.
        """

        async def act(recording: "StepRecording") -> None:
            self._number, outside = await recording.before_write(writes, made)
            if outside:
                self.unprotected = f"{', '.join(map(str, outside))}: it is outside the project"

        try:
            await self._attempt(act)
        except BaseException:
            number, self._number = self._number, None
            if number is not None:
                (await self._open()).abandon(number)
            raise

    async def after_write(self, *, done: bool) -> None:
        """Record that all files have their new contents, or with `done` false that all are unchanged."""
        number, self._number = self._number, None
        if number is None:
            return

        async def act(recording: "StepRecording") -> None:
            await (recording.after_write(number) if done else recording.cancel_write(number))

        await self._attempt(act, moment="written")

    async def find_lost(self, lost: "Sequence[LostPath]") -> "list[LostFile]":
        """Return the files that a command would remove or overwrite, none where that cannot be found out."""
        found: list[LostFile] = []

        async def act() -> None:
            found.extend(await (await self._open()).find_lost(lost))

        await attempt(act, self._message)
        return found

    def commands(self, lost: "Sequence[LostPath]" = ()) -> AbstractAsyncContextManager[None]:
        """Return a context for starting programs: changes while it is entered count as the call's.

        What is at and below the paths `lost`, which the programs are about to discard, is kept before.
        """
        return self._commands(lost)

    @asynccontextmanager
    async def _commands(self, lost: "Sequence[LostPath]") -> AsyncGenerator[None]:
        is_joined = await self._attempt(lambda recording: recording.begin_command(lost))
        try:
            yield
        except asyncio.CancelledError:
            # Its changes are recorded when the run is closed: an interruption must not wait for that.
            is_joined = False
            raise
        finally:
            if is_joined:
                await self._attempt(lambda recording: recording.end_command(), moment="command")

    def background(self, program: BackgroundProgram) -> AbstractAsyncContextManager[None]:
        """Return the same for a program that outlives the call: changes that others are known to make do not count."""
        return self._background(program)

    @asynccontextmanager
    async def _background(self, program: BackgroundProgram) -> AsyncGenerator[None]:
        window: BackgroundWindow | None = None

        async def begin(recording: "StepRecording") -> None:
            nonlocal window
            window = await recording.begin_background(program)

        try:
            await self._attempt(begin, moment="background")
            yield
        finally:
            if window is not None:
                end = partial(window.step.end_background, window)
                await run_to_completion(attempt(end, self._message))

    async def _attempt(
        self, act: "Callable[[StepRecording], Awaitable[object]]", *, moment: "Moment" = "write"
    ) -> bool:
        """Run an action on the recording and store the step's patch; returns whether it succeeded."""
        recording: StepRecording | None = None

        async def record() -> None:
            nonlocal recording
            recording = await self._open()
            await act(recording)

        with self.recording():
            reason = await attempt(record, self._message)
        self.unprotected = reason or self.unprotected
        if recording is not None:
            await recording.store(moment)
        return reason is None


async def attempt(act: Callable[[], Awaitable[object]], message_id: str) -> str | None:
    """Run an action that records changes; returns the reason of a failure, which is logged, None on success."""
    try:
        await act()
    except OpencodeError as error:
        reason = str(error)
    except OSError as error:
        reason = describe(error)
    except Exception as error:
        logger.exception("recording the changes of message %s failed", message_id)
        reason = f"{type(error).__name__}: {error}"
    else:
        return None
    logger.warning("undo will not cover all changes of message %s: %s", message_id, reason)
    return reason
