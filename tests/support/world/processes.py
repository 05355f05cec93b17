"""Whether a process runs, told without a race: it may end between two looks."""

import os
from pathlib import Path


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
