"""The paths in the index of the user's repository, read from the index file itself: git does not run, nothing is refreshed.

Source: git's index format, versions 2 to 4, with split indexes. An unreadable index counts as empty.
"""

import os
import struct
from dataclasses import dataclass
from pathlib import Path

_HEAD = struct.Struct(">4sII")
_STAT_BYTES = 40
_EXTENDED = 0x4000
_POINTER_LIMIT = 4096


@dataclass(frozen=True, slots=True)
class Tracked:
    """Paths in an index and the folders above them, all below `base`."""

    paths: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()


def find_git_dir(folder: str) -> Path | None:
    """Return the git folder of a repository whose work tree is `folder`, also when `.git` is a file that points to it."""
    mark = Path(folder, ".git")
    try:
        if mark.is_dir():
            return mark
        with open(mark, "rb") as file:
            text = os.fsdecode(file.read(_POINTER_LIMIT)).strip()
    except OSError:
        return None
    return Path(folder, text.removeprefix("gitdir:").strip()) if text.startswith("gitdir:") else None


def shared_dir(git_dir: Path) -> Path:
    """Return the folder that a linked work tree's git folder shares with the main one; else the folder itself."""
    try:
        with open(git_dir / "commondir", "rb") as file:
            return git_dir / os.fsdecode(file.read(_POINTER_LIMIT)).strip()
    except OSError:
        return git_dir


def read_tracked(git_dir: Path, base: str) -> Tracked:
    """Return what a repository tracks, as paths that begin with `base` ("" for the worktree itself)."""
    try:
        names = _names(git_dir)
    except (OSError, ValueError, IndexError, struct.error):
        return Tracked()
    start = f"{base}/" if base else ""
    # A split index names an entry that it replaces in the shared one by nothing.
    paths = frozenset(start + os.fsdecode(name) for name in names if name)
    folders: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return Tracked(paths, frozenset(folders))


def _names(git_dir: Path) -> list[bytes]:
    hash_bytes = 32 if b"sha256" in _config_of(git_dir).lower() else 20
    data = (git_dir / "index").read_bytes()
    names, at = _entries(data, hash_bytes)
    shared = _shared_index(data, at, hash_bytes)
    if shared is not None:
        names += _entries((git_dir / f"sharedindex.{shared.hex()}").read_bytes(), hash_bytes)[0]
    return names


def _config_of(git_dir: Path) -> bytes:
    try:
        return (shared_dir(git_dir) / "config").read_bytes()
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
