"""What an error of the operating system means for a file, and what the user can do about it."""

import errno

_MEANINGS = {
    errno.ENOSPC: ("the disk is full", "free some space"),
    errno.EDQUOT: ("your disk quota is used up", "free some space"),
    errno.EFBIG: ("the file would be larger than this process may write", "raise `ulimit -f`"),
    errno.EACCES: ("permission denied", "try chmod u+rwX"),
    errno.EPERM: ("operation not permitted", "check owner and mode"),
    errno.EROFS: ("the file system is read-only", "make it writable"),
    errno.EIO: ("the disk reports an error", "check the disk and keep a copy of the folder"),
    errno.ESTALE: ("the network folder was replaced or its server has restarted", "mount it again"),
    errno.EMFILE: ("too many open files", "raise `ulimit -n`"),
    errno.ENFILE: ("too many open files on the system", "close other programs"),
    errno.ENOMEM: ("the system has no memory left", "close other programs"),
    errno.EAGAIN: ("the system starts no more processes", "close other programs, or raise `ulimit -u`"),
    errno.ENOTDIR: ("a part of the path is a file", "move it"),
    errno.EISDIR: ("it is a folder", "name a file"),
    errno.ELOOP: ("it is a symbolic link, or links lead in a circle", "name the file itself"),
    errno.E2BIG: ("the command or its environment is too long", "write it to a file"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter one"),
}


def meaning_of(error: OSError) -> tuple[str, str]:
    """Return what is wrong and the remedy; the system's own words and no remedy for an error without a known one."""
    known = _MEANINGS.get(error.errno or 0)
    return known or (error.strerror or str(error) or type(error).__name__, "")


def cause_of(error: OSError) -> str:
    """Return what is wrong, with the remedy if one is known: `the disk is full; free some space`."""
    return "; ".join(part for part in meaning_of(error) if part)


def describe(error: OSError) -> str:
    """Return one line with the file if the error names one: `/home/ada/x: the disk is full; free some space`."""
    name = error.filename
    where = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
    return cause_of(error) if name is None or isinstance(name, int) else f"{where}: {cause_of(error)}"
