"""Protected files that only the file system shows: repositories without a `.git` folder, and what is in git folders. Blocks."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from opencode_tui.config.sources.project_file import fold
from opencode_tui.engine.permission.git_config import NamedFiles, find_named, find_user_settings

SKIPPED = frozenset(
    {"node_modules", "bower_components", "site-packages", ".venv", "venv", ".tox", ".nox", "__pycache__"}
)
"""Folders of installed packages: many packages bring such files, and nothing starts their programs."""

_GIT_FOLDER_FILES = ("config", "config.worktree", "hooks", "info/attributes", "commondir", "objects/info/alternates")
"""What git reads as configuration in its folder; the rest must stay writable for commits, as files (`git_entries.py`)."""

_FILES = frozenset({"HEAD", "config", "commondir"})
_FOLDERS = frozenset({"objects", "refs"})
"""What git takes a folder for a repository by. A folder `config`, as source code has, is no settings for it."""


def find_repository_writes(paths: Iterable[Path], root: Path) -> set[Path]:
    """Return those of the paths that are inside a repository without a `.git` folder, or whose creation makes a folder into one.

    Git accepts any folder with `HEAD`, `objects` and `refs` as a repository and starts what its `config` names. The paths are
    written together; only folders below `root` count.
    """
    files: dict[Path, set[str]] = {}
    folders: dict[Path, set[str]] = {}
    members: dict[Path, set[Path]] = {}
    for path in paths:
        child = path
        for folder in path.parents:
            if folder == root or not folder.is_relative_to(root):
                break
            (files if child == path else folders).setdefault(folder, set()).add(child.name)
            members.setdefault(folder, set()).add(path)
            child = folder
    found: set[Path] = set()
    for folder, written in members.items():
        if is_repository(folder, files.get(folder, ()), folders.get(folder, ())):
            found |= written
    return found


def is_repository(folder: Path, files: Iterable[str] = (), folders: Iterable[str] = ()) -> bool:
    """Return whether git accepts a folder as a repository, or as the shared part of one, once these names are written in it."""
    new_files, new_folders = {fold(name) for name in files}, {fold(name) for name in folders}
    present = {name for name in _FILES if name.casefold() in new_files or _may_be(folder / name, is_folder=False)}
    present |= {name for name in _FOLDERS if name.casefold() in new_folders or _may_be(folder / name, is_folder=True)}
    return {"HEAD", "commondir"} <= present or ({"objects", "refs"} <= present and bool(present & {"HEAD", "config"}))


def _may_be(path: Path, *, is_folder: bool) -> bool:
    """Return whether there is a folder, or something else; a link may be both, whatever it leads to now."""
    return os.path.lexists(path) and (path.is_symlink() or path.is_dir() == is_folder)


def find_named_files(git_folder: Path, worktree: Path) -> Iterator[Path]:
    """Yield what a repository's and the user's settings name inside its work tree: hooks, included settings, programs."""
    named = _find_named(git_folder, worktree)
    for path in (*filter(None, [named.hooks]), *named.included, *(path for path in named.programs if path.is_file())):
        if not path.is_relative_to(git_folder):
            yield path


def find_names(git_folder: Path, worktree: Path) -> set[str]:
    """Return the paths in a work tree that a repository's and the user's settings name, there or not; any word may be a program."""
    return {str(path) for path in _find_named(git_folder, worktree).all()}


def _find_named(git_folder: Path, worktree: Path) -> NamedFiles:
    return find_named([*find_user_settings(), git_folder / "config"], Path(os.path.realpath(worktree)))


def git_folder_files(folder: Path) -> Iterator[Path]:
    """Yield the existing files and folders of a git folder that name programs, with those of its submodules and worktrees."""
    for name in _GIT_FOLDER_FILES:
        if os.path.lexists(folder / name):
            yield folder / name
    for name in ("remotes", "branches"):  # each file is a remote; git makes the second folder, which no one uses
        if _entries(folder / name):
            yield folder / name
    for entry in _entries(folder / "worktrees"):
        yield from (
            path for name in ("config.worktree", "commondir") if os.path.lexists(path := Path(entry.path, name))
        )
    yield from _module_files(folder / "modules")


_TODO = "rebase-merge/git-rebase-todo"
_EXEC = re.compile(rb"^[ \t]*(?:x|exec)[ \t].*", re.MULTILINE)


def find_rebases(folder: Path) -> Iterator[Path]:
    """Yield the existing lists of steps of the rebases that are under way in a git folder and its worktrees."""
    for one in (folder, *(Path(entry.path) for entry in _entries(folder / "worktrees"))):
        if os.path.lexists(one / _TODO):
            yield one / _TODO


def is_rebase(path: str) -> bool:
    """Return whether a path is that of a list of steps of a rebase."""
    return path.endswith("/" + _TODO)


def adds_programs(before: bytes, after: bytes) -> bool:
    """Return whether a list of steps has lines that start programs, which the former one has not."""
    return not set(_EXEC.findall(after)) <= set(_EXEC.findall(before))


def _module_files(folder: Path) -> Iterator[Path]:
    """Yield those of the submodules, whose names may have several parts."""
    for entry in _entries(folder):
        if entry.is_dir(follow_symlinks=False):
            path = Path(entry.path)
            yield from git_folder_files(path) if is_repository(path) else _module_files(path)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
