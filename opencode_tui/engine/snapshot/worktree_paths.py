"""The paths of a worktree's snapshot store, and the folders for which there is none."""

import hashlib
import os
from pathlib import Path

from msgspec import Struct

from opencode_tui.storage.paths import Paths
from opencode_tui.storage.task_folders import is_task_worktree

_OFF = "undo is off here: "


class StorePaths(Struct, frozen=True):
    """The folder of one worktree's snapshots and the paths in it; `name` is a hash of the worktree's real path."""

    name: str
    folder: Path

    @property
    def objects(self) -> Path:
        """The bare git folder."""
        return self.folder / "git"

    @property
    def cache(self) -> str:
        """The file with the stat cache of the last scan."""
        return str(self.folder / "scan-cache")

    @property
    def change_log(self) -> str:
        """The file that says which session changed which path."""
        return str(self.folder / "claims.jsonl")

    @property
    def journal(self) -> str:
        """The file that describes a revert in progress."""
        return str(self.folder / "revert.json")

    @property
    def unlocked(self) -> str:
        """The file with the paths whose modes are changed for a moment."""
        return str(self.folder / "unlocked.jsonl")

    @property
    def completed(self) -> str:
        """The folder of completed reverts that their callers have not stored yet."""
        return str(self.folder / "finished")

    @property
    def has_leftovers(self) -> bool:
        """Return whether a revert is in progress, was interrupted, or was completed and not stored by its caller; blocks."""
        try:
            return os.path.exists(self.journal) or bool(os.listdir(self.completed))
        except OSError:  # there never was one
            return False

    @property
    def log(self) -> str:
        """The file with the ids and times of all snapshots."""
        return str(self.folder / "snapshots.jsonl")


def store_name(worktree: Path) -> str:
    """Return the name of a worktree's store, a hash of its real path; blocks."""
    return hashlib.sha256(os.fsencode(os.path.realpath(worktree))).hexdigest()[:40]


def find_store(paths: Paths, *, project_id: str, worktree: Path) -> StorePaths:
    """Return the paths of a worktree's store, in its project's folder.

    A store made while the project had another id (before its first commit) keeps its folder.
    """
    name = store_name(worktree)
    own = paths.snapshot / project_id / name
    if not own.exists():
        for other in sorted(paths.snapshot.glob(f"*/{name}")):
            return StorePaths(name, other)
    return StorePaths(name, own)


def why_unavailable(worktree: Path, paths: Paths, *, is_on: bool) -> str | None:
    """Return the reason why a folder can have no snapshots, as `undo is off here: …`; None when it can. Blocks."""
    if not is_on and is_task_worktree(paths, Path(os.path.realpath(worktree))):
        return f"{_OFF}this worktree is removed when the task ends"
    if not is_on:
        return f"{_OFF}`snapshot` is false in your settings"
    real, home = Path(os.path.realpath(worktree)), Path(os.path.realpath(paths.home))
    if real == Path(real.anchor):
        return f"{_OFF}{worktree} is the whole file system"
    if home.is_relative_to(real):
        return f"{_OFF}{worktree} {'is' if real == home else 'holds'} your home folder"
    if real.is_relative_to(os.path.realpath(paths.data)):
        return f"{_OFF}{worktree} is in the data folder of opencode-tui"
    return None


def own_folders(worktree: Path, paths: Paths) -> list[str]:
    """Return the program's own folders inside the worktree, relative to it."""
    real = os.path.realpath(worktree)
    found: list[str] = []
    for folder in (paths.data, paths.state, paths.cache):
        path = os.path.realpath(folder)
        if path.startswith(f"{real}/"):
            found.append(os.path.relpath(path, real))
    return found
