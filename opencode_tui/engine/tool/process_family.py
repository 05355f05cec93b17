"""All processes that one shell command has started, and their end.

A process belongs to the family when it runs in the shell's session, descends from a known member, or carries the call's mark in its
environment: background jobs, `nohup`, `setsid`, double forks are found. What has left all that is found by a pipe it inherited.
Limit: a process that has also closed every descriptor. The search reads /proc (Linux); elsewhere the family is the process group.
Everything here blocks for some milliseconds and belongs into a thread.
"""

import os
import signal
import sys
import time
from contextlib import suppress

from opencode_tui.schema.value import immutable

MARK = "OPENCODE_CALL"
"""Environment variable that every process of a call inherits; its value is unique."""

_HAS_PROC = sys.platform == "linux"
_LOOK_AGAIN_S = 0.005
_MOST_LOOKS = 2
_READ_BYTES = 16_384
_KILL_WITHIN_S = 1.0
_STATE, _PARENT, _SESSION, _START = 0, 1, 3, 19
"""Places of these fields in /proc/PID/stat after the name. Source: proc(5)."""


@immutable
class Process:
    """A process; `start` (clock ticks since boot) tells it from a later one of the same id. A dead one waits to be collected."""

    pid: int
    parent: int
    session: int
    start: int
    is_dead: bool = False


class ProcessFamily:
    """The processes of one call; `shell` is the id of the shell, which leads its own session and group."""

    def __init__(self, shell: int, mark: str) -> None:
        self._shell = shell
        self._mark = f"{MARK}={mark}".encode()
        fields = _stat_fields(shell)
        self._first_start = int(fields[_START]) if fields else 0
        self._known: set[tuple[int, int]] = set()
        self._dead: set[Process] = set()

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to the shell's process group; a group that is gone is fine."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._shell, number)

    def members(self) -> list[Process]:
        """Return those that live now, the shell included; nothing where there is no /proc."""
        if not _HAS_PROC:
            return []
        for _ in range(_MOST_LOOKS):
            found, may_miss_some = self._look()
            if found or not may_miss_some:
                return found
        return []

    def _look(self) -> tuple[list[Process], bool]:
        """Return who lives now, and whether somebody died meanwhile, whose child may have been born after the listing."""
        young: dict[int, Process] = {}
        may_miss_some = False
        for pid in _process_ids():
            process = _read_process(pid)
            if process is None:
                may_miss_some = True
            elif process.start >= self._first_start and not process.is_dead:
                young[pid] = process
            elif process.start >= self._first_start and process not in self._dead:
                self._dead.add(process)
                may_miss_some = True
        found = self._family_of(young)
        later = [_read_process(pid) for pid in young]
        return found, may_miss_some or any(process is None or process.is_dead for process in later)

    def _family_of(self, young: dict[int, Process]) -> list[Process]:
        found = [process for process in young.values() if self._belongs(process)]
        pending = list(found)
        while pending:
            parent = pending.pop()
            for child in young.values():
                if child.parent == parent.pid and child not in found:
                    found.append(child)
                    pending.append(child)
        self._known.update((process.pid, process.start) for process in found)
        return found

    def end(self, *, patience_s: float, grace_s: float) -> list[str]:
        """End all that live: TERM when the patience is over, KILL after the grace. Returns the names of those that got it.

        Without /proc nobody is looked for: the group is killed, and nothing is named.
        """
        if not _HAS_PROC:
            self.signal_group(signal.SIGKILL)
            return []
        alive = self._wait(patience_s)
        names = [_name(process.pid) for process in alive]
        if alive:
            _send(alive, signal.SIGTERM)
            self._kill(self._wait(grace_s))
        return names

    def end_holders(self, pipe: int) -> list[str]:
        """Kill whoever holds the pipe of this descriptor open and is no child of ours, and return the names."""
        if not _HAS_PROC:
            return []
        identity = f"pipe:[{os.fstat(pipe).st_ino}]"
        holders = [
            process
            for process in map(_read_process, _process_ids())
            if process is not None and self._may_be_hidden(process) and _holds(process.pid, identity)
        ]
        names = [_name(process.pid) for process in holders]
        _send(holders, signal.SIGKILL)
        return names

    def _wait(self, limit_s: float) -> list[Process]:
        """Look until nobody lives or the time is over, and return who lives then."""
        deadline = time.monotonic() + limit_s
        while (alive := self.members()) and time.monotonic() < deadline:
            time.sleep(_LOOK_AGAIN_S)
        return alive

    def _kill(self, alive: list[Process]) -> None:
        """Kill until nobody is found; gives up after a second."""
        deadline = time.monotonic() + _KILL_WITHIN_S
        while alive and time.monotonic() < deadline:
            _send(alive, signal.SIGKILL)
            alive = self.members()

    def _may_be_hidden(self, process: Process) -> bool:
        """Tell whether to look at its descriptors; a child of ours is another command that has copied them for a moment."""
        return process.start >= self._first_start and os.getpid() not in (process.pid, process.parent)

    def _belongs(self, process: Process) -> bool:
        return (
            process.session == self._shell
            or (process.pid, process.start) in self._known
            or self._mark in _environment(process.pid)
        )


def _send(processes: list[Process], number: signal.Signals) -> None:
    for process in processes:
        now = _read_process(process.pid)
        if now is not None and now.start == process.start and not now.is_dead:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)


def _process_ids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _read_process(pid: int) -> Process | None:
    fields = _stat_fields(pid)
    if not fields:
        return None
    is_dead = fields[_STATE] in (b"Z", b"X")
    return Process(pid, int(fields[_PARENT]), int(fields[_SESSION]), int(fields[_START]), is_dead)


def _stat_fields(pid: int) -> list[bytes]:
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return fields if len(fields) > _START else []


def _environment(pid: int) -> list[bytes]:
    return _read(f"/proc/{pid}/environ").split(b"\0")


def _holds(pid: int, identity: str) -> bool:
    with suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                if os.readlink(entry.path) == identity:
                    return True
    return False


def _name(pid: int) -> str:
    """Return the command line of a process, shortened; what it calls itself is not trusted to be printable."""
    words = _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode("utf-8", "replace").split()
    text = "".join(letter if letter.isprintable() else "?" for letter in " ".join(words))
    return text if len(text) <= 60 else f"{text[:59]}…"


def _read(path: str) -> bytes:
    """Return a file of /proc; nothing when the process is gone or belongs to somebody else.

    By descriptors, because a look reads some hundred of them and file objects cost twice the time.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        pieces: list[bytes] = []
        while len(piece := os.read(descriptor, _READ_BYTES)) == _READ_BYTES:
            pieces.append(piece)
        return b"".join((*pieces, piece))
    except OSError:
        return b""
    finally:
        os.close(descriptor)
