"""Watches what a running command uses, and ends all its processes when it reaches a limit.

A command that ends within the first 20 ms is never examined. After that, some numbers of the machine are read many times per
second: its threads, those that run, its memory, the free disk. Only when one of them has changed by a part of a limit, or a second
has passed, the command's processes are counted.

A fork bomb leaves this program a small share of the cores. The kernel makes a reader of most files in `/proc` wait for a process
that is inside `exec`, and that may wait for a core for seconds: only `status` and `limits` are always returned at once. All
processes are stopped before any is killed, and they are killed a few at a time: a process that dies has its own share of the
cores, whatever it had before.

Memory is private and shared pages and what is swapped out, not the files that are mapped, since the kernel can drop these. Pages
that processes share count once. Everything here blocks for milliseconds and belongs on the command's thread; only on Linux.
"""

import os
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from opencode_tui.engine.sandbox.limits import Limits, count_threads
from opencode_tui.engine.tool.process.process_tree import CROWD, MARK, ProcessTree, holds, identity_of, shown_name
from opencode_tui.schema.api.limit import ReachedLimit

_FIRST_S = 0.02
_QUIET_S = 0.1
_CLOSE_S = 0.02
_COUNT_S = 1.0
_KILL_WITHIN_S = 5.0
_KILL_AGAIN_S = 0.02
_DYING = 4 * (os.cpu_count() or 1)
"""So many processes are killed at a time."""

_STOP_AGAIN_S = 0.01
_DIE_WITHIN_S = 0.2
_STOPPED = (b"T", b"t")
_LOOK_AGAIN_S = 0.002
_PART = 4
"""The processes are counted when a number of the machine changed by this part of a limit."""

_LOW_DISK = 20
"""A command that used most of the disk ends when this part of what was free is left."""

_LOWER_PRIORITY = 10
_HIGHEST_PRIORITY = -20
_CORES = os.cpu_count() or 1
_PROCESSES_ROW = b"Max processes"
_PRIVATE = (b"RssAnon", b"RssShmem", b"VmSwap")
_PROPORTIONAL = (b"Pss_Anon:", b"Pss_Shmem:", b"SwapPss:")
_ENDED = (b"Z", b"X", b"x")
_OWN_SHARE = "/proc/self/autogroup"
_CROWDED = 2
"""Running threads for each core from which on this program gets a larger share of the cores, where it may."""

_BUSY = 8
"""Running threads for each core from which on they are examined more often."""

MOST_SESSIONS = 16 * _CORES
"""Running sessions, each with an equal share of the cores, that would leave too little for everything else."""

_EXACT_AGAIN = 20
"""Reading the exact memory of processes may cost at most one part of this many of the time."""


class _Machine(NamedTuple):
    """What the machine uses: threads, how many of them run, bytes of memory that are available, bytes of disk that are free."""

    threads: int
    running: int
    memory: int
    disk: int


class _Process(NamedTuple):
    """A process; `identity` differs from that of an earlier one with the same id, `memory` is in bytes."""

    pid: int
    identity: int
    parent: int
    session: int
    state: bytes
    threads: int
    memory: int

    @property
    def is_running(self) -> bool:
        return self.state == b"R"


class LimitWatch:
    """Watches the processes of one command, which leads a session of its own; `mark` is in their environment.

    In a namespace, what loses its parent becomes a child of the first process there, so that all descend from the started one.
    """

    def __init__(self, limits: Limits, shell: int, folder: Path, *, mark: str, life: int, tree: ProcessTree) -> None:
        """`life` is the descriptor of a pipe that its processes inherit, `tree` the same processes."""
        self._limits = limits
        self._shell = shell
        self._folder = folder
        self._life = identity_of(life)
        self._mark = f"{MARK}={mark}".encode()
        self._tree = tree
        self._is_on = sys.platform == "linux" and limits != Limits()
        self._known: dict[int, int] = {}
        self._strangers: dict[int, int] = {}
        self._sessions = {shell}
        self._lowered: set[int] = set()
        self._has_share = False
        self.reached: ReachedLimit | None = None
        """The limit that the command has reached."""
        self._begin: _Machine | None = None
        self._exact_from = 0.0
        self._count_at = 0.0
        self._next = time.monotonic() + _FIRST_S

    @property
    def wait_s(self) -> float:
        """How long the next look can wait; infinite where nothing is limited."""
        return max(0.0, self._next - time.monotonic()) if self._is_on else float("inf")

    def check(self) -> bool:
        """Return whether the command has reached a limit, if it is time to look."""
        now = time.monotonic()
        if not self._is_on or now < self._next:
            return False
        machine = _read_machine(self._folder)
        self._begin = self._begin or machine
        is_close = self._is_close(machine, self._begin)
        if machine.running > _CROWDED * _CORES and not self._has_share:
            self._has_share = True
            _SHARE.raise_it()
        if is_close or now >= self._count_at:
            self._count_at = now + _COUNT_S
            self.reached = self._count(machine, self._begin)
        ended = time.monotonic()
        self._next = ended + min(_QUIET_S, max(_CLOSE_S if is_close else _QUIET_S, 2 * (ended - now)))
        return self.reached is not None

    def close(self) -> None:
        """Give this program the share of the cores again that it had before, once no command needs more."""
        if self._has_share:
            self._has_share = False
            _SHARE.release()

    def end_crowd(self) -> list[str]:
        """Kill all processes if they are very many, without time to end by themselves; return their command lines, else none."""
        members = self._members()
        if len(members) <= CROWD:
            return []
        if self._limits.processes and len(members) >= self._limits.processes:
            self.reached = ReachedLimit(kind="processes", value=self._limits.processes)
        names = [_command_line(one.pid) for one in members]
        self.kill()
        return names

    def kill(self) -> None:
        """End all processes, and in a namespace its supervisor; of a crowd a few at a time, if all of it could be stopped."""
        crowd = self._stop_crowd()
        for first in range(0, len(crowd), _DYING):
            part = crowd[first : first + _DYING]
            _send(part, signal.SIGKILL)
            deadline = time.monotonic() + _DIE_WITHIN_S
            while any(_read_process(one.pid) for one in part) and time.monotonic() < deadline:
                time.sleep(_LOOK_AGAIN_S)
        self._tree.signal_group(signal.SIGKILL)
        deadline = time.monotonic() + _KILL_WITHIN_S
        while not self._tree.is_held and (members := self._members()) and time.monotonic() < deadline:
            self._tree.signal_group(signal.SIGKILL)
            _send(members, signal.SIGKILL)
            time.sleep(_KILL_AGAIN_S)

    def _stop_crowd(self) -> list[_Process]:
        """Stop all processes, so that none starts others, and return them.

        What is about to start another stops when it has done that, so one look after the last has stopped must find nothing new.
        In a namespace the end of those that supervise it is the end of all others at once. So these are not returned, and none is
        where there are only a few, or where others start faster than they are stopped.
        """
        if not self._tree.is_held:
            self._tree.signal_group(signal.SIGSTOP)
        deadline = time.monotonic() + _KILL_WITHIN_S
        stopped: dict[int, _Process] = {}
        is_quiet = False
        while True:
            members = self._supervised()
            new = [one for one in members if one.pid not in stopped]
            was_quiet, is_quiet = is_quiet, not new and all(one.state in _STOPPED for one in members)
            if was_quiet and is_quiet:
                return list(stopped.values())
            is_late = time.monotonic() > deadline
            if self._tree.is_held and (is_late or (not stopped and len(members) <= _DYING)):
                return []
            if is_late:
                return list(stopped.values())
            _stop(one for one in members if one.state not in _STOPPED)
            stopped.update((one.pid, one) for one in new)
            time.sleep(_STOP_AGAIN_S)  # each stops when it gets a core

    def _supervised(self) -> list[_Process]:
        """Return the processes without those that supervise a namespace."""
        if not self._tree.is_held:
            return self._members()
        return [one for one in self._members() if one.pid != self._tree.supervisor and one.session != self._shell]

    def _is_close(self, machine: _Machine, begin: _Machine) -> bool:
        """Return whether the command may be near a limit, by what the machine uses more than at the beginning."""
        limits = self._limits
        if limits.processes and machine.running > _BUSY * _CORES:
            return True
        changes = (
            (machine.threads - begin.threads, limits.processes),
            (begin.memory - machine.memory, limits.memory),
            (begin.disk - machine.disk, limits.file_size or 0),
        )
        return any(limit and change >= limit / _PART for change, limit in changes)

    def _count(self, machine: _Machine, begin: _Machine) -> ReachedLimit | None:
        limits, is_first = self._limits, not self._known
        members = self._members()
        if is_first and len(members) < CROWD:  # on a busy machine the shell may have started some before it was limited
            for one in members:
                limits.apply(one.pid)
        if limits.processes and _shares_by_session():
            running = {one.session for one in members if one.is_running}
            if len(running) >= MOST_SESSIONS:
                return ReachedLimit(kind="sessions", value=MOST_SESSIONS)
        if limits.processes and len(members) >= limits.processes:
            return ReachedLimit(kind="processes", value=limits.processes)
        if limits.processes and sum(one.threads for one in members) >= limits.threads:
            return ReachedLimit(kind="threads", value=limits.threads)
        if limits.memory and self._uses_memory(members, limits.memory):
            return ReachedLimit(kind="memory", value=limits.memory)
        used, part = begin.disk - machine.disk, (limits.file_size or 0) / _PART
        if limits.file_size and (used >= part or _have_written(members, part)):
            if any(_largest_file(one.pid) >= limits.file_size for one in members):
                return ReachedLimit(kind="file_size", value=limits.file_size)
            if machine.disk < begin.disk / _LOW_DISK and sum(_written(one.pid) for one in members) > used / 2:
                return ReachedLimit(kind="disk", value=machine.disk)
        if sum(one.is_running for one in members) > _CORES:
            self._lower_priority(members)
        return None

    def _lower_priority(self, members: Iterable[_Process]) -> None:
        """Let other programs go first; what is started from now on inherits it."""
        for one in members:
            with suppress(OSError):
                group = os.getpgid(one.pid)
                if group not in self._lowered and os.getpriority(os.PRIO_PROCESS, one.pid) < _LOWER_PRIORITY:
                    self._lowered.add(group)
                    os.setpriority(os.PRIO_PGRP, group, _LOWER_PRIORITY)
                    with open(f"/proc/{one.pid}/autogroup", "w") as file:
                        file.write(str(_LOWER_PRIORITY))  # where each session has a share of its own

    def _uses_memory(self, members: list[_Process], limit: int) -> bool:
        """Return whether the processes use `limit` bytes of memory or more together; the second step is slower than the first."""
        shared = _shared_memory(self._tree.supervisor) if self._tree.is_held else 0
        now = time.monotonic()
        if shared + sum(one.memory for one in members) < limit or now < self._exact_from:
            return False
        used = shared + sum(_exact_memory(one.pid) for one in members)
        ended = time.monotonic()
        self._exact_from = ended + _EXACT_AGAIN * (ended - now)
        return used >= limit

    def _members(self) -> list[_Process]:
        """Return the live processes of the command."""
        found: list[_Process] = []
        others: dict[int, list[_Process]] = {}
        for one in _processes(self._tree.is_older):
            is_below = self._tree.reaper and one.parent == self._tree.reaper
            if is_below or one.session in self._sessions or self._known.get(one.pid) == one.identity:
                found.append(one)
            else:
                others.setdefault(one.parent, []).append(one)
        self._add_children(found, others)
        if not self._tree.is_held:  # what has lost its parent before it was seen here has the mark or the pipe
            for one in [one for group in others.values() for one in group]:
                if self._strangers.get(one.pid) == one.identity or one.parent == os.getpid():
                    continue
                if self._has_sign(one.pid):
                    found.append(one)
                    others[one.parent].remove(one)
                else:
                    self._strangers[one.pid] = one.identity
            self._add_children(found, others)
        self._known = {one.pid: one.identity for one in found}
        self._sessions.update(one.session for one in found)
        return found

    def _has_sign(self, pid: int) -> bool:
        """Return whether a process has inherited something that only the command's processes have: a limit, a pipe, a variable."""
        highest = self._limits.highest_processes
        return (
            (highest and _highest_processes(pid) == highest) or holds(pid, self._life) or _has_variable(pid, self._mark)
        )

    def _add_children(self, found: list[_Process], others: dict[int, list[_Process]]) -> None:
        pending = [one.pid for one in found]
        while pending:
            born = others.pop(pending.pop(), [])
            found += born
            pending += [one.pid for one in born]


def _processes(is_older: Callable[[int], bool]) -> Iterator[_Process]:
    """Yield the live processes that are not older than the command."""
    for name in os.listdir("/proc"):
        if name.isdecimal() and not is_older(int(name)) and (one := _read_process(int(name))) is not None:
            yield one


def _read_process(pid: int) -> _Process | None:
    """Return a process, None if it has ended, even if its parent does not know that yet."""
    try:
        rows = dict(line.split(b":", 1) for line in _read(f"/proc/{pid}/status").splitlines())
        state = rows[b"State"].split()[0]
        if state in _ENDED:
            return None
        identity = os.stat(f"/proc/{pid}").st_ctime_ns  # when the kernel first made it visible to anyone
        memory = sum(int(rows[row].split()[0]) << 10 for row in _PRIVATE if row in rows)
        return _Process(pid, identity, int(rows[b"PPid"]), os.getsid(pid), state, int(rows[b"Threads"]), memory)
    except (OSError, ValueError, KeyError, IndexError):  # it has ended in the meantime
        return None


def _highest_processes(pid: int) -> int:
    """Return how many processes the kernel lets a process's user have; 0 where that is unlimited or not known."""
    with suppress(OSError, ValueError, StopIteration):
        row = next(line for line in _read(f"/proc/{pid}/limits").splitlines() if line.startswith(_PROCESSES_ROW))
        return int(row[len(_PROCESSES_ROW) :].split()[1])
    return 0


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 65_536)
    finally:
        os.close(descriptor)


@cache
def _shares_by_session() -> bool:
    """Return whether the kernel shares the cores among sessions, whatever the priorities of their processes are (autogroups)."""
    with suppress(OSError):
        return _read("/proc/sys/kernel/sched_autogroup_enabled").strip() == b"1"
    return False


class _Share:
    """The share of the cores that this program's session has among all sessions; higher while a command needs that.

    An ordinary user may only lower it: then it stays. Another program of the session that has raised it lowers it again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before = _HIGHEST_PRIORITY

    def raise_it(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1 and _shares_by_session():
                with suppress(OSError, ValueError, IndexError):
                    self._before = int(_read(_OWN_SHARE).split()[-1])
                    self._write(_HIGHEST_PRIORITY)

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users and self._before != _HIGHEST_PRIORITY:
                with suppress(OSError):
                    self._write(self._before)
                self._before = _HIGHEST_PRIORITY

    def _write(self, priority: int) -> None:
        with open(_OWN_SHARE, "w") as file:
            file.write(str(priority))


_SHARE = _Share()


def _read_machine(folder: Path) -> _Machine:
    threads, running = count_threads()
    memory = disk = 0
    with suppress(OSError, ValueError):
        memory = _sum_of(_read("/proc/meminfo"), (b"MemAvailable:", b"SwapFree:"))
    with suppress(OSError):
        facts = os.statvfs(folder)
        disk = facts.f_bavail * facts.f_frsize
    return _Machine(threads, running, memory, disk)


def _exact_memory(pid: int) -> int:
    try:
        return _sum_of(_read(f"/proc/{pid}/smaps_rollup"), _PROPORTIONAL)
    except (OSError, ValueError):  # it has ended, or hides it
        return 0


def _sum_of(text: bytes, rows: Container[bytes]) -> int:
    """Return the bytes of some rows of a table in KB."""
    words = (line.split() for line in text.splitlines())
    return sum(int(row[1]) << 10 for row in words if row and row[0] in rows)


def _shared_memory(pid: int) -> int:
    """Return the bytes of the files in memory that a namespace has, besides what its processes have mapped."""
    with suppress(OSError):
        facts = os.statvfs(f"/proc/{pid}/root/dev/shm")
        return (facts.f_blocks - facts.f_bfree) * facts.f_frsize
    return 0


def _largest_file(pid: int) -> int:
    """Return the bytes on the disk of the largest file that a process can write."""
    largest = 0
    with suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                file = f"/proc/{pid}/fd/{number}"
                is_writable = os.lstat(file).st_mode & stat.S_IWUSR  # how it was opened, see proc(5)
                facts = os.stat(file)
                if is_writable and stat.S_ISREG(facts.st_mode):
                    largest = max(largest, facts.st_blocks * 512)
    return largest


def _have_written(members: Sequence[_Process], size: float) -> bool:
    """Return whether the processes have written `size` bytes; a deletion meanwhile hides that from the free space.

    A crowd is not asked: its processes may be inside `exec`, where a reader of this file waits.
    """
    return len(members) < CROWD and sum(_written(one.pid) for one in members) >= size


def _written(pid: int) -> int:
    """Return the bytes that a process and its ended children have written to disks."""
    with suppress(OSError, ValueError, IndexError):
        rows = dict(line.split(b":") for line in _read(f"/proc/{pid}/io").splitlines())
        return int(rows[b"write_bytes"])
    return 0


def _command_line(pid: int) -> str:
    try:
        words = _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:  # it has ended
        return ""
    return shown_name(words)


def _has_variable(pid: int, text: bytes) -> bool:
    try:
        return text in _read(f"/proc/{pid}/environ").split(b"\0")
    except OSError:  # it has ended, or is another user's
        return False


def _stop(processes: Iterable[_Process]) -> None:
    """Stop processes by their groups: what is inside `fork` does not escape that with its child."""
    groups: set[int] = set()
    for one in processes:
        with suppress(OSError):
            groups.add(os.getpgid(one.pid))
    for group in groups - {os.getpgrp()}:  # a process that is being started is in this program's group for a moment
        with suppress(OSError):
            os.killpg(group, signal.SIGSTOP)


def _send(processes: Iterable[_Process], number: signal.Signals) -> None:
    for one in processes:
        with suppress(OSError):
            os.kill(one.pid, number)
