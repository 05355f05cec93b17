"""Protected files and files with secrets in the project: which exist, and which of them a command created or changed.

The folders of the project are listed once; later only those whose change time differs, which no command can set back, are listed
again. Folders of installed packages are left out, and of git's folders only what names programs counts.
Source: docs/internals/sandbox.md#changes-of-protected-files.

Other commands may replace any folder by a link meanwhile, also by one that leads out of the project. So all that is listed, read,
deleted and written is an entry of a folder that was opened without following links.
"""

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Literal

from msgspec import Struct

from opencode_tui.engine.permission.protected import fold, is_protected, is_secret
from opencode_tui.engine.permission.protected_files import (
    SKIPPED,
    adds_programs,
    find_named_files,
    find_names,
    find_rebases,
    git_folder_files,
    is_rebase,
    is_repository,
)
from opencode_tui.engine.project.git_entries import GitEntries
from opencode_tui.storage.safe_folder import NotAFolderError, OpenFolder, open_folder

FOLDER_LIMIT = 200_000
"""More folders are not searched: then commands start only where the settings name what to hide."""
BEFORE_S = 0.1
"""How long the search before a command may compare known folders with the disk; the one after it is complete."""

_KEPT_BYTES = 64 * 1024
_KEPT_FILES = 2_000
_FILE_LIMIT = 200_000
_POINTER_BYTES = 4096
"""Most bytes of a file by which a worktree and its repository name each other."""
_TICK_NS = 20_000_000
"""A change this soon after another one may leave the same time behind."""
_ENDINGS = (
    ".json", ".jsonc", ".yml", ".yaml", ".toml", ".pkl", ".code-workspace", ".sublime-project", "_config.py", "vimrc", ".", " ",
)  # fmt: skip
_BEGINNINGS = ("husky", "lint", "simple-git-hooks")
NOT_APPROVED = ".not-approved"
"""The ending of a file that keeps what an undo would destroy without the user's decision."""

_INERT = ".sample"
"""The ending of git's examples of hooks."""

Signature = tuple[int, int, int, int, int]


class ProtectedState(Struct, frozen=True):
    """The protected files at a moment, with what shows whether one changed; the content of small ones, to restore it.

    `names` are the paths that settings of git name, there or not. `only_named` are the files that count for no other reason.
    `planted` are entries of git folders that git must not meet, with what they are; `heads` are files that say which commit is
    checked out and what is staged, to restore those in whose place such an entry is.
    """

    files: dict[str, Signature]
    contents: dict[str, bytes]
    names: frozenset[str] = frozenset()
    only_named: frozenset[str] = frozenset()
    planted: dict[str, str] = {}
    heads: dict[str, tuple[int, bytes]] = {}


class Change(Struct, frozen=True):
    """A protected file that a command created, changed or deleted."""

    path: Path
    kind: Literal["created", "changed", "deleted"]
    is_mixed: bool = False
    """Whether the file was also replaced from outside in the meantime, so that the change may be the user's."""
    what: str = ""
    """What it is in a git folder that git must not meet, as `a link`; empty for a file."""


class _Folder(Struct, frozen=True):
    """What is known of one folder: which one was listed and its change time then, the folders in it, and its entries that count."""

    changed_ns: int
    number: int
    folders: tuple[str, ...]
    secret: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()

    @property
    def is_of_interest(self) -> bool:
        """Whether something in it counts."""
        return bool(self.secret or self.protected or self.repositories)


class ProjectFiles:
    """The protected files and those with secrets below the project. Blocks; for one thread at a time."""

    def __init__(
        self,
        root: Path,
        *,
        git_folder: Path | None = None,
        more: Sequence[Path] = (),
        remembered: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`git_folder` is the project's git folder where it is outside, as that of a linked worktree.

        `more` are files that are protected although their names do not show it, `remembered` the folders with something that
        counts (`folders_of_interest`) when an earlier process looked.
        """
        self._remembered = remembered
        self._more = more
        self._root = str(root)
        self._git_folder = git_folder
        self._clock = clock
        self._known: dict[str, _Folder] = {}
        self._contents: dict[str, tuple[Signature, bytes]] = {}
        self._entries: dict[Path, GitEntries] = {}
        self.is_complete = True
        """Whether the last whole search has reached all folders."""
        self.is_recorded = True
        """Whether `record` has reached all protected files."""

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
        self.is_complete = not waiting
        if not self.is_complete:
            for path in self._remembered:
                if path not in self._known:
                    self._listed(path, None)
        for path in self._known.keys() - alive:
            known = self._known[path]
            # Beyond the limit what was found is kept: a command could make many folders so that it is missed.
            if self.is_complete or not known.is_of_interest or self._listed(path, known) is None:
                self._known.pop(path, None)

    def folders_of_interest(self) -> list[str]:
        """Return the folders in which something counts, sorted."""
        return sorted(path for path, folder in self._known.items() if folder.is_of_interest)

    def secret(self) -> tuple[Path, ...]:
        """Return the files with secrets that were found."""
        return tuple(Path(path) for folder in self._known.values() for path in folder.secret)

    def protected(self) -> tuple[Path, ...]:
        """Return the protected files and folders that exist; of git's folders what names programs, so that commits work.

        Files by which a worktree and this repository name each other are left out while they do: git removes them with it.
        """
        return (*self._named(), *self._protected_itself())

    def _protected_itself(self) -> tuple[Path, ...]:
        """Return those that are protected whatever settings of git name."""
        known = [folder for folder in self._known.values() if folder.protected or folder.repositories]
        found = [path for one in self._repositories() for path in git_folder_files(one)]
        found += [path for path in self._more if os.path.lexists(path)]
        found += [Path(path) for folder in known for path in folder.protected]
        return tuple(path for path in found if not self._is_own_worktree(path))

    def _named(self) -> tuple[Path, ...]:
        """Return those that settings of git name."""
        return tuple(path for names in self._with_worktrees() for path in find_named_files(*names) if path.exists())

    def _with_worktrees(self) -> list[tuple[Path, Path]]:
        """Return the git folders whose settings name files, each with the work tree to which its names are relative."""
        found = [(one, one.parent) for one in self._repositories() if one.name == ".git"]
        return found if self._git_folder is None else [*found, (self._git_folder, Path(self._root))]

    def _repositories(self) -> list[Path]:
        """Return the git folders in the project, and its own."""
        found = [Path(path) for folder in self._known.values() for path in folder.repositories]
        return found if self._git_folder is None else [*found, self._git_folder]

    def record(self) -> ProtectedState:
        """Return the present state of the protected files, those in protected folders included, and of rebases that are under way.

        Of these only new steps that start programs count (`compare`): a command may continue with a rebase.
        """
        rebases = (path for one in self._repositories() for path in find_rebases(one))
        files: dict[str, Signature] = {}
        self._record_all((*self._protected_itself(), *rebases), files)
        itself = set(files)
        self._record_all(self._named(), files)
        only_named = frozenset(files.keys() - itself)
        planted = self._planted()
        self._record_all(map(Path, planted), files)
        self.is_recorded = len(files) < _FILE_LIMIT
        heads: dict[str, Signature] = {}
        self._record_all((path for one in self._repositories() for path in _head_files(one)), heads)
        kept = {path: self._contents[path][1] for path in (*files, *heads) if path in self._contents}
        self._contents = {path: self._contents[path] for path in kept}
        names = frozenset(name for one in self._with_worktrees() for name in find_names(*one))
        return ProtectedState(
            files,
            {path: kept[path] for path in files if path in kept},
            names,
            only_named,
            {path: what for path, what in planted.items() if path in files},
            {path: (stat.S_IMODE(facts[0]), kept[path]) for path, facts in heads.items() if path in kept},
        )

    def _planted(self) -> dict[str, str]:
        """Return what is in the git folders that git must not meet, with what it is."""
        repositories = self._repositories()
        self._entries = {one: self._entries.get(one) or GitEntries(one) for one in repositories}
        return {found.path: found.what for one in self._entries.values() for found in one.refresh()}

    def _record_all(self, listed: Iterable[Path], files: dict[str, Signature]) -> None:
        """Add these files, and those in these folders; a folder that is closed to us counts itself, as what it may hold."""
        waiting: deque[tuple[str, list[str] | None]] = deque(
            (folder or "/", [name for _, _, name in group])
            for folder, group in groupby((str(path).rpartition("/") for path in listed), itemgetter(0))
        )
        folders_left = FOLDER_LIMIT
        while waiting and folders_left > 0 and len(files) < _FILE_LIMIT:
            path, names = waiting.popleft()
            folders_left -= 1
            try:
                with open_folder(path) as folder:
                    inner = self._record_entries(folder, names, files)
                    waiting.extendleft((_join(path, name), None) for name in reversed(inner))
            except PermissionError:
                with suppress(OSError):
                    files[path] = _signature(os.stat(path, follow_symlinks=False))
            except OSError:
                pass

    def _record_entries(self, folder: OpenFolder, names: list[str] | None, files: dict[str, Signature]) -> list[str]:
        """Add the files of a folder, all or the named ones, and return the folders in it."""
        folders: list[str] = []
        for name in [name for name, _ in folder.scan()] if names is None else names:
            if name.endswith(_INERT) or len(files) >= _FILE_LIMIT:
                continue
            with suppress(OSError):
                facts = folder.status(name)
                if stat.S_ISDIR(facts.st_mode):
                    folders.append(name)
                    continue
                path = _join(folder.path, name)
                files[path] = _signature(facts)
                self._keep(folder, name, path, files[path])
        return folders

    def _keep(self, folder: OpenFolder, name: str, path: str, signature: Signature) -> None:
        """Read a small file whose content is not known."""
        kept = self._contents.get(path)
        if kept is not None and kept[0] == signature:
            return
        self._contents.pop(path, None)
        if stat.S_ISREG(signature[0]) and signature[1] <= _KEPT_BYTES and len(self._contents) < _KEPT_FILES:
            content, facts = folder.read(name, _KEPT_BYTES + 1)
            if _signature(facts) == signature:
                self._contents[path] = signature, content

    def _is_own_worktree(self, path: Path) -> bool:
        common = self._git_folder or Path(self._root, ".git")
        if path.name == "commondir" and path.parent.parent == common / "worktrees":
            return _read_pointer(path) == "../.."
        if path.name != ".git" or path.parent == Path(self._root):
            return False
        target = _read_pointer(path).removeprefix("gitdir:").strip()
        return bool(target) and Path(os.path.realpath(path.parent / target)).parent == common / "worktrees"

    def _listed(self, path: str, known: _Folder | None) -> _Folder | None:
        try:
            if known is not None:
                # Only compared: a folder with the same number and time is the one that was listed, wherever the path leads now.
                facts = os.stat(path, follow_symlinks=False)
                if facts.st_ctime_ns == known.changed_ns and facts.st_ino == known.number:
                    return known
            with open_folder(path) as folder:
                facts = folder.status(".")
                is_past = time.time_ns() >= facts.st_ctime_ns + _TICK_NS
                found = _classified(folder, facts, facts.st_ctime_ns if is_past else 0, self._root)
        except OSError:
            self._known.pop(path, None)
            return None
        self._known[path] = found
        return found


def compare(before: ProtectedState, after: ProtectedState) -> list[Change]:
    """Return the differences of two states, sorted by path.

    A file that counts only because settings name it since, may have been there before: it is no change, while these settings are.
    """
    changes: list[Change] = []
    still_named = after.names & before.names
    for path in sorted(before.files.keys() | after.files.keys()):
        old, new = before.files.get(path), after.files.get(path)
        content = before.contents.get(path)
        if is_rebase(path) and not adds_programs(content or b"", after.contents.get(path, b"exec " if new else b"")):
            continue
        is_planted = path in after.planted.keys() - before.planted.keys()
        is_same = content is not None and old and new and old[0] == new[0] and content == after.contents.get(path)
        if old == new or (is_same and not is_planted):
            continue
        if old is None and path in after.only_named and not any(_is_at_or_below(path, name) for name in still_named):
            continue
        kind = "created" if old is None else "deleted" if new is None else "changed"
        if path in before.planted and new is None:
            continue  # no one misses it
        changes.append(Change(Path(path), kind, what=after.planted.get(path, "")))
    return changes


def _is_at_or_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def undo(changes: Iterable[Change], before: ProtectedState, *, keeps_copies: bool = False) -> dict[Path, str]:
    """Delete the files that were created and restore the others; return those for which that failed, with the reason.

    A large file, a link and anything special that was changed cannot be restored, nor can a file whose folder is a link now. With
    `keeps_copies` what would be lost is kept as `NAME.not-approved`. So do new files where an old one cannot be restored for
    that reason: they may be that file, moved. A folder is never deleted.
    """
    changes = list(changes)
    planted = [change for change in changes if change.what]
    restored = [change for change in changes if str(change.path) in before.files and not change.what]
    created = [change for change in changes if str(change.path) not in before.files and not change.what]
    keeps_created = keeps_copies or not all(_can_enter(change.path.parent) for change in restored)
    left = _remove_planted(planted, before)
    for change in sorted(created, key=lambda one: one.path, reverse=True):
        try:
            with open_folder(change.path.parent) as folder:
                _remove(folder, change.path.name, keeps_copy=keeps_created)
        except FileNotFoundError:
            continue
        except OSError as error:
            if not isinstance(error, NotAFolderError) or error.is_link:
                left[change.path] = _explain(error)
    for change in restored:
        mode, content = before.files[str(change.path)][0], before.contents.get(str(change.path))
        if content is None:
            left[change.path] = "its old content is not known"
            continue
        try:
            with open_folder(change.path.parent, made=[]) as folder:
                is_folder = (found := folder.find(change.path.name)) is not None and stat.S_ISDIR(found.st_mode)
                _remove(folder, change.path.name, keeps_copy=keeps_copies or is_folder)
                _write(folder, change.path.name, content, stat.S_IMODE(mode))
        except OSError as error:
            left[change.path] = _explain(error)
    return left


def _remove_planted(planted: Iterable[Change], before: ProtectedState) -> dict[Path, str]:
    """Delete what git must not meet, whose content is elsewhere, and restore the file in whose place it is."""
    left: dict[Path, str] = {}
    for change in planted:
        try:
            with open_folder(change.path.parent) as folder:
                _remove(folder, change.path.name, keeps_copy=False)
                path = str(change.path)
                if path in before.contents:
                    _write(folder, change.path.name, before.contents[path], stat.S_IMODE(before.files[path][0]))
                elif path in before.heads:
                    _write(folder, change.path.name, before.heads[path][1], before.heads[path][0])
        except FileNotFoundError:
            continue
        except OSError as error:
            left[change.path] = _explain(error)
    return left


def _head_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a git folder that say which commit is checked out, and what is staged."""
    head = _read_pointer(folder / "HEAD")
    yield from (folder / "HEAD", folder / "packed-refs", folder / "index")
    name = head.removeprefix("ref: ")
    if head.startswith("ref: refs/heads/") and ".." not in name.split("/"):
        yield folder / name


def _can_enter(path: Path) -> bool:
    """Return whether a folder can be opened, or made because it is missing: no part of its path is a link or a file."""
    try:
        with open_folder(path):
            return True
    except OSError as error:
        return isinstance(error, FileNotFoundError)


def _remove(folder: OpenFolder, name: str, *, keeps_copy: bool) -> None:
    """Delete or rename an entry, or do nothing where there is none. Raises OSError for a folder that is not to be kept."""
    if keeps_copy:
        _move_aside(folder, name)
        return
    with suppress(FileNotFoundError):
        folder.remove(name)


def _explain(error: OSError) -> str:
    if isinstance(error, NotAFolderError):
        return f"{error.filename} is a {'link' if error.is_link else 'file'} now"
    return error.strerror or str(error)


def _write(folder: OpenFolder, name: str, content: bytes, mode: int) -> None:
    descriptor = folder.create(name, mode)
    with open(descriptor, "wb") as file:
        folder.set_file_mode(descriptor, mode)
        file.write(content)


def _classified(opened: OpenFolder, facts: os.stat_result, changed_ns: int, root: str) -> _Folder:
    folder, entries, number = opened.path, opened.scan(), facts.st_ino
    names = {name.casefold() for name, _ in entries}
    folders: list[str] = []
    secret: list[str] = []
    protected: list[str] = []
    # What else is in such a folder counts all the same: a command can make any folder look like one.
    is_bare = folder != root and names & {"objects", "commondir"} and is_repository(Path(folder))
    repositories = [folder] if is_bare else []
    is_below_dots = "/." in folder[len(root) :]
    for name, is_folder in entries:
        may_count = is_below_dots or _may_count(name)
        if not may_count and not (is_folder and name not in SKIPPED):
            continue
        path = _join(folder, name)
        if not may_count:
            folders.append(path)
        elif (folded := fold(name)) == ".git" and is_folder:
            repositories.append(path)
        elif is_protected(path, root) and not (is_folder and folded == ".opencode" and _has_plans(opened, name)):
            protected.append(path)
        elif is_folder:
            folders += [] if name in SKIPPED else [path]
        elif is_secret(path):
            secret.append(path)
    return _Folder(changed_ns, number, tuple(folders), tuple(secret), tuple(protected), tuple(repositories))


def _may_count(name: str) -> bool:
    """Return whether a name may be that of a protected file or of one with secrets, outside of folders that begin with a dot.

    Most names are not; this is ten times faster than looking closely.
    """
    return (
        name[0] == "."
        or name.endswith(_ENDINGS)
        or name.startswith(_BEGINNINGS)
        or not name.isascii()
        or not name.islower()
        or ".env" in name
        or "~" in name
    )


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder != "/" else f"/{name}"


def _has_plans(opened: OpenFolder, name: str) -> bool:
    """Return whether a folder has plans in it, which are not protected."""
    with suppress(OSError), opened.enter(name) as folder:
        return folder.find("plans") is not None
    return False


def _read_pointer(path: Path) -> str:
    """Return the text of a small file, as for git to the first null character; empty where it cannot be read."""
    with suppress(OSError), open_folder(path.parent) as folder:
        return os.fsdecode(folder.read(path.name, _POINTER_BYTES)[0].partition(b"\0")[0]).strip()
    return ""


def _signature(facts: os.stat_result) -> Signature:
    return facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino


def _move_aside(folder: OpenFolder, name: str) -> None:
    """Rename a file, or do nothing where there is none; a name is never used twice."""
    if folder.find(name) is None:
        return
    target, number = f"{name}{NOT_APPROVED}", 1
    while folder.find(target) is not None:
        number += 1
        target = f"{name}{NOT_APPROVED}-{number}"
    folder.rename(name, target)
