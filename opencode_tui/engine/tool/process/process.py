"""Execution of one shell command on the calling thread: its output, its timeout, and the end of all its processes.

The shell leads a session and a process group of its own; standard input is empty, output and errors share one pipe. The command is
over when the shell is, also while a process still holds the pipe; the remaining processes are ended then. A timeout gives the group
TERM and 1 s, a cancel TERM and 100 ms, then KILL; then the processes that left the group are found and ended. All this holds for a
confined command as well: the supervisor of its namespace keeps the remaining processes alive until they are found and named here.
Source: docs/internals/loop.md#runs.
"""

import math
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeVar
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.engine.sandbox.launch import Launch, run_on_thread
from opencode_tui.engine.sandbox.limits import NO_LIMITS, Limits
from opencode_tui.engine.sandbox.mounts import Mounts, MountsChangedError, child_pid, open_info
from opencode_tui.engine.sandbox.tiers.leftover import WATCH
from opencode_tui.engine.sandbox.tiers.view import VIEWS, start_inside
from opencode_tui.engine.tool.process.limit_watch import LimitWatch
from opencode_tui.engine.tool.process.process_tree import MARK, ProcessTree
from opencode_tui.programs import find_program
from opencode_tui.schema.api.limit import ReachedLimit
from opencode_tui.schema.system_error import cause_of, describe

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
_SIGNALED = 128
_READY = b"ready\n"
_UNCOVERED = (
    "\nThe command was ended: {} was replaced from outside, so that the sandbox could not hide or protect it.\n"
)
_SHOWN = "\n{} was replaced from outside while the command ran, which could read it for a moment.\n"
_FILE_TOO_LARGE = _SIGNALED + 25
"""The exit code of a shell whose program the kernel ended at the largest size of a file (SIGXFSZ)."""
_HELD_CODE = re.compile(rb"^(\d{1,3})\n\Z", re.MULTILINE)
"""The exit code that the supervisor reports, on the last line."""

Reason = Literal["exit", "timeout", "cancel", "limit"]
T = TypeVar("T")

NO_TIMEOUT_MS = 2**40
"""The timeout of a command that may run as long as the program."""

_WATCHED = """exec 3<&0
{ read -r _ <&3; read -r me _ </proc/self/stat
for path in $(grep -ls "OPENCODE_CALL=$OPENCODE_CALL" /proc/[0-9]*/environ); do
pid=${path%/environ}; pid=${pid#/proc/}
[ "$pid" != "$me" ] && kill -9 "$pid"
done
kill -9 0; } >/dev/null 2>&1 &
"$@" </dev/null 3<&-
code=$?
kill -9 $! 2>/dev/null
wait $! 2>/dev/null
exit "$code"
"""
"""Runs a program, and kills all that has the mark or is in its group when standard input is closed, as by the end of ours.

One process searches all others for the mark: one for each took minutes on a busy machine, where a command has a low priority.
"""


class Command(Struct, frozen=True):
    """A command line, its folder and its shell; `environ` is the user's environment.

    With `launch`, which runs the same line, the command is confined; then the folder and the environment are the launch's.
    With `is_watched` its process group is killed when this program is killed; a namespace always ends then. `limits` are what it
    may use.
    """

    text: str
    folder: Path
    environ: Mapping[str, str]
    timeout_ms: int
    shell: str
    launch: Launch | None = None
    is_watched: bool = False
    limits: Limits = NO_LIMITS


class Ended(Struct, frozen=True):
    """How a command ended; `exit_code` is None when it was ended by us, 128 + n when by signal n.

    `leftovers` are the command lines of processes that it had left running and that were ended, `limit` is what it reached.
    """

    reason: Reason
    exit_code: int | None
    leftovers: tuple[str, ...] = ()
    limit: ReachedLimit | None = None


def find_shell(environ: Mapping[str, str], folder: Path, chosen: str | None = None) -> str:
    """Return bash, whose grammar the permission scanner knows, else the system's shell; not one of the folder's work tree.

    `chosen` is a bash that the user prefers, a name or an absolute path.
    """
    if chosen is not None and os.path.basename(chosen) == "bash" and os.path.isabs(chosen):
        found = find_program(chosen, environ, folder)
        if found is not None:
            return os.path.realpath(found)
    return find_program("bash", environ, folder) or "/bin/sh"


def describe_failed_start(command: Command, error: OSError) -> str:
    """Return one line about a command that could not be started, with the cause and, where one is known, the remedy."""
    return f"the command could not be started in {command.folder}: {describe(error)}"


class ShellProcess:
    """One command; `run` once."""

    def __init__(self, command: Command, feed: Callable[[bytes], None], *, cancel: int) -> None:
        """`feed` gets each piece of the output; `cancel` is a descriptor that becomes readable when the command shall end."""
        self._command = command
        self._feed = feed
        self._cancel = cancel
        self._mounts = None if command.launch is None else command.launch.mounts
        self._has_ended = threading.Event()
        self._prepare()

    def _prepare(self) -> None:
        self._reason: Reason = "exit"
        self._deadline = 0.0
        self._poll = select.poll()
        self._is_open = True
        self._supervisor: _Supervisor | None = None
        self._reaper: _Reaper | None = None
        self._is_released = False
        self._uncovered: Sequence[str] = ()
        self._limits = self._command.limits.for_command(self._command.folder)
        self._mark = uuid4().hex
        launch = self._command.launch
        self._tree = ProcessTree(self._mark, is_held=launch is not None and launch.is_held)

    def files_open_for_writing(self) -> frozenset[tuple[int, int]]:
        """Return device and inode of the files that its processes can write now. For any thread, once it runs; blocks."""
        return self._tree.files_open_for_writing()

    def pause(self) -> bool:
        """Stop its processes until `resume`, and return whether none still runs. For any thread, once it runs; blocks."""
        return self._tree.pause()

    def resume(self) -> None:
        """Resume its processes. For any thread; blocks."""
        self._tree.resume()

    def run(self) -> Ended:
        """Run the command to its end and return it; raises OSError when it cannot be started.

        Where a path was replaced while its mount was made, as by an editor, it is started once more, then in no prepared view.
        """
        running = None if self._command.launch is None else self._command.launch.running
        try:
            return self._run()
        except MountsChangedError:
            self._leave_view()
            self._prepare()
            return self._run()
        finally:
            if running is not None:
                running.discard(self)
            self._has_ended.set()

    def _leave_view(self) -> None:
        """Start without a prepared view from now on: it may be old."""
        launch = self._command.launch
        if launch is not None and launch.view is not None:
            VIEWS.drop(launch.view)
            self._command = replace(self._command, launch=replace(launch, view=None))

    def _run(self) -> Ended:
        self._pipe, writing_end = os.pipe()
        self._life, life_end = _life_pipe()
        watch, watch_end = os.pipe()
        try:
            try:
                self._spawn(writing_end, life_end, watch)
            finally:
                os.close(writing_end)
                os.close(life_end)
                os.close(watch)
            return self._supervise()
        finally:
            os.close(watch_end)
            os.close(self._pipe)
            os.close(self._life)
            if self._supervisor is not None:
                self._supervisor.close()
            if self._reaper is not None:
                self._reaper.close()

    def _spawn(self, writing_end: int, life_end: int, watch: int) -> None:
        """Start the shell; its descendants inherit `life_end`, so that the pipe closes when the last one has ended.

        `watch` is the end of a pipe that closes when this program ends.
        """
        _widen(self._pipe)
        command = self._command
        line = (command.shell, "-c", "--", command.text)
        launch = command.launch or Launch(line, command.environ, command.folder)
        self._supervisor = _Supervisor(launch.filter) if launch.is_held else None
        argv = launch.argv if self._supervisor is None else launch.with_options(*self._supervisor.options)
        self._reaper = _Reaper(launch.reaper, self._mark) if launch.reaper else None
        is_watched = command.is_watched and self._supervisor is None and self._reaper is None
        watching = ("/bin/sh", "-c", _WATCHED, "sh") if is_watched else ()
        own_input = watch if is_watched else subprocess.DEVNULL

        def start() -> "subprocess.Popen[bytes]":
            if launch.confine is not None:
                launch.confine()
            if self._reaper is not None:
                return self._reaper.start(argv, launch, writing_end, life_end)
            return subprocess.Popen(
                (*watching, *argv),
                stdin=own_input if self._supervisor is None else self._supervisor.held_end,
                stdout=writing_end,
                stderr=writing_end if self._supervisor is None else self._supervisor.report_end,
                cwd=launch.folder,
                env={**launch.environ, MARK: self._mark},
                start_new_session=True,
                pass_fds=(life_end,) if self._supervisor is None else (life_end, *self._supervisor.passed),
            )

        if launch.view is not None:
            try:
                self._process = start_inside(launch.view, start, self._has_ended)
            except OSError as error:
                raise MountsChangedError(f"the prepared view cannot be entered: {cause_of(error)}") from error
        else:
            self._process = start() if launch.confine is None else run_on_thread(start)
        if self._supervisor is not None:
            self._supervisor.close_passed_ends()
        shell = self._process.pid
        if self._reaper is not None:
            shell, self._tree.reaper = self._reaper.shell(self._process, argv), shell
        if self._supervisor is None:
            self._limits.apply(shell)
        self._tree.set_shell(shell)
        if self._supervisor is None:
            self._report_running()
        self._watch = LimitWatch(self._limits, shell, launch.folder, mark=self._mark, life=self._life, tree=self._tree)

    def _supervise(self) -> Ended:
        exit_watch = _watch_exit(self._process.pid)
        reporter = self._supervisor or self._reaper
        report = None if reporter is None else reporter.report
        for descriptor in (self._pipe, self._cancel, exit_watch, report):
            if descriptor is not None:
                self._poll.register(descriptor, select.POLLIN)
        longest_wait_s = _LONGEST_WAIT_S if exit_watch is not None else _POLL_WITHOUT_PIDFD_S
        try:
            self._follow(longest_wait_s)
            leftovers = self._clear()
        finally:
            if exit_watch is not None:
                os.close(exit_watch)
            self._kill_rest()
            self._watch.close()
            shown = [] if self._mounts is None else self._mounts.finish()
        if self._supervisor is not None and not self._is_released and self._reason == "exit":
            self._check_view()
        code = self._process.returncode
        if self._reaper is not None:
            code = self._reaper.exit_code(code)
        if self._supervisor is not None:
            code = self._supervisor.exit_code(code)
            self._feed_errors(code)
        is_stopped = self._uncovered and code == _SIGNALED + signal.SIGKILL
        if named := self._uncovered if is_stopped else shown:
            self._feed((_UNCOVERED if is_stopped else _SHOWN).format(", ".join(named)).encode())
        is_own = self._reason == "exit"
        code = code if code >= 0 else _SIGNALED - code
        limit = self._watch.reached
        if is_own and code == _FILE_TOO_LARGE and self._limits.file_size:
            limit = ReachedLimit(kind="file_size", value=self._limits.file_size)
        return Ended(self._reason, code if is_own else None, leftovers if is_own else (), limit)

    def _follow(self, longest_wait_s: float) -> None:
        """Read until the shell has ended; end it after its timeout or a cancel."""
        self._deadline = time.monotonic() + self._command.timeout_ms / 1000
        while not self._has_shell_ended():
            left_s = self._deadline - time.monotonic()
            if self._reason == "exit" and self._watch.check():
                self._reason, self._deadline = "limit", math.inf
                self._watch.kill()
            elif left_s > 0:
                self._read(min(left_s, longest_wait_s, self._watch.wait_s))
            elif self._reason == "exit":
                self._terminate("timeout", TIMEOUT_GRACE_S)
            else:
                self._tree.signal_group(signal.SIGKILL)
                self._deadline = math.inf

    def _has_shell_ended(self) -> bool:
        reporter = self._supervisor or self._reaper
        return self._process.poll() is not None or (reporter is not None and reporter.is_holding)

    def _terminate(self, reason: Reason, grace_s: float) -> None:
        self._reason = reason
        if not self._end_crowd():
            self._tree.members()  # afterwards, a process that loses its parent now is still known
            self._tree.signal_group(signal.SIGTERM)
        self._deadline = time.monotonic() + grace_s

    def _end_crowd(self) -> list[str]:
        return self._watch.end_crowd() if sys.platform == "linux" and self._tree.may_be_crowded else []

    def _kill_rest(self) -> None:
        """End the shell; with a supervisor, end it and so the whole namespace, with a reaper, all that is below it."""
        if self._process.poll() is None:
            self._tree.signal_group(signal.SIGKILL)
            if self._reaper is not None:
                self._reaper.let_go()
            self._process.wait()

    def _clear(self) -> tuple[str, ...]:
        """End the remaining processes, and read the rest of the pipe."""
        if self._supervisor is not None and self._process.poll() is not None:
            leftovers: list[str] = []  # nothing outlives its namespace
        else:
            leftovers = self._end_crowd() + self._end_leftovers()
        if self._supervisor is not None:
            self._kill_rest()
        leftovers += self._end_hidden()
        self._drain(quiet_s=_QUIET_S, limit_s=_READ_REST_S if self._reason == "exit" else _QUIET_S)
        return tuple(leftovers)

    def _end_leftovers(self) -> list[str]:
        """End the processes that outlive the shell and return their command lines; in time, they may end by themselves."""
        now = time.monotonic()
        if self._reason == "exit":
            if self._supervisor is None:
                self._drain(quiet_s=FINISH_S, limit_s=FINISH_S)
            else:  # the supervisor keeps the pipe open
                while time.monotonic() < now + FINISH_S and self._tree.members():
                    self._drain(quiet_s=_RETRY_S, limit_s=_RETRY_S)
            patience_s = now + FINISH_S - time.monotonic()
            return self._tree.end(patience_s=patience_s, grace_s=CANCEL_GRACE_S)
        grace_s = 0.0 if self._deadline == math.inf else self._deadline - now
        return self._tree.end(patience_s=0, grace_s=grace_s)

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
            elif self._mounts is not None and descriptor == self._mounts.descriptor:
                self._check_mounts(self._mounts)
            elif self._reaper is not None and descriptor == self._reaper.report:
                if not self._reaper.read():
                    self._poll.unregister(descriptor)
            elif self._supervisor is None or descriptor != self._supervisor.report:
                pass  # the process has ended
            elif not self._supervisor.read():
                self._poll.unregister(descriptor)
            elif self._supervisor.is_ready and not self._is_released:
                self._release(self._supervisor)

    def _report_running(self) -> None:
        if self._command.launch is not None and self._command.launch.running is not None:
            self._command.launch.running.add(self)

    def _release(self, supervisor: "_Supervisor") -> None:
        """Let the supervisor start the program, if its mounts are those that were planned."""
        if self._reason != "exit":  # it is being ended, and may be gone
            return
        self._is_released = True
        pid = supervisor.pid()
        self._tree.supervisor = pid
        self._limits.apply(pid)
        if self._mounts is not None:
            launch = self._command.launch
            self._mounts.verify(pid, is_prepared=launch is not None and launch.view is not None)
            self._poll.register(self._mounts.descriptor or 0, select.POLLPRI)
        supervisor.release()
        self._report_running()

    def _check_mounts(self, mounts: Mounts) -> None:
        """Cover files that were replaced outside again, else end the command."""
        if not mounts.may_go_on():
            self._uncovered = mounts.uncovered
            self._tree.signal_group(signal.SIGKILL)

    def _check_view(self) -> None:
        """Raise MountsChangedError where nothing was started in a prepared view: bubblewrap may lack a path there."""
        launch = self._command.launch
        if launch is not None and launch.view is not None:
            raise MountsChangedError("the prepared view is old")

    def _feed_errors(self, code: int) -> None:
        """Add what bubblewrap or the supervisor reports when the shell could not start; not how a signal ended it."""
        assert self._supervisor is not None
        while _is_ready(self._supervisor.report, 0) and self._supervisor.read():
            pass
        if code < _SIGNALED and (text := self._supervisor.errors):
            self._feed(text)

    def _read_pipe(self) -> None:
        data = os.read(self._pipe, _PIECE_BYTES)
        if data:
            self._feed(data)
        else:
            self._poll.unregister(self._pipe)
            self._is_open = False


class _Supervisor:
    """The pipes to the supervisor of a namespace; see `hold` in `engine/sandbox/tiers/bubblewrap.py`."""

    def __init__(self, system_calls: bytes) -> None:
        options = WATCH.options()
        self.held_end, self._hold = os.pipe()
        self.report, self.report_end = os.pipe()
        self.filter, filter_end = os.pipe()
        os.write(filter_end, system_calls)
        os.close(filter_end)
        self._info = open_info()
        self._text = b""
        self.passed = (self.filter, self._info)
        """The descriptors that `options` name."""
        self.options = ("--seccomp", str(self.filter), "--info-fd", str(self._info), *options)
        self._passed = [self.held_end, self.report_end, self.filter]

    def close_passed_ends(self) -> None:
        """Close the ends that the supervisor inherited."""
        while self._passed:
            os.close(self._passed.pop())

    def close(self) -> None:
        """Close all pipes; a supervisor that still holds its namespace ends."""
        self.close_passed_ends()
        os.close(self._hold)
        os.close(self.report)
        os.close(self._info)

    def read(self) -> bool:
        """Read what was reported; return whether more may come. Blocks until something does."""
        data = os.read(self.report, _PIECE_BYTES)
        self._text += data
        return bool(data)

    @property
    def is_ready(self) -> bool:
        """Whether the namespace is made, in which the supervisor waits for `release`."""
        return self._text.startswith(_READY)

    def pid(self) -> int:
        """Return the supervisor's process id outside its namespace. Raises OSError where bubblewrap does not report it."""
        return child_pid(self._info)

    def release(self) -> None:
        """Let the supervisor start the program."""
        os.write(self._hold, b"\n")

    @property
    def is_holding(self) -> bool:
        """Whether the shell has ended and left processes."""
        return _HELD_CODE.search(self._text) is not None

    def exit_code(self, code: int) -> int:
        """Return the exit code of the shell, given that of bubblewrap."""
        match = _HELD_CODE.search(self._text)
        return code if match is None else int(match[1])

    @property
    def errors(self) -> bytes:
        """What was reported besides the exit code."""
        return _HELD_CODE.sub(b"", self._text).removeprefix(_READY)


class _Reaper:
    """The pipes to the reaper of a command; see `engine/sandbox/tiers/reaper.py`."""

    def __init__(self, argv: tuple[str, ...], mark: str) -> None:
        self._argv = argv
        self._mark = mark
        self._held_end, self._hold = os.pipe()
        self.report, self._report_end = os.pipe()
        self._open = {self._held_end, self._hold, self.report, self._report_end}
        self._text = b""

    def start(self, argv: Sequence[str], launch: Launch, output: int, life: int) -> "subprocess.Popen[bytes]":
        """Start the reaper with a command line. Raises OSError."""
        return subprocess.Popen(
            (*self._argv, str(self._report_end), MARK, self._mark, *argv),
            stdin=self._held_end,
            stdout=output,
            stderr=output,
            cwd=launch.folder,
            env=launch.environ,
            start_new_session=True,
            pass_fds=(life, self._report_end),
        )

    def shell(self, process: "subprocess.Popen[bytes]", argv: Sequence[str]) -> int:
        """Return the process of the command, which has started. Raises OSError where it could not be. Blocks until then."""
        self._close(self._held_end)
        self._close(self._report_end)
        while b"\n" not in self._text and self.read():
            pass
        line, _, self._text = self._text.partition(b"\n")
        if line.startswith(b"P"):
            return int(line[1:])
        process.wait()
        if not line.startswith(b"E"):
            raise OSError(f"the process that watches over it ended with {process.returncode}")
        raise OSError(int(line[1:]), os.strerror(int(line[1:])), argv[0])

    def read(self) -> bool:
        """Read what was reported; return whether more may come. Blocks until something does."""
        data = os.read(self.report, _PIECE_BYTES)
        self._text += data
        return bool(data)

    @property
    def is_holding(self) -> bool:
        """Whether the shell has ended."""
        return self._text.endswith(b"\n")

    def exit_code(self, code: int) -> int:
        """Return the exit code of the shell, given that of the reaper, which a command may have ended."""
        while _is_ready(self.report, 0) and self.read():
            pass
        return int(self._text[1:]) if self.is_holding else code

    def let_go(self) -> None:
        """Let the reaper kill all that is left, and end."""
        self._close(self._hold)

    def close(self) -> None:
        """Close all pipes."""
        for descriptor in tuple(self._open):
            self._close(descriptor)

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            os.close(descriptor)


def _is_ready(pipe: int, wait_s: float) -> bool:
    ready = select.poll()
    ready.register(pipe, select.POLLIN)
    return bool(ready.poll(wait_s * 1000))


def _widen(pipe: int) -> None:
    """Enlarge the buffer of the pipe, where the system supports it."""
    if sys.platform == "linux":
        import fcntl  # only where a command starts

        with suppress(OSError):  # the user's share of large pipes may be used up; the usual size works too
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _life_pipe() -> tuple[int, int]:
    """Return both ends of a pipe; the writing end has a number that no script uses."""
    reading_end, writing_end = os.pipe()
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
