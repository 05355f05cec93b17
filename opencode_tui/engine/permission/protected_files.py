"""What only the file system knows about protected files: repositories without a `.git` folder, and which files exist. Blocks."""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

from opencode_tui.config.sources.project_file import fold
from opencode_tui.engine.permission.protected import is_protected

FOLDER_LIMIT = 3_000
"""Maximum number of folders that are searched for protected files."""

SKIPPED = frozenset(
    {"node_modules", "bower_components", "site-packages", ".venv", "venv", ".tox", ".nox", "__pycache__"}
)
"""Folders of installed packages: many packages bring such files, and nothing starts their programs."""

_GIT_FOLDER_FILES = ("config", "config.worktree", "hooks", "info/attributes", "commondir")
"""What git reads as configuration in its folder; the rest must stay writable for commits."""

_REPOSITORY_NAMES = frozenset({"HEAD", "config", "objects", "refs", "commondir"})


def find_repository_writes(paths: Iterable[Path], root: Path) -> set[Path]:
    """Return those of the paths that are inside a repository without a `.git` folder, or whose creation makes a folder into one.

    Git accepts any folder with `HEAD`, `objects` and `refs` as a repository and starts what its `config` names. The paths are
    written together; only folders below `root` count.
    """
    names: dict[Path, set[str]] = {}
    members: dict[Path, set[Path]] = {}
    for path in paths:
        child = path
        for folder in path.parents:
            if folder == root or not folder.is_relative_to(root):
                break
            names.setdefault(folder, set()).add(child.name)
            members.setdefault(folder, set()).add(path)
            child = folder
    found: set[Path] = set()
    for folder, written in names.items():
        if is_repository(folder, written):
            found |= members[folder]
    return found


def is_repository(folder: Path, written: Iterable[str] = ()) -> bool:
    """Return whether git accepts a folder as a repository, or as the shared part of one, once the `written` names are in it."""
    new = {fold(name) for name in written}
    present = {name for name in _REPOSITORY_NAMES if name.casefold() in new or os.path.lexists(folder / name)}
    return {"HEAD", "commondir"} <= present or ({"objects", "refs"} <= present and bool(present & {"HEAD", "config"}))


def find_protected_files(root: Path) -> list[Path]:
    """Return the existing protected files of a project, sorted: files, links, and folders that are protected with all content.

    Of git's folders only what names programs is listed, so that commits work where these are read-only. The root is a real path.
    Folders of installed packages are left out, and a search ends after `FOLDER_LIMIT` folders, top levels first.
    """
    found: list[Path] = []
    waiting = deque([root])
    for _ in range(FOLDER_LIMIT):
        if not waiting:
            break
        folder = waiting.popleft()
        if folder != root and is_repository(folder):
            found.extend(git_folder_files(folder))
            continue
        for entry in _entries(folder):
            path = Path(entry.path)
            is_folder = entry.is_dir(follow_symlinks=False)
            if fold(entry.name) == ".git" and is_folder:
                found.extend(git_folder_files(path))
            elif is_protected(entry.path, str(root)) and not (is_folder and _has_plans(path)):
                found.append(path)
            elif is_folder and entry.name not in SKIPPED:
                waiting.append(path)
    return sorted(found)


def git_folder_files(folder: Path) -> Iterator[Path]:
    """Yield the existing files and folders of a git folder that name programs, with those of its submodules and worktrees."""
    for name in _GIT_FOLDER_FILES:
        if os.path.lexists(folder / name):
            yield folder / name
    for entry in _entries(folder / "worktrees"):
        yield from (
            path for name in ("config.worktree", "commondir") if os.path.lexists(path := Path(entry.path, name))
        )
    yield from _module_files(folder / "modules")


def _module_files(folder: Path) -> Iterator[Path]:
    """Yield those of the submodules, whose names may have several parts."""
    for entry in _entries(folder):
        if entry.is_dir(follow_symlinks=False):
            path = Path(entry.path)
            yield from git_folder_files(path) if is_repository(path) else _module_files(path)


def _has_plans(folder: Path) -> bool:
    """Return whether a folder is `.opencode` with plans in it, which are not protected."""
    return fold(folder.name) == ".opencode" and os.path.lexists(folder / "plans")


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
