"""The result of the last scan, folder by folder, so that the next one reads only what changed.

A damaged or lost cache costs one full scan. It is valid only while all objects that it names are stored, which is certain while
every pack that existed when it was filled still exists. One JSON line per folder, so that reading and writing release the
interpreter often.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.record_file import storage_error

_VERSION = 2

Stamp = tuple[int, ...]
"""Mode, size, mtime and ctime in nanoseconds, inode; the size of a file so young that it must be read again is -1."""

KnownFile = tuple[Stamp, str, str]
"""A file or link: its stamp, git mode and 40-hex id."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What a folder contained in which everything is recorded: names in the order of the disk, with the stamps of the files.

    The stamp of a folder is None. `folders` are the positions of these, `modes` counts the modes of the files.
    """

    names: list[str]
    stamps: list[Stamp | None]
    folders: list[int]
    modes: Counter[int]


@dataclass(slots=True)
class KnownFolder:
    """A scanned folder: `rules` is the key of its ignore rules, `tree` its id ("" when nothing in it was recorded).

    `private` are the recorded files in it that are ignored, `kept` the bytes of these. `listing` is not stored.
    """

    rules: str = ""
    tree: str = ""
    files: dict[str, KnownFile] = field(default_factory=dict[str, KnownFile])
    folders: dict[str, str] = field(default_factory=dict[str, str])
    ignored: set[str] = field(default_factory=set[str])
    outside: frozenset[str] = frozenset()
    private: set[str] = field(default_factory=set[str])
    kept: int = 0
    listing: Listing | None = field(default=None, compare=False)


@dataclass(slots=True)
class StatCache:
    """Folders by path, "" for the worktree; `packs` are the sizes of the packs and kept files that contain their
    objects."""

    folders: dict[str, KnownFolder] = field(default_factory=dict[str, KnownFolder])
    packs: dict[str, int] = field(default_factory=dict[str, int])

    def names(self) -> Iterator[str]:
        """Yield the ids of all objects in the cache, some more than once."""
        for known in self.folders.values():
            yield from (file_id for _, _, file_id in known.files.values())
            yield from (tree for tree in (known.tree, *known.folders.values()) if tree)


def save_cache(cache: StatCache, path: str, files: FileSystem) -> None:
    """Write the cache; raises StorageError."""
    content = b"".join(line.encode() + b"\n" for line in _lines(cache))
    try:
        AtomicWriter(files).write(path, content + json.dumps(sha256(content).hexdigest()).encode())
    except OSError as error:
        raise storage_error(error, "write", path) from error


def load_cache(path: str, files: FileSystem) -> StatCache:
    """Return the stored cache, an empty one when there is none or it is damaged."""
    try:
        data = files.read_whole(path)
        content, _, last = data.rpartition(b"\n")
        if json.loads(last) != sha256(content + b"\n").hexdigest():
            return StatCache()
        return _decode(content.split(b"\n"))
    except (OSError, ValueError, KeyError, TypeError):
        return StatCache()


def _lines(cache: StatCache) -> Iterator[str]:
    yield json.dumps({"version": _VERSION, "packs": cache.packs})
    for path, known in cache.folders.items():
        names = [list(known.ignored), list(known.outside), list(known.private)]
        yield json.dumps([path, known.rules, known.tree, known.files, known.folders, *names, known.kept])


def _decode(lines: list[bytes]) -> StatCache:
    head: dict[str, Any] = json.loads(lines[0])
    if head["version"] != _VERSION:
        return StatCache()
    cache = StatCache(packs=head["packs"])
    for line in lines[1:]:
        path, rules, tree, files, folders, ignored, outside, private, kept = json.loads(line)
        known = {name: (tuple(stamp), mode, file_id) for name, (stamp, mode, file_id) in files.items()}
        names = (set(ignored), frozenset(outside), set(private))
        cache.folders[path] = KnownFolder(rules, tree, known, folders, *names, kept)
    return cache


def young_stamp(status: os.stat_result) -> Stamp:
    """Return the stamp of a file so young that it must be read again."""
    return (status.st_mode, -1, status.st_mtime_ns, 0, 0)


MARGIN_NS = 50_000_000
"""Longer than the resolution of file times."""


def young_since(status: os.stat_result, started_ns: int, margin_ns: int = MARGIN_NS) -> bool:
    """Return whether a file changed so shortly before a scan's start that a later change might leave the same stamp."""
    return max(status.st_mtime_ns, status.st_ctime_ns) > started_ns - margin_ns
