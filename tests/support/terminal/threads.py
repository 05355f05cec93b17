"""Whether a process has something to do, by the states of its threads."""

import re
from pathlib import Path


def is_awake(pid: int, *, but: int = 0) -> bool:
    """Return whether a thread of a process, not `but`, runs or waits for a processor; False where states cannot be read."""
    for state in Path("/proc", str(pid), "task").glob("*/stat"):
        if state.parent.name == str(but):
            continue
        try:
            if re.match(r"\s[RD]", state.read_text(encoding="utf-8", errors="replace").rpartition(")")[2]):
                return True
        except OSError:
            continue
    return False
