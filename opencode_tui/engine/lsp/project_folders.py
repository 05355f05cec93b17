"""The folders of a project in which the markers of language servers are looked for: the nearest first, up to a limit.

Hidden folders, folders that tools generate, ignored ones and links are left out. Blocks.
"""

import os
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.engine.snapshot.scan.ignore import Rules

if TYPE_CHECKING:
    pass

MOST_FOLDERS = 1_000

GENERATED = frozenset({"node_modules", "venv", "build", "dist", "target", "vendor"})
"""Folders whose projects are not the user's."""


class ProjectFolders(Struct, frozen=True):
    """The folders that were examined, nearest first, and the first one for which the limit left no room, if any."""

    folders: list[Path]
    left_out: Path | None = None

    def describe_left_out(self) -> str:
        """Return what was not examined, empty if there is none."""
        if self.left_out is None:
            return ""
        name = self.left_out.relative_to(self.folders[0]).as_posix()
        return f"{name} and what follows was not looked at, which is more than {MOST_FOLDERS:,} folders"


def find_folders(directory: Path, worktree: Path) -> ProjectFolders:
    """Return the folders of the project, from `directory` down; ignore files count from the top of `worktree` on."""
    top = worktree if directory.is_relative_to(worktree) else directory
    found: list[Path] = []
    waiting = deque([(directory, _rules_of(directory, top))])
    while waiting:
        folder, rules = waiting.popleft()
        if len(found) == MOST_FOLDERS:
            return ProjectFolders(found, folder)
        found.append(folder)
        for inner in inner_folders(folder):
            name = inner.relative_to(top).as_posix()
            if not rules.ignores(name, is_folder=True):
                waiting.append((inner, rules.with_folder(top, name)))
    return ProjectFolders(found)


def inner_folders(folder: Path) -> list[Path]:
    """Return the folders in a folder, sorted, without hidden ones, generated ones and links."""
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(one.path) for one in entries if _is_own(one))
    except OSError:
        return []


def _is_own(entry: "os.DirEntry[str]") -> bool:
    return not entry.name.startswith(".") and entry.name not in GENERATED and entry.is_dir(follow_symlinks=False)


def _rules_of(directory: Path, top: Path) -> "Rules":
    """Return the ignore rules that hold in a folder at or below `top`."""
    rules = Rules().with_folder(top, "")
    parts = directory.relative_to(top).parts
    for depth in range(1, len(parts) + 1):
        rules = rules.with_folder(top, "/".join(parts[:depth]))
    return rules
