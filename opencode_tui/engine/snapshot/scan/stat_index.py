"""Lets git compare the files of a large worktree with what the last scans found: in C, for a third of the cost of a scan in Python.

The stat cache stays the truth; this module only says for which folders its content still holds, and a scan looks at all others
itself. An index in git's format, in memory, has the stat data of the files in folders in which everything is recorded alike (those
with a `Listing`). What is proven by what:

- **A folder's names and their inodes**: its device, inode, mtime and ctime are the ones from before it was listed. Each change of
  a name sets its ctime to the time of the change.
- **The content and mode of its files**: `git diff-files` names none of them. Each change of an inode sets its ctime, too. Size,
  mtime, inode and owner are compared as well.
- **Later changes have later times**: git compares seconds only, as some file systems store them. So a folder is in the index only
  if the second of its ctime, and those of all its files, was over when the scan began that compared them with their stamps. A file
  with a later stamp in the stat cache is always named.
- **The same file**: git goes by path, as this module does, and both follow links above a name. The inode of a proven folder is the
  known one, so its names still have the known inodes, and a file in which git finds the stat data of an entry is the one in that
  folder, whatever was moved while they looked. A scan asks only about folders that it found in a folder.
- **The time of changes**: it must be this system's clock, which only file systems of its own use (`_LOCAL`), and nobody may have
  set that clock since (`_clock_base`). Files and folders on another file system than the worktree are left out.

Git reads no content: the time of the index is 0, which means "not known" to git, so no file is racy. One entry, with a random name,
is a file that is never there: only where git names it did git read this index, and not none. Whatever git reports on standard error
may be a file that it could not look at. Where either is wrong nothing is proven, and git is not asked again.
"""

import logging
import os
import struct
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha1
from pathlib import Path
from secrets import token_hex

from opencode_tui.engine.snapshot.scan.stat_cache import MARGIN_NS, KnownFile, Listing
from opencode_tui.schema.error import GitUnavailableError
from opencode_tui.storage.safe_folder import OpenFolder

_log = logging.getLogger(__name__)

MIN_FILES = 5_000
"""Below this number starting git costs more than it saves."""

_LONGEST = 1_000
"""Bytes of the longest path of a folder in the index: far below what the system allows."""

_SECOND_NS = 1_000_000_000
_CLOCK_JITTER_NS = 1_000_000
_CLOCK_TRIES = 5
_LOCAL = frozenset((0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x794C7630, 0xF2F52010, 0x2FC12FC1, 0xCA451A4E))
"""Types of file systems: ext, XFS, Btrfs, tmpfs, overlayfs, F2FS, ZFS, bcachefs."""

_SETTINGS = {
    "core.checkStat": "default",
    "core.fileMode": "true",
    "core.ignoreCase": "false",
    "core.ignoreStat": "false",
    "core.precomposeUnicode": "false",
    "core.preloadIndex": "true",
    "core.sparseCheckout": "false",
    "core.symlinks": "true",
    "core.trustctime": "true",
    "core.untrackedCache": "false",
}
_HEAD = struct.Struct(">4sII")
_ENTRY = struct.Struct(">10I20sH")
_PADDING = [b"\0" * (8 - (_ENTRY.size + length) % 8) for length in range(8)]
_LONG_NAME = 0xFFF
_NAME_BYTES = 45
_MISSING = _ENTRY.pack(*([0] * 6), 0o100644, *([0] * 3), b"\0" * 20, _NAME_BYTES)
_32_BITS = 0xFFFFFFFF

FolderStamp = tuple[int, int, int, int]


RunGit = Callable[[Sequence[str], Mapping[str, str], Mapping[str, str], Sequence[int], threading.Event], str]
"""Runs git in the worktree and returns its output: words, settings, additional variables, descriptors that git inherits, and what
ends it early. Raises GitUnavailableError, also where git reports an error and goes on."""


class StatIndex:
    """The index of one worktree; a scan calls `begin`, then the others for its folders, then `end`.

    It is written again when the files that a scan had to look at itself, since the last time, are as many as those in it.
    """

    def __init__(self, run: RunGit | None, git_folder: Path) -> None:
        """Without a git nothing is ever proven. `git_folder` is a git folder of ours: no settings of the project hold."""
        self._run = run if hasattr(os, "memfd_create") else None
        self._git_folder = git_folder
        self._index: _MemoryIndex | None = None
        self._size = 0
        self._folders: dict[str, FolderStamp] = {}
        self._changed: set[str] | None = None
        self._entries: dict[bytes, bytes] | None = None
        self._device = 0
        self._top: OpenFolder
        self._clock = 0
        self._started_ns = 0
        self._met = 0
        self._looked_at = 0

    def begin(self, top: OpenFolder, started_ns: int, stop: threading.Event) -> None:
        """Ask git, or prepare to write the index during the scan that began at `started_ns`; `top` is the open worktree."""
        met, self._met, self._started_ns, self._top = self._met, 0, started_ns, top
        self._changed = self._entries = None
        if self._run is None or met < MIN_FILES or not _has_local_clock(top.descriptor):
            return
        clock = _clock_base()
        if abs(clock - self._clock) > _CLOCK_JITTER_NS or self._looked_at >= self._size:
            self._drop()
            self._entries, self._clock = {}, clock
            self._device = os.fstat(top.descriptor).st_dev
        elif self._index is not None:
            self._changed = self._ask(self._run, self._index, stop)

    def count(self, listing: Listing) -> None:
        """Note a folder that can be in the index from the next scan on."""
        self._met += len(listing.names)

    def proves(self, path: str, listing: Listing) -> os.stat_result | None:
        """Return the status of a folder that has the names of its listing, and all files in it their stamps; else None.

        The folders in it are not looked at.
        """
        known = self._folders.get(path)
        if self._changed is None or known is None or path in self._changed:
            return None
        try:
            status = self._top.status(path)
        except OSError:  # the scan sees why
            return None
        if known != _folder_stamp(status):
            return None
        self.count(listing)
        return status

    def add(
        self,
        path: str,
        listing: Listing,
        files: Mapping[str, KnownFile],
        status: os.stat_result,
        statuses: Sequence[os.stat_result],
    ) -> None:
        """Take a folder into the index that is being written, if its stamps can prove it; the scan found it as in its listing.

        `status` is the folder's own, from before it was listed, `statuses` are those of its entries.
        """
        self.count(listing)
        self._looked_at += len(listing.names)
        start = os.fsencode(path) + b"/"
        if self._entries is None or len(start) > _LONGEST:
            return
        last = (self._started_ns - MARGIN_NS) // _SECOND_NS * _SECOND_NS
        if status.st_dev != self._device or status.st_ctime_ns >= last:
            return
        added: dict[bytes, bytes] = {}
        for name, stamp, found in zip(listing.names, listing.stamps, statuses, strict=True):
            if stamp is None:
                continue
            if found.st_dev != self._device or found.st_ctime_ns >= last:
                return
            whole = start + os.fsencode(name)
            added[whole] = _entry(whole, found, files[name])
        self._entries |= added
        self._folders[path] = _folder_stamp(status)

    def end(self) -> None:
        """Write the index if this scan was to."""
        if self._entries is None:
            return
        entries, self._entries, self._looked_at = self._entries, None, 0
        if len(entries) < MIN_FILES:
            self._drop()
            return
        try:
            self._index = _MemoryIndex(entries)
        except OSError as error:
            _log.warning("no index for git, the scans compare the files: %s", error)
            self._run = None
            self._drop()
        else:
            self._size = len(entries)

    def _ask(self, run: RunGit, index: "_MemoryIndex", stop: threading.Event) -> set[str] | None:
        """Return the folders with files that git finds changed, None where that is not known."""
        variables = {
            "GIT_DIR": str(self._git_folder),
            "GIT_INDEX_FILE": f"/proc/self/fd/{index.descriptor}",
            "GIT_WORK_TREE": ".",
        }
        words = ("diff-files", "--name-only", "--no-renames", "-z")
        try:
            output = run(words, _SETTINGS, variables, [index.descriptor], stop)
            paths = output.encode("utf-8", "surrogateescape").split(b"\0")
            if index.missing not in paths:
                raise GitUnavailableError("git did not read the index")
        except GitUnavailableError as error:
            if not stop.is_set():
                _log.warning("git does not compare files, the scans do: %s", error)
                self._run = None
                self._drop()
            return None
        return {os.fsdecode(path.rpartition(b"/")[0]) for path in paths}

    def _drop(self) -> None:
        self._index, self._size, self._looked_at = None, 0, 0
        self._folders = {}


class _MemoryIndex:
    """An index in a file without a name, closed with its object; `missing` is the entry that git must name."""

    def __init__(self, entries: Mapping[bytes, bytes]) -> None:
        self.missing = f"opencode-tui-{token_hex(16)}".encode()
        self.descriptor = os.memfd_create("index")
        weakref.finalize(self, os.close, self.descriptor)
        content = memoryview(_encode({**entries, self.missing: _MISSING + self.missing + _PADDING[_NAME_BYTES % 8]}))
        while content:
            content = content[os.write(self.descriptor, content) :]
        os.utime(self.descriptor, ns=(0, 0))


def _folder_stamp(status: os.stat_result) -> FolderStamp:
    return (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


def _entry(path: bytes, status: os.stat_result, known: KnownFile) -> bytes:
    """Return a file's entry in an index of version 2."""
    fixed = _ENTRY.pack(
        status.st_ctime_ns // _SECOND_NS & _32_BITS,
        status.st_ctime_ns % _SECOND_NS,
        status.st_mtime_ns // _SECOND_NS & _32_BITS,
        status.st_mtime_ns % _SECOND_NS,
        status.st_dev & _32_BITS,
        status.st_ino & _32_BITS,
        int(known[1], 8),
        status.st_uid,
        status.st_gid,
        status.st_size & _32_BITS,
        bytes.fromhex(known[2]),
        min(len(path), _LONG_NAME),
    )
    return fixed + path + _PADDING[len(path) % 8]


def _encode(entries: Mapping[bytes, bytes]) -> bytes:
    data = _HEAD.pack(b"DIRC", 2, len(entries)) + b"".join(map(entries.__getitem__, sorted(entries)))
    return data + sha1(data, usedforsecurity=False).digest()


def _clock_base() -> int:
    """Return the time at which the system started, in ns: it is another one after somebody set the clock."""
    tries: list[tuple[int, int]] = []
    for _ in range(_CLOCK_TRIES):
        started = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        now = time.time_ns()
        tries.append((time.clock_gettime_ns(time.CLOCK_BOOTTIME) - started, now - started))
    return min(tries)[1]


def _has_local_clock(descriptor: int) -> bool:
    """Return whether the times of files in an open folder come from this system's clock."""
    call = _find_fstatfs()
    return call is not None and call(descriptor) in _LOCAL


@cache
def _find_fstatfs() -> Callable[[int], int] | None:
    """Return the call that gives the type of an open folder's file system, None where there is none."""
    if sys.platform != "linux":
        return None
    import ctypes  # 5 ms

    fstatfs = ctypes.CDLL(None).fstatfs
    fstatfs.argtypes = (ctypes.c_int, ctypes.c_void_p)
    fstatfs.restype = ctypes.c_int
    kind = ctypes.c_long * 64  # more than the structure needs; its first member is the type

    def type_of(descriptor: int) -> int:
        found = kind()
        result: int = fstatfs(descriptor, found)
        return found[0] & _32_BITS if result == 0 else 0

    return type_of
