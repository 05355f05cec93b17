"""The processes that one shell command has started, and their termination.

A process belongs to the tree when it runs in the shell's session, descends from a known member, or carries the call's mark in its
environment: this finds background jobs, `nohup`, `setsid` and double forks. On Linux, `end_holders` finds what has left all that by
a pipe that it inherited. What has closed every descriptor as well is below the `reaper` of a confined command. Not found: such a
process of an unconfined one, and one whose id belonged to a process from before the call.

Everything here blocks for some milliseconds and belongs on a thread.
"""

import os
import signal
import stat
import sys
import time
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress

import psutil

MARK = "OPENCODE_CALL"
"""Environment variable that every process of a call inherits; its value is unique."""

_RETRY_S = 0.005
_MOST_SCANS = 2
_KILL_WITHIN_S = 1.0
_PAUSE_S = 2.0
_DEAD = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
_NAME_CHARACTERS = 60
CROWD = 500
"""So many processes are not ended one by one: they could start others faster than that."""


class ProcessTree:
    """The processes of one call. Create it before the shell starts: earlier processes do not belong to it."""

    def __init__(self, mark: str, *, is_held: bool = False) -> None:
        """With `is_held`, the session of the started process and that of `supervisor` supervise the shell: they are no members."""
        self._mark = mark
        self.is_held = is_held
        self._shell = 0
        self.supervisor = 0
        """The process that leads the session of a shell in a namespace, once it is known; else the started one."""
        self.reaper = 0
        """The process whose children are all members, other than itself, once it is known."""
        self._older = frozenset(psutil.pids())
        self._known: set[psutil.Process] = set()
        self._dead: set[psutil.Process] = set()
        self._named: set[psutil.Process] = set()

    def set_shell(self, pid: int) -> None:
        """Name the started process, which leads its own session and process group."""
        self._shell = self.supervisor = pid

    def is_older(self, pid: int) -> bool:
        """Return whether a process was there before the call."""
        return pid in self._older

    @property
    def may_be_crowded(self) -> bool:
        """Whether more than `CROWD` processes are younger than the call."""
        return sum(1 for _ in self._younger()) > CROWD

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to the shell's process group; a group that is gone is fine.

        A supervisor ignores all signals but KILL, which ends its namespace.
        """
        with suppress(ProcessLookupError, PermissionError):
            if self.is_held and os.getpgid(self.supervisor) == self._shell:
                os.killpg(self._shell, signal.SIGKILL)  # it is still preparing the namespace
            else:
                os.killpg(self.supervisor, number)

    def members(self) -> list[psutil.Process]:
        """Return the live members, the shell included."""
        for _ in range(_MOST_SCANS):
            found, may_miss_some = self._scan()
            if found or not may_miss_some:
                return found
        return []

    def _scan(self) -> tuple[list[psutil.Process], bool]:
        """Return the live members, and whether a process died in the meantime, whose child may have started after the listing."""
        found: list[psutil.Process] = []
        others: list[psutil.Process] = []
        died = False
        leaders = {self._shell, self.supervisor}
        for pid in self._younger():
            try:
                process = psutil.Process(pid)
                if process.status() in _DEAD:
                    died = died or process not in self._dead
                    self._dead.add(process)
                else:
                    (found if self._belongs(process, leaders) else others).append(process)
            except (psutil.NoSuchProcess, ProcessLookupError):
                died = True
            except (psutil.AccessDenied, PermissionError):
                continue  # another user's
        found += _descendants(found, others)
        self._known.update(found)
        if self.is_held:
            found = [process for process in found if process.pid != self.supervisor and not self._prepares(process)]
        return found, died or not all(_is_alive(process) for process in (*found, *others))

    def _prepares(self, process: psutil.Process) -> bool:
        """Return whether a process is one of bubblewrap, in the session that the shell leaves."""
        with suppress(OSError):
            return os.getsid(process.pid) == self._shell
        return False

    def _younger(self) -> Iterator[int]:
        return (pid for pid in psutil.pids() if pid not in self._older)

    def _belongs(self, process: psutil.Process, leaders: Container[int]) -> bool:
        if process in self._known or os.getsid(process.pid) in leaders:
            return True
        return (self.reaper != 0 and process.ppid() == self.reaper) or self._is_marked(process)

    def _is_marked(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get(MARK) == self._mark
        except (psutil.AccessDenied, OSError):  # some programs hide it
            return False

    def pause(self) -> bool:
        """Stop the members until `resume`, again and again until none has started another; return whether all are stopped."""
        deadline = time.monotonic() + _PAUSE_S
        while moving := [one for one in self.members() if _is_moving(one)]:
            if time.monotonic() >= deadline:
                return False
            _send(moving, signal.SIGSTOP)
            time.sleep(_RETRY_S)
        return True

    def resume(self) -> None:
        """Resume the members."""
        _send(self.members(), signal.SIGCONT)

    def end(self, *, patience_s: float, grace_s: float) -> list[str]:
        """End all that live: TERM when the patience is over, KILL after the grace. Returns the command lines of those."""
        alive = self._wait(patience_s)
        names = self._names_of(alive)
        if alive:
            _send(alive, signal.SIGTERM)
            self._kill(self._wait(grace_s))
        return names

    def end_holders(self, pipe: int) -> list[str]:
        """Kill the processes that hold the pipe of this descriptor open and return their command lines; only on Linux.

        A process that was killed before and still exists is killed again, but not returned again.
        """
        if sys.platform != "linux":
            return []
        identity = identity_of(pipe)
        holders = [process for process in self._hidden() if holds(process.pid, identity)]
        names = self._names_of(holders)
        _send(holders, signal.SIGKILL)
        return names

    def _names_of(self, processes: Sequence[psutil.Process]) -> list[str]:
        """Return the command lines of those that were not named yet."""
        new = [process for process in processes if process not in self._named]
        self._named.update(new)
        return [_name(process) for process in new]

    def files_open_for_writing(self) -> frozenset[tuple[int, int]]:
        """Return device and inode of the regular files that the members can write through an open descriptor; only on Linux."""
        if sys.platform != "linux":
            return frozenset()
        found: set[tuple[int, int]] = set()
        for process in self.members():
            with suppress(OSError):
                found.update(_written_files(process.pid))
        return frozenset(found)

    def _hidden(self) -> Iterator[psutil.Process]:
        """Yield the processes that may hold the pipe; a child of ours is another command that has copied it for a moment."""
        for pid in self._younger():
            with suppress(psutil.Error):
                process = psutil.Process(pid)
                if process.ppid() != os.getpid():
                    yield process

    def _wait(self, limit_s: float) -> list[psutil.Process]:
        """Scan until no member is alive or the time is over, and return the live members."""
        deadline = time.monotonic() + limit_s
        while (alive := self.members()) and time.monotonic() < deadline:
            time.sleep(_RETRY_S)
        return alive

    def _kill(self, alive: list[psutil.Process]) -> None:
        """Kill until no member is found; gives up after a second."""
        deadline = time.monotonic() + _KILL_WITHIN_S
        while alive and time.monotonic() < deadline:
            _send(alive, signal.SIGKILL)
            alive = self.members()


def _descendants(members: Iterable[psutil.Process], others: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Return those of the others that descend from a member."""
    parents = {process.pid for process in members}
    children: dict[int, list[psutil.Process]] = {}
    for process in others:
        with suppress(psutil.Error):
            children.setdefault(process.ppid(), []).append(process)
    found: list[psutil.Process] = []
    pending = list(parents)
    while pending:
        born = children.pop(pending.pop(), [])
        found += born
        pending += [process.pid for process in born]
    return found


def _is_moving(process: psutil.Process) -> bool:
    try:
        return process.status() not in (*_DEAD, psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
    except psutil.Error:
        return False


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() not in _DEAD
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def _send(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    """Send a signal; psutil refuses when the id belongs to another process in the meantime."""
    for process in processes:
        with suppress(psutil.Error):
            process.send_signal(number)


def identity_of(pipe: int) -> str:
    """Return what the kernel calls the pipe of a descriptor."""
    return f"pipe:[{os.fstat(pipe).st_ino}]"


def holds(pid: int, identity: str) -> bool:
    """Return whether a process has a pipe open."""
    with suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                if os.readlink(entry.path) == identity:
                    return True
    return False


def _written_files(pid: int) -> Iterator[tuple[int, int]]:
    for number in os.listdir(f"/proc/{pid}/fd"):
        with suppress(OSError, ValueError):  # it was closed in the meantime
            facts = os.stat(f"/proc/{pid}/fd/{number}")
            with open(f"/proc/{pid}/fdinfo/{number}") as lines:
                flags = next((line.split()[1] for line in lines if line.startswith("flags:")), "0")
            if stat.S_ISREG(facts.st_mode) and int(flags, 8) & os.O_ACCMODE:
                yield facts.st_dev, facts.st_ino


def _name(process: psutil.Process) -> str:
    """Return the command line of a process, shortened, without control characters; empty when it is gone."""
    try:
        return shown_name(" ".join(process.cmdline()))
    except (psutil.Error, OSError):
        return ""


def shown_name(words: str) -> str:
    """Return a command line, shortened, without control characters."""
    text = "".join(letter if letter.isprintable() else "?" for letter in " ".join(words.split()))
    return text if len(text) <= _NAME_CHARACTERS else f"{text[: _NAME_CHARACTERS - 1]}…"
