"""The memory of a server and its children."""

import contextlib
import sys


def group_memory(pid: int) -> int:
    """Return the memory of a process and its descendants in bytes: their share (PSS) where the system knows it. Blocks."""
    import psutil  # only where a server runs

    total = 0
    with contextlib.suppress(psutil.Error):
        parent = psutil.Process(pid)
        for process in (parent, *parent.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                if sys.platform == "linux":
                    total += process.memory_full_info().pss
                else:
                    total += process.memory_info().rss
    return total
