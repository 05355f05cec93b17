"""Locks between processes on open files (flock): the system releases those of a process that dies."""

import errno
import fcntl

_HELD = {errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK}
"""What file systems report for a file that another process has locked."""


def lock_descriptor(descriptor: int) -> bool:
    """Lock an open file if it is free and return whether it was. Raises OSError where files cannot be locked."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            return False
        raise
    return True


def unlock_descriptor(descriptor: int) -> None:
    """Unlock an open file: closing it is not enough while a child that was just forked has it open."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)
