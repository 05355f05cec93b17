"""The paths in the index of the user's repository, read from the index file itself: git does not run, nothing is refreshed.

Source: git's index format, versions 2 to 4, with split indexes. An unreadable index counts as empty.
"""

import os
import stat
import struct
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from opencode_tui.engine.snapshot.entry import folders_above
from opencode_tui.engine.snapshot.scan.ignore import text_of_rules
from opencode_tui.storage.safe_folder import OpenFolder, open_folder

_HEAD = struct.Struct(">4sII")
_STAT_BYTES = 40
_EXTENDED = 0x4000
_POINTER_LIMIT = 4096
_LIMIT = 1 << 29
"""Bytes of the largest index that is read; one of a million files has 100 MB."""

Mark = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Tracked:
    """Paths in an index and the folders above them, all below `base`."""

    paths: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()


def is_repository(folder: OpenFolder) -> bool:
    """Return whether a folder is the work tree of a repository, also when its `.git` is a file that points elsewhere."""
    try:
        return stat.S_ISDIR(folder.status(".git").st_mode) or _pointer(folder) is not None
    except OSError:
        return False


def exclude_text(folder: OpenFolder) -> str:
    """Return the text of `info/exclude` of the repository in a folder; "" without one."""
    with _git_folders(folder) as found, suppress(OSError):
        if found is not None:
            with found.shared.enter("info") as info:
                return text_of_rules(info.read("exclude", _LIMIT)[0])
    return ""


def index_mark(folder: OpenFolder) -> Mark:
    """Return what differs when the index of the repository in a folder was changed."""
    with _git_folders(folder) as found, suppress(OSError):
        if found is not None:
            status = found.own.status("index")
            return (status.st_mtime_ns, status.st_size, status.st_ino)
    return (0, 0, 0)


def read_tracked(folder: OpenFolder, base: str) -> Tracked:
    """Return what the repository in a folder tracks, as paths that begin with `base` ("" for the worktree itself)."""
    try:
        with _git_folders(folder) as found:
            names = [] if found is None else _names(found)
    except (OSError, ValueError, IndexError, struct.error):
        return Tracked()
    start = f"{base}/" if base else ""
    # A split index names an entry that it replaces in the shared one by nothing.
    paths = frozenset(start + os.fsdecode(name) for name in names if name)
    return Tracked(paths, frozenset(folders_above(paths)))


@dataclass(frozen=True, slots=True)
class _GitFolders:
    """The git folder of a repository, and the one that a linked work tree shares with the main one, else the same."""

    own: OpenFolder
    shared: OpenFolder


@contextmanager
def _git_folders(folder: OpenFolder) -> Generator[_GitFolders | None]:
    """Open the git folders of the repository in a folder for the context; None without one.

    In the folder no link is followed. Where git itself points elsewhere it is the user's path: only the names of an index and rules
    are read there, of regular files.
    """
    with ExitStack() as stack:
        found: _GitFolders | None = None
        with suppress(OSError, ValueError):
            pointer = _pointer(folder)
            git = folder.enter(".git") if pointer is None else _open_elsewhere(folder, pointer)
            own = stack.enter_context(git)
            found = _GitFolders(own, own)
            common = _text(own, "commondir")
            if common:
                found = _GitFolders(own, stack.enter_context(_open_elsewhere(own, common)))
        yield found


def _open_elsewhere(folder: OpenFolder, path: str) -> AbstractContextManager[OpenFolder]:
    return open_folder(Path(os.path.realpath(os.path.join(folder.path, path))))


def _pointer(folder: OpenFolder) -> str | None:
    """Return the path in the file `.git`, None when there is no such file."""
    text = _text(folder, ".git")
    return text.removeprefix("gitdir:").strip() if text.startswith("gitdir:") else None


def _text(folder: OpenFolder, name: str) -> str:
    """Return the text of a short file, "" for anything else."""
    try:
        return os.fsdecode(folder.read(name, _POINTER_LIMIT)[0]).strip()
    except OSError:
        return ""


def _names(git: _GitFolders) -> list[bytes]:
    hash_bytes = 32 if b"sha256" in _config_of(git).lower() else 20
    data = git.own.read("index", _LIMIT)[0]
    names, at = _entries(data, hash_bytes)
    shared = _shared_index(data, at, hash_bytes)
    if shared is not None:
        names += _entries(git.own.read(f"sharedindex.{shared.hex()}", _LIMIT)[0], hash_bytes)[0]
    return names


def _config_of(git: _GitFolders) -> bytes:
    try:
        return git.shared.read("config", _LIMIT)[0]
    except OSError:
        return b""


def _entries(data: bytes, hash_bytes: int) -> tuple[list[bytes], int]:
    """Return the names and where they end."""
    mark, version, count = _HEAD.unpack_from(data)
    if mark != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("not an index that is known")
    at = _HEAD.size
    names: list[bytes] = []
    name = b""
    for _ in range(count):
        start = at
        at += _STAT_BYTES + hash_bytes + 2
        if int.from_bytes(data[at - 2 : at], "big") & _EXTENDED:
            at += 2
        if version == 4:
            cut, at = _variable_number(data, at)
            end = data.index(b"\0", at)
            name = name[: len(name) - cut] + data[at:end]
            at = end + 1
        else:
            end = data.index(b"\0", at)
            name = data[at:end]
            at = start + ((end - start) // 8 + 1) * 8
        names.append(name)
    return names, at


def _variable_number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number in the coding of pack offsets, and where it ends."""
    number = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        number = (number + 1) << 7 | data[at] & 0x7F
    return number, at + 1


def _shared_index(data: bytes, at: int, hash_bytes: int) -> bytes | None:
    """Return the id of the index that a split one builds on."""
    while at + 8 <= len(data) - hash_bytes:
        mark, size = struct.unpack_from(">4sI", data, at)
        if mark == b"link":
            name = data[at + 8 : at + 8 + hash_bytes]
            return name if any(name) else None
        at += 8 + size
    return None
