"""The first process of a command in tier B: all that the command starts stays below it, and ends with it.

Its source is run by `python -c`, confined as the command is. What a command leaves with two forks, a session of its own, an empty
environment and closed files becomes its child, as it is a subreaper; so it is found, and when this program ends, also by a kill,
standard input does, and everything below is killed. A command cannot signal it: Landlock (6, Linux 6.12) lets it signal only what
it has started itself. The arguments are the descriptor for reports, the name and the value of a variable, and the command line.

It reports `P` and the process of the command, or `E` and the number of the error that kept it from starting; then `X` and the exit
code (128 + n for a signal n) when that process has ended. It ends when nothing is left below.
"""

import ctypes
import os
import select
import signal
import sys
from contextlib import suppress
from types import FrameType

_CHILD_SUBREAPER, _NO_NEW_PRIVILEGES = 36, 38
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_SIGNALS = 2
"""`LANDLOCK_SCOPE_SIGNAL`."""
_IGNORED = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGALRM,
)


def main(report: int, name: str, value: str, *argv: str) -> None:
    """Run a command and end with all that it has started."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    woken, waking = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, _nothing)
    signal.set_wakeup_fd(waking)
    failed, failing = os.pipe()
    child = os.fork()
    if not child:
        _start(libc, failing, report, {**os.environ, name: value}, argv)
    os.close(failing)
    if data := os.read(failed, 16):
        os.write(report, b"E%d\n" % int(data))
        os._exit(127)
    os.write(report, b"P%d\n" % child)
    with suppress(OSError):
        os.dup2(os.open("/dev/null", os.O_RDWR), 1)
        os.dup2(1, 2)
    for descriptor in range(3, 1024):
        if descriptor not in (report, woken, waking):
            with suppress(OSError):
                os.close(descriptor)
    watch = select.poll()
    for descriptor in (0, woken):
        watch.register(descriptor, select.POLLIN)
    while _reap(child, report):
        if any(descriptor == 0 for descriptor, _ in watch.poll()):
            _end_all()
        with suppress(BlockingIOError):
            os.read(woken, 4096)


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Handle a signal that only wakes."""


def _start(libc: ctypes.CDLL, failing: int, report: int, environ: dict[str, str], argv: tuple[str, ...]) -> None:
    """Become the command, in a session of its own; reports the number of an error."""
    try:
        os.set_inheritable(failing, False)
        os.set_inheritable(report, False)
        os.setsid()
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        _limit_signals(libc)
        signal.set_wakeup_fd(-1)
        for number in (*_IGNORED, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(argv[0], argv, environ)
    except OSError as error:
        os.write(failing, b"%d" % (error.errno or 1))
    finally:
        os._exit(127)


def _limit_signals(libc: ctypes.CDLL) -> None:
    """Let this process signal only what is in a domain of its own; kernels before Linux 6.12 do not know that."""
    attributes = (ctypes.c_uint64 * 3)(0, 0, _SIGNALS)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.sizeof(attributes), 0)
    if ruleset >= 0:
        libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        libc.syscall(_RESTRICT_SELF, ruleset, 0)
        os.close(ruleset)


def _reap(child: int, report: int) -> bool:
    """Collect what has ended, and report the command's exit code; return whether something is left."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if not pid:
            return True
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            with suppress(OSError):
                os.write(report, b"X%d\n" % (code if code >= 0 else 128 - code))


def _end_all() -> None:
    """Kill everything below until nothing is left, and end."""
    while True:
        for pid in _below():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            os._exit(0)
        select.select([], [], [], 0.001)


def _below() -> list[int]:
    """Return the processes below this one."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                children.setdefault(int(file.read().rpartition(b")")[2].split()[1]), []).append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        born = children.pop(waiting.pop(), [])
        found += born
        waiting += born
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
