"""Execution of one shell command on the calling thread: its output, its timeout, and the end of all its processes.

The shell leads a session and a process group of its own; standard input is empty, output and errors share one pipe. The command is
over when the shell is, also while a process still holds the pipe; the remaining processes are ended then. A timeout gives the group
TERM and 1 s, a cancel TERM and 100 ms, then KILL; then the processes that left the group are found and ended. Source: SPEC, section
3; performance.md, section 6.
"""

import math
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal
from uuid import uuid4

from msgspec import Struct

from opencode_tui.engine.tool.process.process_tree import MARK, ProcessTree

TIMEOUT_GRACE_S = 1.0
CANCEL_GRACE_S = 0.1
FINISH_S = 0.1
"""How long the shell's remaining processes may take to end by themselves, as `tee` in `>(tee log)` does."""

_PIPE_BYTES = 1024 * 1024
_PIECE_BYTES = 128 * 1024
_POLL_WITHOUT_PIDFD_S = 0.02
_FIRST_HIGH = 100
_LONGEST_WAIT_S = 3_600.0
_QUIET_S = 0.05
_HIDDEN_S = 0.1
_RETRY_S = 0.005
_READ_REST_S = 5.0
"""Limit for reading what is in the pipe when all writers are gone: a slow disk must not cost the end of the output."""
_WITHHELD = frozenset({"OPENCODE_SERVER_PASSWORD", "PYDANTIC_DISABLE_PLUGINS"})
"""Variables for this program alone; the user's own are passed on."""

Reason = Literal["exit", "timeout", "cancel"]


class Command(Struct, frozen=True):
    """A command line, its folder and its shell; `environ` is the user's environment."""

    text: str
    folder: Path
    environ: Mapping[str, str]
    timeout_ms: int
    shell: str


class Ended(Struct, frozen=True):
    """How a command ended; `exit_code` is None when it was ended by us, 128 + n when by signal n.

    `leftovers` are the command lines of processes that it had left running and that were ended.
    """

    reason: Reason
    exit_code: int | None
    leftovers: tuple[str, ...] = ()


def find_shell(environ: Mapping[str, str]) -> str:
    """Return bash, whose grammar the permission scanner knows, else the system's shell."""
    return shutil.which("bash", path=environ.get("PATH")) or "/bin/sh"


class ShellProcess:
    """One command; `run` once."""

    def __init__(self, command: Command, feed: Callable[[bytes], None], *, cancel: int) -> None:
        """`feed` gets each piece of the output; `cancel` is a descriptor that becomes readable when the command shall end."""
        self._command = command
        self._feed = feed
        self._cancel = cancel
        self._reason: Reason = "exit"
        self._deadline = 0.0
        self._poll = select.poll()
        self._is_open = True

    def run(self) -> Ended:
        """Run the command to its end and return it; raises OSError when it cannot be started."""
        self._pipe, writing_end = os.pipe()
        self._life, life_end = _life_pipe()
        try:
            try:
                self._spawn(writing_end, life_end)
            finally:
                os.close(writing_end)
                os.close(life_end)
            return self._supervise()
        finally:
            os.close(self._pipe)
            os.close(self._life)

    def _spawn(self, writing_end: int, life_end: int) -> None:
        """Start the shell; its descendants inherit `life_end`, so that the pipe closes when the last one has ended."""
        _widen(self._pipe)
        mark = uuid4().hex
        self._tree = ProcessTree(mark)
        kept = {name: value for name, value in self._command.environ.items() if name not in _WITHHELD}
        self._process = subprocess.Popen(
            [self._command.shell, "-c", "--", self._command.text],
            stdin=subprocess.DEVNULL,
            stdout=writing_end,
            stderr=writing_end,
            cwd=self._command.folder,
            env={**kept, MARK: mark},
            start_new_session=True,
            pass_fds=(life_end,),
        )
        self._tree.set_shell(self._process.pid)

    def _supervise(self) -> Ended:
        exit_watch = _watch_exit(self._process.pid)
        for descriptor in (self._pipe, self._cancel, exit_watch):
            if descriptor is not None:
                self._poll.register(descriptor, select.POLLIN)
        longest_wait_s = _LONGEST_WAIT_S if exit_watch is not None else _POLL_WITHOUT_PIDFD_S
        try:
            self._follow(longest_wait_s)
            leftovers = self._clear()
        finally:
            if exit_watch is not None:
                os.close(exit_watch)
            if self._process.poll() is None:
                self._tree.signal_group(signal.SIGKILL)
                self._process.wait()
        code = self._process.returncode
        is_own = self._reason == "exit"
        return Ended(self._reason, (code if code >= 0 else 128 - code) if is_own else None, leftovers if is_own else ())

    def _follow(self, longest_wait_s: float) -> None:
        """Read until the shell has ended; kill it after its timeout or a cancel."""
        self._deadline = time.monotonic() + self._command.timeout_ms / 1000
        while self._process.poll() is None:
            left_s = self._deadline - time.monotonic()
            if left_s > 0:
                self._read(min(left_s, longest_wait_s))
            elif self._reason == "exit":
                self._terminate("timeout", TIMEOUT_GRACE_S)
            else:
                self._tree.signal_group(signal.SIGKILL)
                self._deadline = math.inf

    def _terminate(self, reason: Reason, grace_s: float) -> None:
        self._reason = reason
        self._tree.members()  # afterwards, a process that loses its parent now is still known
        self._tree.signal_group(signal.SIGTERM)
        self._deadline = time.monotonic() + grace_s

    def _clear(self) -> tuple[str, ...]:
        """End the remaining processes, and read the rest of the pipe."""
        now = time.monotonic()
        if self._reason == "exit":
            self._drain(quiet_s=FINISH_S, limit_s=FINISH_S)
            patience_s = now + FINISH_S - time.monotonic()
            leftovers = self._tree.end(patience_s=patience_s, grace_s=CANCEL_GRACE_S)
        else:
            grace_s = 0.0 if self._deadline == math.inf else self._deadline - now
            leftovers = self._tree.end(patience_s=0, grace_s=grace_s)
        leftovers += self._end_hidden()
        self._drain(quiet_s=_QUIET_S, limit_s=_READ_REST_S if self._reason == "exit" else _QUIET_S)
        return tuple(leftovers)

    def _end_hidden(self) -> list[str]:
        """End the processes that are found by the inherited pipe alone; repeated, because they may fork between two scans."""
        names: list[str] = []
        deadline = time.monotonic() + _HIDDEN_S
        while not _is_ready(self._life, _RETRY_S) and time.monotonic() < deadline:
            names += self._tree.end_holders(self._life)
        return names

    def _drain(self, *, quiet_s: float, limit_s: float) -> bool:
        """Read until the pipe is closed, nothing comes for a while, or the time is over; return whether it is closed."""
        deadline = time.monotonic() + limit_s
        while self._is_open and time.monotonic() < deadline and _is_ready(self._pipe, quiet_s):
            self._read_pipe()
        return not self._is_open

    def _read(self, wait_s: float) -> None:
        """Wait for output, the end or a cancel, whichever comes first, and handle it."""
        for descriptor, _ in self._poll.poll(wait_s * 1000):
            if descriptor == self._pipe:
                self._read_pipe()
            elif descriptor == self._cancel:
                self._poll.unregister(self._cancel)
                self._terminate("cancel", CANCEL_GRACE_S)

    def _read_pipe(self) -> None:
        data = os.read(self._pipe, _PIECE_BYTES)
        if data:
            self._feed(data)
        else:
            self._poll.unregister(self._pipe)
            self._is_open = False


def _is_ready(pipe: int, wait_s: float) -> bool:
    ready = select.poll()
    ready.register(pipe, select.POLLIN)
    return bool(ready.poll(wait_s * 1000))


def _widen(pipe: int) -> None:
    """Enlarge the buffer of the pipe, where the system supports it."""
    if sys.platform == "linux":
        import fcntl  # absent on Windows

        with suppress(OSError):  # the user's share of large pipes may be used up; the usual size works too
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _life_pipe() -> tuple[int, int]:
    """Return both ends of a pipe; the writing end has a number that no script uses."""
    reading_end, writing_end = os.pipe()
    if sys.platform != "win32":
        import fcntl  # as above

        with suppress(OSError):  # where so high a number is not allowed, the low one does
            high = fcntl.fcntl(writing_end, fcntl.F_DUPFD_CLOEXEC, _FIRST_HIGH)
            os.close(writing_end)
            return reading_end, high
    return reading_end, writing_end


def _watch_exit(pid: int) -> int | None:
    """Return a descriptor that becomes readable when the process ends, where the system has such a thing."""
    if sys.platform == "linux":
        with suppress(OSError):
            return os.pidfd_open(pid)
    return None
