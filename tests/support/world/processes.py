"""Whether a process runs or listens, told without a race: it may end between two looks."""

import os
from contextlib import suppress
from pathlib import Path

import psutil


def is_running(pid: int) -> bool:
    """Return whether a process runs: one that has ended but was not waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    if not Path("/proc/self/stat").exists():
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z"
    except OSError:  # it ended after the signal, even while it was read
        return False


def is_listening(port: int) -> bool:
    """Return whether this process or a descendant listens on a TCP port.

    Connecting does not tell: another program may have taken a fixed port meanwhile.
    """
    mine = psutil.Process()
    for process in (mine, *mine.children(recursive=True)):
        with suppress(psutil.Error):  # it ended
            for link in process.net_connections("tcp"):
                if link.status == psutil.CONN_LISTEN and link.laddr.port == port:
                    return True
    return False
