"""A command that runs on a thread of its own, for the event loop to wait for and to cancel.

The end of a command takes several blocking steps that no second cancel may interrupt; on a thread nothing can.
"""

import asyncio
import os
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.tool.command_output import CommandOutput
from opencode_tui.engine.tool.process import Command, Ended, ShellProcess


class RunningCommand:
    """Runs a command while its context is entered; leaving it ends the command within 300 ms, with all that it started."""

    def __init__(self, command: Command, output: CommandOutput) -> None:
        self._command = command
        self._output = output

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[Ended] = self._loop.create_future()
        self._cancel, self._cancel_end = os.pipe()
        self._thread = threading.Thread(target=self._work, name="shell-command")
        self._thread.start()
        return self

    async def wait(self, timeout_s: float) -> Ended | None:
        """Return the end, or None when the command still runs after that time. Raises OSError when it could not start."""
        await asyncio.wait({self._ended}, timeout=timeout_s)
        return self._ended.result() if self._ended.done() else None

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self._ended.done():
                os.write(self._cancel_end, b"!")
                await run_to_completion(asyncio.wait({self._ended}))
        finally:
            self._ended.exception()
            self._thread.join()
            self._output.close()
            os.close(self._cancel)
            os.close(self._cancel_end)

    def _work(self) -> None:
        try:
            self._end, self._failure = ShellProcess(self._command, self._output, cancel=self._cancel).run(), None
        except Exception as error:  # noqa: BLE001 - raised again by `wait`, on the event loop
            self._failure = error
        with suppress(RuntimeError):  # the loop was closed without leaving the context; nobody waits any more
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        if self._failure is None:
            self._ended.set_result(self._end)
        else:
            self._ended.set_exception(self._failure)
