"""Protected files and files with secrets in the project: which exist, and which of them a command created or changed.

The folders of the project are listed once; later only those whose change time differs, which no command can set back, are listed
again. Folders of installed packages are left out, and of git's folders only what names programs counts. Source: SPEC, section 6.5.
"""

import os
import shutil
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct

from opencode_tui.engine.permission.protected import fold, is_protected, is_secret
from opencode_tui.engine.permission.protected_files import SKIPPED, git_folder_files, is_repository
from opencode_tui.engine.project.repository import read_small

FOLDER_LIMIT = 50_000
BEFORE_S = 0.1
"""How long the search before a command may compare known folders with the disk; the one after it is complete."""

_KEPT_BYTES = 64 * 1024
_KEPT_FILES = 2_000
_FILE_LIMIT = 20_000
_TICK_NS = 20_000_000
"""A change this soon after another one may leave the same time behind."""
_ENDINGS = (".json", ".jsonc", ".yml", ".yaml", ".code-workspace", ".", " ")
NOT_APPROVED = ".not-approved"
"""The ending of a file that keeps what an undo would destroy without the user's decision."""

_INERT = ".sample"
"""The ending of git's examples of hooks."""

Signature = tuple[int, int, int, int, int]


class ProtectedState(Struct, frozen=True):
    """The protected files at a moment, with what shows whether one changed; the content of small ones, to restore it."""

    files: dict[str, Signature]
    contents: dict[str, bytes]


class Change(Struct, frozen=True):
    """A protected file that a command created, changed or deleted."""

    path: Path
    kind: Literal["created", "changed", "deleted"]


class _Folder(Struct, frozen=True):
    """What is known of one folder: its change time when it was listed, the folders in it, and its entries that count."""

    changed_ns: int
    folders: tuple[str, ...]
    secret: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()


class ProjectFiles:
    """The protected files and those with secrets below the project. Blocks; for one thread at a time."""

    def __init__(
        self, root: Path, *, git_folder: Path | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`git_folder` is the project's git folder where it is outside, as that of a linked worktree."""
        self._root = str(root)
        self._git_folder = git_folder
        self._clock = clock
        self._known: dict[str, _Folder] = {}
        self._contents: dict[str, tuple[Signature, bytes]] = {}

    def refresh(self, *, limit_s: float | None = None) -> None:
        """List the folders that changed, the upper ones first; after the limit, folders that are known count as unchanged.

        The first search has no limit, so that no file with secrets is missed.
        """
        deadline = None if limit_s is None or not self._known else self._clock() + limit_s
        waiting, alive = deque([self._root]), set[str]()
        while waiting and len(alive) < FOLDER_LIMIT:
            if deadline is not None and self._clock() >= deadline:
                return
            path = waiting.popleft()
            folder = self._listed(path, self._known.get(path))
            if folder is not None:
                alive.add(path)
                waiting.extend(folder.folders)
        for path in self._known.keys() - alive:
            del self._known[path]

    def secret(self) -> tuple[Path, ...]:
        """Return the files with secrets that were found."""
        return tuple(Path(path) for folder in self._known.values() for path in folder.secret)

    def protected(self) -> tuple[Path, ...]:
        """Return the protected files and folders that exist; of git's folders what names programs, so that commits work.

        Files by which a worktree and this repository name each other are left out while they do: git removes them with it.
        """
        found: list[Path] = []
        repositories = [Path(path) for folder in self._known.values() for path in folder.repositories]
        if self._git_folder is not None:
            repositories.append(self._git_folder)
        found += [path for one in repositories for path in git_folder_files(one)]
        found += [Path(path) for folder in self._known.values() for path in folder.protected]
        return tuple(path for path in found if not self._is_own_worktree(path))

    def record(self) -> ProtectedState:
        """Return the present state of the protected files, those in protected folders included."""
        files: dict[str, Signature] = {}
        for path in _files(self.protected()):
            if len(files) >= _FILE_LIMIT or path.endswith(_INERT):
                continue
            with suppress(OSError):
                files[path] = _signature(path)
                self._keep(path, files[path])
        contents = {path: self._contents[path][1] for path in files if path in self._contents}
        self._contents = {path: self._contents[path] for path in contents}
        return ProtectedState(files, contents)

    def _keep(self, path: str, signature: Signature) -> None:
        """Read a small file whose content is not known."""
        kept = self._contents.get(path)
        if kept is not None and kept[0] == signature:
            return
        self._contents.pop(path, None)
        if stat.S_ISREG(signature[0]) and signature[1] <= _KEPT_BYTES and len(self._contents) < _KEPT_FILES:
            self._contents[path] = signature, Path(path).read_bytes()

    def _is_own_worktree(self, path: Path) -> bool:
        common = self._git_folder or Path(self._root, ".git")
        if path.name == "commondir" and path.parent.parent == common / "worktrees":
            return (read_small(path) or "").strip() == "../.."
        if path.name != ".git" or path.parent == Path(self._root):
            return False
        target = (read_small(path) or "").removeprefix("gitdir:").strip()
        return bool(target) and Path(os.path.realpath(target)).parent == common / "worktrees"

    def _listed(self, path: str, known: _Folder | None) -> _Folder | None:
        try:
            changed_ns = os.stat(path, follow_symlinks=False).st_ctime_ns
            if known is not None and known.changed_ns == changed_ns:
                return known
            if time.time_ns() < changed_ns + _TICK_NS:
                changed_ns = 0
            with os.scandir(path) as entries:
                found = _classified(path, list(entries), changed_ns, self._root)
        except OSError:
            self._known.pop(path, None)
            return None
        self._known[path] = found
        return found


def compare(before: ProtectedState, after: ProtectedState) -> list[Change]:
    """Return the differences of two states, sorted by path."""
    changes: list[Change] = []
    for path in sorted(before.files.keys() | after.files.keys()):
        old, new = before.files.get(path), after.files.get(path)
        content = before.contents.get(path)
        if old == new or (
            content is not None and old and new and old[0] == new[0] and content == after.contents.get(path)
        ):
            continue
        changes.append(Change(Path(path), "created" if old is None else "deleted" if new is None else "changed"))
    return changes


def undo(changes: Iterable[Change], before: ProtectedState, *, keeps_copies: bool = False) -> list[Path]:
    """Delete the files that were created and restore the others; return those for which that failed.

    A large file, a link and anything special that was changed cannot be restored. With `keeps_copies` what would be lost stays
    beside, as `NAME.not-approved`.
    """
    remove = _move_aside if keeps_copies else _delete
    left: list[Path] = []
    for change in changes:
        old = before.files.get(str(change.path))
        content = before.contents.get(str(change.path))
        try:
            if old is None:
                remove(change.path)
            elif content is None:
                left.append(change.path)
            else:
                remove(change.path)
                change.path.parent.mkdir(parents=True, exist_ok=True)
                descriptor = os.open(change.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IMODE(old[0]))
                with open(descriptor, "wb") as file:
                    os.fchmod(descriptor, stat.S_IMODE(old[0]))
                    file.write(content)
        except OSError:
            left.append(change.path)
    return left


def _classified(folder: str, entries: "list[os.DirEntry[str]]", changed_ns: int, root: str) -> _Folder:
    names = {entry.name.casefold() for entry in entries}
    if folder != root and names & {"objects", "commondir"} and is_repository(Path(folder)):
        return _Folder(changed_ns, (), repositories=(folder,))
    folders: list[str] = []
    secret: list[str] = []
    protected: list[str] = []
    repositories: list[str] = []
    is_below_dots = "/." in folder[len(root) :]
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        if not (is_below_dots or _may_count(entry.name)):
            folders += [entry.path] if is_folder and entry.name not in SKIPPED else []
            continue
        name = fold(entry.name)
        if name == ".git" and is_folder:
            repositories.append(entry.path)
        elif is_protected(entry.path, root) and not (is_folder and name == ".opencode" and _has_plans(entry.path)):
            protected.append(entry.path)
        elif is_folder:
            folders += [] if entry.name in SKIPPED else [entry.path]
        elif is_secret(entry.path):
            secret.append(entry.path)
    return _Folder(changed_ns, tuple(folders), tuple(secret), tuple(protected), tuple(repositories))


def _may_count(name: str) -> bool:
    """Return whether a name may be that of a protected file or of one with secrets, outside of folders that begin with a dot.

    Most names are not; this is ten times faster than looking closely.
    """
    return (
        name[0] == "."
        or name.endswith(_ENDINGS)
        or not name.isascii()
        or not name.islower()
        or ".env" in name
        or "~" in name
    )


def _has_plans(folder: str) -> bool:
    """Return whether a folder has plans in it, which are not protected."""
    return os.path.lexists(os.path.join(folder, "plans"))


def _files(paths: Sequence[Path]) -> Iterator[str]:
    """Yield the files among the paths and below those that are folders."""
    for path in paths:
        if not path.is_dir() or path.is_symlink():
            yield str(path)
            continue
        for folder, _, names in os.walk(path):
            yield from (os.path.join(folder, name) for name in names)


def _signature(path: str) -> Signature:
    facts = os.lstat(path)
    return facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino


def _move_aside(path: Path) -> None:
    """Rename a file, or do nothing where there is none; a name is never used twice."""
    if not os.path.lexists(path):
        return
    target, number = path.with_name(f"{path.name}{NOT_APPROVED}"), 1
    while os.path.lexists(target):
        number += 1
        target = path.with_name(f"{path.name}{NOT_APPROVED}-{number}")
    os.rename(path, target)


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
