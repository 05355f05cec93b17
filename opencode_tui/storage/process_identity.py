"""Identities of processes that hold a lock or ran a session: id, start time and host."""

import os
import socket
from pathlib import Path

from msgspec import Struct


class ProcessIdentity(Struct, frozen=True):
    """A process: `started` is its start time in the machine's own ticks (empty when unknown), because ids are reused."""

    pid: int
    started: str
    host: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def current_process() -> ProcessIdentity:
    """Return the identity of this process."""
    return ProcessIdentity(os.getpid(), _start_time(os.getpid()), socket.gethostname())


def is_alive(process: ProcessIdentity) -> bool:
    """Return whether a process is running; one of another host counts as running, because it cannot be checked.

    One that has ended does not count although its parent has not asked for its exit code, as in a container without an init.
    """
    if process.host != socket.gethostname():
        return True
    if not is_running(process.pid):
        return False
    fields = _status(process.pid)
    if fields and fields[0] in ("Z", "X"):
        return False
    return not process.started or process.started == (fields[19] if fields else "")


def is_running(pid: int) -> bool:
    """Return whether a process with this id exists on this machine."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    except OverflowError:
        return False
    return True


def is_suspended(pid: int) -> bool:
    """Return whether a process on this machine is stopped, as by ctrl+z; only Linux says it."""
    fields = _status(pid)
    return bool(fields) and fields[0] in ("T", "t")


def suspension_of(pid: int) -> str:
    """Return what to add to the name of a process that is stopped; empty for one that runs."""
    return f", which is suspended (`kill -CONT {pid}` continues it)" if is_suspended(pid) else ""


def holder_of(lock_path: str) -> str:
    """Return a description of the process that holds a lock file; only Linux gives its id."""
    pid = holding_pid(lock_path)
    if pid is None:
        return "another process"
    return f"process {pid}{suspension_of(pid)}" if pid > 0 else "a process of another container"


def holding_pid(lock_path: str) -> int | None:
    """Return the id of the process that holds a lock file: 0 or less for one of another container, None where it is not known."""
    try:
        inode = os.stat(lock_path).st_ino
        rows = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    for row in rows:
        fields = row.split()
        # 1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234567 0 EOF
        if len(fields) >= 6 and fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == str(inode):
            return int(fields[4])
    return None


def _start_time(pid: int) -> str:
    """Return the start time from /proc, empty on systems without it."""
    fields = _status(pid)
    return fields[19] if fields else ""


def _status(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; none on systems without it."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    return status.rpartition(")")[2].split()  # the name in parentheses may hold anything
