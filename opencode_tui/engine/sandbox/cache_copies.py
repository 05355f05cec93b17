"""What a project's own caches get from the user's: links to what never changes, copies of what tools write again.

Everything is made through descriptors in a folder that commands can write; the user's caches are only read. A hard link is never
made: writing through it would change the user's file. What has come is recorded next to that folder, where no command writes.
"""

import itertools
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import cast

from msgspec import DecodeError, Struct, json

from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.safe_folder import READ, OpenFolder, own_child, own_folder

COPIED_BYTES = 512 * 1024 * 1024
LIMIT_S = 5.0
"""How much is copied of one tool's caches, where the file system cannot share blocks, and how long that may last."""

_MAX_ENTRIES = 200_000
_MAX_DEPTH = 40
_FREE_SHARE = 10
"""At most this part of the disk's free space is filled with copies."""
_CLONE = 0x40049409
_CHUNK = 1 << 20
_RECORD = "copied.json"
_numbers = itertools.count()


class Part(Struct, frozen=True):
    """A part of a user's cache: a path in it, whose last name may be a pattern; the first that fits counts.

    Its files are copied, or linked. With `depth`, each entry at that depth below it is linked, or with `is_whole` made as a folder
    of links that appears when it is complete, for tools that do not follow links to folders.
    """

    path: str
    is_copied: bool = False
    depth: int = _MAX_DEPTH
    is_whole: bool = False


class UserCache(Struct, frozen=True):
    """A cache of the user, which only he writes, and the name of ours; `watched` are patterns of folders that show what is new."""

    tool: str
    source: Path
    target: str
    parts: tuple[Part, ...]
    watched: tuple[str, ...] = ()


class _Entry(Struct, frozen=True):
    source: str
    modified_ns: int
    copied_bytes: int | None = None
    """None where the entry is linked."""
    is_whole: bool = False


_Tree = dict[str, "_Tree | _Entry"]


def bring(cache: UserCache, own: Path, folder: str, *, is_stopped: Callable[[], bool]) -> list[str]:
    """Link and copy what is new in a cache of the user to ours, in `folder` of the project's own folder. Blocks, for `LIMIT_S`.

    What time did not allow comes with later commands. Returns lines about what was left out, once. Raises OSError.
    """
    stamp = _stamp(cache)
    known = _read_record(own)
    if known.get(cache.target) == stamp:
        return []
    end = time.monotonic() + LIMIT_S
    found, is_whole = _list(cache, lambda: time.monotonic() > end or is_stopped())
    space = os.statvfs(own)
    work = _Work(min(COPIED_BYTES, space.f_bavail * space.f_frsize // _FREE_SHARE), end, is_stopped)
    with own_folder(own, f"{folder}/{cache.target}", []) as target:
        chosen, left_out = work.choose(found, target)
        work.write(_tree(chosen), target)
    if is_stopped():
        return []
    is_done = work.is_done and (is_whole or len(found) >= _MAX_ENTRIES)  # else the next command continues
    AtomicWriter(FileSystem()).write(str(own / _RECORD), json.encode({**known, cache.target: stamp if is_done else ""}))
    if (is_whole and not left_out and work.is_done) or cache.target in known:
        return []
    return [
        f"Inside the sandbox {cache.tool} has a cache of its own in this project. It starts without a part of yours "
        f"({cache.source}), too large to copy at once; list yours in experimental.sandbox.writable to let commands use it."
    ]


class _Work:
    """Writes entries until bytes or time are used up."""

    def __init__(self, space: int, end: float, is_stopped: Callable[[], bool]) -> None:
        self._space = space
        self._end = end
        self._is_stopped = is_stopped
        self._is_cloning = sys.platform == "linux"
        self.is_done = True

    def choose(self, found: Mapping[str, _Entry], target: OpenFolder) -> tuple[dict[str, _Entry], bool]:
        """Return what fits, the newest first, and whether something does not."""
        chosen: dict[str, _Entry] = {}
        space, left_out = self._space, False
        is_free = self._is_cloning and _can_clone(found, target)
        self._is_cloning = is_free
        for path, entry in sorted(found.items(), key=lambda item: -item[1].modified_ns):
            size = 0 if is_free else entry.copied_bytes or 0
            if size > space:
                left_out = True
                continue
            space -= size
            chosen[path] = entry
        return chosen, left_out

    def write(self, tree: _Tree, target: OpenFolder) -> None:
        """Make the entries of a tree that are missing or older in a folder; an entry that cannot be made is left out."""
        for name, entry in tree.items():
            if self._is_late():
                return
            with suppress(OSError):
                if isinstance(entry, dict):
                    with own_child(target, name, []) as child:
                        self.write(entry, child)
                elif _is_new(entry, target.find(name)):
                    self._make(entry, target, name)

    def _is_late(self) -> bool:
        self.is_done = self.is_done and time.monotonic() <= self._end and not self._is_stopped()
        return not self.is_done

    def _make(self, entry: _Entry, target: OpenFolder, name: str) -> None:
        waiting = f".new-{os.getpid()}-{next(_numbers)}"
        if entry.is_whole:
            self._link_files(Path(entry.source), target, waiting)
            if self._is_late():
                target.delete(waiting)
                return
        elif entry.copied_bytes is None:
            target.make_link(os.fsencode(entry.source), waiting)
        elif os.path.islink(entry.source):
            target.make_link(os.fsencode(os.readlink(entry.source)), waiting)
        else:
            _copy(entry.source, target, waiting, is_cloning=self._is_cloning)
        try:
            target.rename(waiting, name)
        except OSError:
            target.delete(waiting)
            raise

    def _link_files(self, source: Path, target: OpenFolder, name: str) -> None:
        """Make a folder of links to all files of one."""
        with own_child(target, name, []) as folder:
            for entry in _scan(source):
                if self._is_late():
                    return
                if entry.is_dir(follow_symlinks=False):
                    self._link_files(Path(entry.path), folder, entry.name)
                else:
                    folder.make_link(os.fsencode(entry.path), entry.name)


def _is_new(entry: _Entry, present: os.stat_result | None) -> bool:
    if present is None:
        return True
    return entry.copied_bytes is not None and stat.S_ISREG(present.st_mode) and present.st_mtime_ns < entry.modified_ns


def _list(cache: UserCache, is_late: Callable[[], bool]) -> tuple[dict[str, _Entry], bool]:
    """Return the entries to make by their paths, and whether these are all. Links in the user's cache are not followed."""
    found: dict[str, _Entry] = {}
    seen: set[str] = set()
    for part in cache.parts:
        folder, _, pattern = part.path.rpartition("/")
        for entry in _scan(cache.source / folder):
            if entry.path in seen or not fnmatch(entry.name, pattern):
                continue
            seen.add(entry.path)
            for path, one in _entries(entry, f"{folder}/{entry.name}".lstrip("/"), part, part.depth):
                found[path] = one
                if len(found) >= _MAX_ENTRIES or is_late():
                    return found, False
    return found, True


def _entries(entry: "os.DirEntry[str]", path: str, part: Part, depth: int) -> Iterator[tuple[str, _Entry]]:
    if entry.is_dir(follow_symlinks=False) and (depth > 0 if not part.is_copied else depth >= 0):
        for child in _scan(Path(entry.path)):
            yield from _entries(child, f"{path}/{child.name}", part, depth - 1)
        return
    with suppress(OSError):  # removed in the meantime
        status = entry.stat(follow_symlinks=False)
        if not part.is_copied:
            is_whole = part.is_whole and stat.S_ISDIR(status.st_mode)
            yield path, _Entry(entry.path, status.st_mtime_ns, is_whole=is_whole)
        elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
            yield path, _Entry(entry.path, status.st_mtime_ns, status.st_size)


def _scan(folder: Path) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _tree(found: Mapping[str, _Entry]) -> _Tree:
    tree: _Tree = {}
    for path, entry in found.items():
        *folders, name = path.split("/")
        node = tree
        for folder in folders:
            node = cast("_Tree", node.setdefault(folder, {}))
        node[name] = entry
    return tree


def _can_clone(found: Mapping[str, _Entry], target: OpenFolder) -> bool:
    """Return whether copies share their blocks with the files of the user, tried with one of them."""
    for entry in found.values():
        if not entry.copied_bytes or os.path.islink(entry.source):
            continue
        name = f".new-{os.getpid()}-{next(_numbers)}"
        try:
            _copy(entry.source, target, name, is_cloning=True, is_required=True)
        except OSError:
            return False
        finally:
            with suppress(OSError):
                target.remove(name)
        return True
    return False


def _copy(source: str, target: OpenFolder, name: str, *, is_cloning: bool, is_required: bool = False) -> None:
    """Copy a regular file with its mode and times; with `is_required`, raise OSError where its blocks cannot be shared."""
    given = os.open(source, READ)
    try:
        status = os.fstat(given)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{source} is no regular file")
        made = target.create(name)
        try:
            if not (is_cloning and _clone(given, made, is_required=is_required)):
                while data := os.read(given, _CHUNK):
                    _write(made, data)
            os.fchmod(made, stat.S_IMODE(status.st_mode) & 0o700 | 0o600)
            os.utime(made, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(made)
    finally:
        os.close(given)


def _clone(given: int, made: int, *, is_required: bool) -> bool:
    import fcntl  # only where a cache is copied

    try:
        fcntl.ioctl(made, _CLONE, given)
    except OSError:
        if is_required:
            raise
        return False
    return True


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _stamp(cache: UserCache) -> str:
    """Return what changes when a tool has added something to the watched folders."""
    newest = 0
    for pattern in cache.watched:
        for path in cache.source.glob(pattern):
            with suppress(OSError):
                newest = max(newest, path.stat().st_mtime_ns)
    return f"{cache.source} {newest}"


def _read_record(own: Path) -> dict[str, str]:
    try:
        return json.decode((own / _RECORD).read_bytes(), type=dict[str, str])
    except (OSError, DecodeError):
        return {}
