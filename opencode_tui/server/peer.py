"""Which process is at the other end of a Unix socket, and whether it is confined as commands of the sandbox are.

Landlock refuses no connection to a socket with a path, so a confined command reaches the socket of an engine. It is known by what
it cannot give up again: the flag that it gets no new privileges, and its filters of system calls. Only Linux says them.
Source: proc_pid_status(5), unix(7).
"""

import os
import select
import socket
import struct
from pathlib import Path

from msgspec import Struct

_PEER = struct.Struct("3i")
"""Process, user and group."""
_SO_PEERPIDFD = 77
_FILTERED = 2


class Confinement(Struct, frozen=True):
    """What a process cannot give up; `filters` are those of system calls, -1 when the kernel does not count them."""

    has_no_new_privileges: bool
    is_filtered: bool
    filters: int

    def exceeds(self, own: "Confinement") -> bool:
        """Return whether a command of the sandbox may have this, where our own process has `own`, as in a container."""
        if not (self.has_no_new_privileges and self.is_filtered):
            return False
        return not (own.has_no_new_privileges and own.is_filtered) or self.filters > own.filters


def comes_from_sandbox(opened: socket.socket) -> bool:
    """Return whether a connection comes from a confined process, or from one that has ended since. Reads two small files.

    One that cannot be examined counts as not confined: a process of another container, or of a system other than Linux.
    """
    if opened.family != getattr(socket, "AF_UNIX", None) or not hasattr(socket, "SO_PEERCRED"):
        return False
    try:
        pid = _PEER.unpack(opened.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))[0]
    except OSError:
        return False
    if pid <= 0:
        return False
    own, found = _read(os.getpid()), _read(pid)
    if own is None:  # this system does not say it
        return False
    return found is None or found.exceeds(own) or _has_ended(opened)


def _read(pid: int) -> Confinement | None:
    """Return what /proc says about a process; None when it is gone, or the system does not say it."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    fields = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if not {"NoNewPrivs", "Seccomp"} <= fields.keys():
        return None
    return Confinement(
        fields["NoNewPrivs"] == "1", fields["Seccomp"] == str(_FILTERED), int(fields.get("Seccomp_filters", "-1"))
    )


def _has_ended(opened: socket.socket) -> bool:
    """Return whether the process that connected has ended, so that another one may have its ID; older kernels do not say it."""
    try:
        descriptor = opened.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    try:
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        return bool(ended.poll(0))
    finally:
        os.close(descriptor)
