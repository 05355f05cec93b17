"""What is in a git folder that git must neither follow nor wait for: links, pipes, sockets, devices, and second names of files.

Git writes to some forty places of its folder and follows links at most of them: a link there makes git write or read another
file, a pipe lets it wait forever, and a second name of a file (a hard link) lets it write to what has the first. A list of names
cannot say where: so all folders are listed, through descriptors that follow no link.

A folder is listed again only when its change time differs, which no command can set back. So looking again costs one call of the
system for each folder, of which a git folder has some 300. The files in `objects` are not examined one by one: git writes none of
them in place.

Hooks are left out: they may be links, git only starts them, and they are protected themselves. So is the socket by which git's own
monitor of the file system reports to it.
"""

import os
import stat
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct

from opencode_tui.storage.safe_folder import NotAFolderError, OpenFolder, open_folder

FOLDER_LIMIT = 50_000
"""Folders of a git folder that are examined; one with more counts as a whole."""

_TICK_NS = 20_000_000
"""A change this soon after another one may leave the same time behind."""

_MONITOR = "fsmonitor--daemon.ipc"
_REPOSITORY = frozenset({"HEAD", "objects", "refs"})

_LINK, _PIPE, _DEVICE = "a link", "a pipe", "a device"
_ONLY_READ = ("info/exclude",)
"""What users lead to their own files, and git never writes nor quotes."""

_READ_IN_TREES = frozenset({".gitattributes", ".gitignore", ".gitmodules", ".mailmap"})
"""What git reads in any folder of a work tree."""

_READ_WHOLE = ("packed-refs", "index", "config", "config.worktree", "shallow", "info/exclude", "info/attributes")
_WHOLE_BYTES = 512 * 1024 * 1024
"""A million refs or files are 60 to 120 MB."""

_KEPT = 64
"""Git folders whose content is known."""

_Kind = Literal["repository", "modules", "worktrees", "worktree", "store", "inner"]
_INSIDE: dict[_Kind, dict[str, _Kind]] = {
    "repository": {
        "modules": "modules", "worktrees": "worktrees", "objects": "store", "lfs": "store", "annex": "store",
    },
    "worktree": {"modules": "modules"},
}  # fmt: skip
"""What the folders of a folder are; files of a store may have several names, as those that `git clone` shares."""
_OTHERS: dict[_Kind, _Kind] = {"modules": "modules", "worktrees": "worktree", "store": "store"}


class FoundEntry(Struct, frozen=True):
    """An entry that git must not meet: its path, and what it is, as `a link`."""

    path: str
    what: str

    @property
    def is_link(self) -> bool:
        """Whether it leads elsewhere."""
        return self.what == _LINK

    @property
    def lets_wait(self) -> bool:
        """Whether opening it may wait for others."""
        return self.what in (_PIPE, _DEVICE)


class _Folder(Struct, frozen=True):
    changed_ns: int
    number: int
    asked: _Kind
    folders: tuple[tuple[str, _Kind], ...]
    files: dict[str, int]
    """The inodes of the files by their names; of a store none."""
    found: tuple[FoundEntry, ...] = ()


class GitEntries:
    """Looks through one git folder, again and again. Blocks; for one thread at a time."""

    def __init__(self, folder: Path) -> None:
        """`folder` is the real path of a git folder: that of the repository, not of a linked worktree."""
        self._root = str(folder)
        self._known: dict[str, _Folder] = {}

    def refresh(self) -> tuple[FoundEntry, ...]:
        """Return what is there now that git must not meet, sorted by path; nothing where there is no such folder."""
        waiting: deque[tuple[str, _Kind]] = deque([(self._root, "repository")])
        alive: set[str] = set()
        found: list[FoundEntry] = []
        while waiting:
            if len(alive) >= FOLDER_LIMIT:
                found.append(FoundEntry(self._root, f"a git folder with more than {FOLDER_LIMIT} folders"))
                break
            path, kind = waiting.popleft()
            folder = self._listed(path, kind)
            if isinstance(folder, FoundEntry):
                found.append(folder)
            elif folder is not None:
                alive.add(path)
                waiting.extend(folder.folders)
                found += folder.found
        for path in self._known.keys() - alive:
            del self._known[path]
        return tuple(sorted(found, key=lambda one: one.path))

    def _listed(self, path: str, kind: _Kind) -> "_Folder | FoundEntry | None":
        known = self._known.get(path)
        try:
            if known is not None and known.asked == kind:
                # Only compared: a folder with the same number and time is the one that was listed, wherever the path leads now.
                facts = os.stat(path, follow_symlinks=False)
                if facts.st_ctime_ns == known.changed_ns and facts.st_ino == known.number:
                    return known
            with open_folder(path) as folder:
                facts = folder.status(".")
                is_past = time.time_ns() >= facts.st_ctime_ns + _TICK_NS
                made = _classified(folder, kind, facts.st_ctime_ns if is_past else 0, facts.st_ino, known)
        except NotAFolderError as error:
            return FoundEntry(path, _LINK) if error.is_link else None
        except FileNotFoundError:
            return None
        except OSError as error:
            return FoundEntry(path, f"a folder that cannot be listed ({error.strerror})")
        self._known[path] = made
        return made


_guard = threading.Lock()
_looked: OrderedDict[Path, GitEntries] = OrderedDict()


def look_through(folder: Path) -> tuple[FoundEntry, ...]:
    """Return what `GitEntries.refresh` does of a git folder, which is kept for the next time. For any thread; blocks."""
    with _guard:
        entries = _looked.pop(folder, None) or GitEntries(folder)
        _looked[folder] = entries
        while len(_looked) > _KEPT:
            _looked.popitem(last=False)
        return entries.refresh()


def find_awaited(tree: Path, is_over: Callable[[], bool]) -> FoundEntry | None:
    """Return the first pipe or device in a work tree with a name that git reads there, until `is_over`. Blocks."""
    waiting = deque([str(tree)])
    while waiting and not is_over():
        try:
            with open_folder(waiting.popleft()) as folder, folder.listing() as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.extend([] if entry.name == ".git" else [f"{folder.path}/{entry.name}"])
                    elif entry.name in _READ_IN_TREES and not entry.is_file(follow_symlinks=False):
                        found = FoundEntry(f"{folder.path}/{entry.name}", _what(entry, "inner"))
                        if found.lets_wait:
                            return found
        except OSError:  # it is gone, or not for this user
            continue
    return None


def find_oversized(folder: Path) -> FoundEntry | None:
    """Return the first file of a git folder that git would read whole into memory, and that is no file of a repository. Blocks."""
    for name in _READ_WHOLE:
        path = f"{folder}/{name}"
        with suppress(OSError):
            if os.lstat(path).st_size > _WHOLE_BYTES:
                return FoundEntry(path, f"larger than {_WHOLE_BYTES >> 20} MiB")
    return None


def is_only_read(entry: FoundEntry, folder: Path) -> bool:
    """Return whether git only reads what a link of the git folder leads to."""
    return entry.path in [f"{folder}/{name}" for name in _ONLY_READ]


def _classified(folder: OpenFolder, asked: _Kind, changed_ns: int, number: int, known: _Folder | None) -> _Folder:
    kind, older = asked, {} if known is None else known.files
    folders: list[str] = []
    files: dict[str, int] = {}
    found: dict[str, str] = {}
    with folder.listing() as entries:
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                folders.append(name)
            elif not entry.is_file(follow_symlinks=False):
                if what := _what(entry, kind):
                    found[name] = what
            elif kind != "store":
                # One that was here before may have got a name elsewhere since: that is where it is found.
                if older.get(name) != entry.inode() and _has_more_names(entry):
                    found[name] = "a second name of a file"
                else:
                    files[name] = entry.inode()
    if kind == "modules" and {*folders, *files, *found} >= _REPOSITORY:
        kind = "repository"
    if kind == "repository":
        found.pop("hooks", None)
        folders = [name for name in folders if name != "hooks"]
    inside, others = _INSIDE.get(kind, {}), _OTHERS.get(kind, "inner")
    return _Folder(
        changed_ns,
        number,
        asked,
        tuple((f"{folder.path}/{name}", inside.get(name, others)) for name in folders),
        files,
        tuple(FoundEntry(f"{folder.path}/{name}", what) for name, what in found.items()),
    )


def _what(entry: "os.DirEntry[str]", kind: _Kind) -> str:
    """Return what an entry is that is neither folder nor file; empty where git may meet it, or it is gone."""
    if entry.is_symlink():
        return _LINK
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
    except OSError:
        return ""
    if stat.S_ISSOCK(mode):
        return "" if entry.name == _MONITOR and kind in ("repository", "worktree") else "a socket"
    return _PIPE if stat.S_ISFIFO(mode) else _DEVICE


def _has_more_names(entry: "os.DirEntry[str]") -> bool:
    with suppress(OSError):  # it is gone, as locks are
        return entry.stat(follow_symlinks=False).st_nlink > 1
    return False
