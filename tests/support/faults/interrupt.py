"""Interrupts the command with SIGINT during a stream, a tool or a wait, and measures how it ends."""

import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.provider.model_script import failure
from tests.support.provider.model_server import ModelServer
from tests.support.sessions.stored import read_store
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.waiting import PATIENCE_S

STREAM = "count <<slow 20>> <<words 1000>>"
TOOL = 'wait <<tool bash {"command":"sleep 30.125","description":"Wait"}>>'


@dataclass(frozen=True, slots=True)
class Interrupted:
    """How a run ended: exit code, milliseconds from the signal to its end, and what is wrong afterwards."""

    situation: str
    code: int
    milliseconds: float
    complaints: list[str]


@dataclass(frozen=True, slots=True)
class Interruption:
    """Brings a run into a situation and interrupts it there, `later_s` after the situation has begun."""

    line: CommandLine
    server: ModelServer
    storage: Path

    def stream(self, later_s: float) -> Interrupted:
        """While the model writes."""
        return self._interrupt("stream", STREAM, self._has_request, later_s)

    def tool(self, later_s: float) -> Interrupted:
        """While a command of the bash tool runs."""
        return self._interrupt("tool", TOOL, lambda _: self._is_running("sleep 30.125"), later_s)

    def retry(self, later_s: float) -> Interrupted:
        """While it waits to ask a failing provider again."""
        self.server.script(failure(500, "out of order", retry_after="20"))
        return self._interrupt("retry", "hello", self._has_request, 0.15 + later_s)

    def _interrupt(self, situation: str, message: str, has_begun: Callable[[int], bool], later_s: float) -> Interrupted:
        before = len(self.server.requests)
        process = self.line.start_turn(message)
        try:
            self._wait_for(lambda: has_begun(before), process)
            time.sleep(later_s)
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            code = process.wait(PATIENCE_S)
            took = (time.monotonic() - begin) * 1000
        finally:
            kill_session(process)
        return Interrupted(situation, code, took, self._complaints())

    def _has_request(self, before: int) -> bool:
        return len(self.server.requests) > before

    def _is_running(self, command: str) -> bool:
        return any(command in process and "opencode_tui" not in process for process in self.line.survivors())

    def _wait_for(self, has_begun: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not has_begun():
            assert process.poll() is None and time.monotonic() < deadline, "the run never came that far"
            time.sleep(0.01)

    def _complaints(self) -> list[str]:
        stored = read_store(self.storage)
        answer = stored.of_kind("message")[-1]
        error = answer.get("error", {}).get("name")
        return [
            *(f"a process is left: {process}" for process in self.line.survivors()),
            *stored.damaged,
            *(f"still open: {what}" for what in stored.unfinished),
            *([] if error == "MessageAbortedError" else [f"the answer's error is {error}"]),
        ]
