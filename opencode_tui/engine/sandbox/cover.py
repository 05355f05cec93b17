"""Mounts again, in the namespace of a running command, what ended when its file was replaced outside.

Its source is run by `python -c`, outside: a namespace of users can be entered by a process with one thread only. The arguments are
the process whose namespaces to enter, and pairs of a source and a path, each below the root of that namespace.
"""

import ctypes
import fcntl
import os
import sys

_NEW_NS, _NEW_USER = 0x20000, 0x10000000
_OWNER = 0xB701
"""NS_GET_USERNS: opens the user namespace that owns a namespace."""
_BIND, _REMOUNT = 4096, 32
_READ_ONLY, _NO_SETUID, _NO_DEVICES = 1, 2, 4


def main(pid: str, *pairs: str) -> None:
    """Mount each source at its path, read-only and without devices. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    mounts = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
    users = fcntl.ioctl(mounts, _OWNER)  # not that of the process: bubblewrap makes one more where it makes devices
    if os.fstat(users).st_ino != os.stat("/proc/self/ns/user").st_ino:
        _check(libc.setns(users, _NEW_USER))
    _check(libc.setns(mounts, _NEW_NS))
    for source, path in zip(pairs[::2], pairs[1::2], strict=True):
        target = os.fsencode(path)
        _check(libc.mount(os.fsencode(source), target, None, _BIND, None))
        flags = _BIND | _REMOUNT | _READ_ONLY | _NO_SETUID | _NO_DEVICES
        _check(libc.mount(None, target, None, flags, None))


def _check(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    main(*sys.argv[1:])
