"""One folder on the way through a worktree: what a scan knows of it while it looks at what is in it."""

import os
from collections import Counter
from dataclasses import dataclass, field

from opencode_tui.engine.snapshot.ignore import Rules
from opencode_tui.engine.snapshot.stat_cache import KnownFolder, Stamp


@dataclass(slots=True)
class Frame:
    """A folder on the way; `only_wanted`: it is ignored, so of what is in it only what is wanted counts."""

    path: str
    rules: Rules
    repository: str
    mode: int
    known: KnownFolder
    only_wanted: bool = False
    seen: KnownFolder = field(default_factory=KnownFolder)
    modes: Counter[int] = field(default_factory=Counter[int])
    pending: list[tuple[str, int, bool]] = field(default_factory=list[tuple[str, int, bool]])
    has_skipped: bool = False
    is_changed: bool = False

    def join(self, name: str) -> str:
        """Return an entry's path from the worktree."""
        return f"{self.path}/{name}" if self.path else name


def full_stamp(status: os.stat_result) -> Stamp:
    """Return the stamp of a file that is old enough to be known by it."""
    return (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def leads_outside(root: str, folder: str, target: str) -> bool:
    """Tell whether a link in a folder leads out of the worktree, by its text alone."""
    path = os.path.normpath(os.path.join(root, folder, target))
    return path != root and not path.startswith(f"{root}/")
