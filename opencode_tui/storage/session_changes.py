"""What spares a list of many sessions the look at each record: `cache/index/{projectID}.looked`, beside the index file.

It has the time of the last look at all records, the state of their folder before that, the index file that they were compared with,
and the records to look at again: those that differ from the index, and those of the sessions used last. Each change of a record by
this program adds a line: the name, and the modification times of the folder before and after each step of the change. While these
lead from the state at the look to the present one, no other program has added, replaced or removed a record. Whatever does not fit,
a lost line included, only costs a look at all records.

Not noticed before the next look at all are changes in place, and those that another program makes within the same tick of the
clock, or between the same two system calls, as a change here. Waiting until the folder is older than a tick would not help: its
time is the same then.
"""

import binascii
import logging
import os
import stat
import time
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from types import TracebackType

from msgspec import Struct

from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.keys import SUFFIX, Key, folder_path
from opencode_tui.storage.record_file import storage_error

LONGEST_MS = 3_600_000
"""How long a look at all records serves, and a change in place by another program may stay unnoticed."""

_MOST_BYTES = 256 * 1024
"""A file that has grown over this is removed; that is a few thousand changes."""

_FORMAT = b"opencode-tui session look 1"

_YOUNG_NS = 100_000_000
"""A folder modified this recently may change again with the same mtime: file systems count in ticks of up to 10 ms."""

_logger = logging.getLogger(__name__)


class FolderState(Struct, frozen=True):
    """The state of a project's folder of sessions."""

    inode: int
    changed_ns: int


class LastLook(Struct, frozen=True):
    """A look at all records that still serves.

    `stamp` differs for each look; `index` is the mark of the index file; `names` are the files to look at again.
    """

    stamp: bytes
    index: str
    names: frozenset[str]


class SessionChanges:
    """Reads and writes these files of one store, `folder` is that of the index files. All methods block."""

    def __init__(self, files: FileSystem, *, folder: str, root: str) -> None:
        """`root` is the folder of the store."""
        self._files = files
        self._folder = folder
        self._root = root

    @contextmanager
    def recorded(self, key: Key) -> Generator[AbstractContextManager[object]]:
        """Add a line for a change of a record in the body; the caller enters the yielded object around each step in its folder.

        Does nothing for other records, and for projects that no file was written for. Raises nothing by itself.
        """
        descriptor = self._open(key[1]) if len(key) == 3 and key[0] == "session" else None
        if descriptor is None:
            yield nullcontext()
            return
        try:
            steps = _Steps(self._files, folder_path(self._root, key[:-1]))
            yield steps
            with suppress(OSError):  # without the line the next list looks at all records
                self._append(key, descriptor, steps.times)
        finally:
            with suppress(OSError):
                self._files.close(descriptor)

    def folder_state(self, project_id: str) -> FolderState | None:
        """Return the state of a folder of sessions; None when it does not exist, or is reached through a link."""
        with suppress(OSError):
            state = self._files.lstat(folder_path(self._root, ("session", project_id)))
            if stat.S_ISDIR(state.st_mode):
                return FolderState(state.st_ino, state.st_mtime_ns)
        return None

    def save(self, project_id: str, before: FolderState, *, index: str, at: int, names: Iterable[str]) -> bytes:
        """Replace the file after a look at all records and return the stamp of the look, empty when none was written.

        `before` is the state of the folder before that look, `at` its time in ms.
        """
        # Whole seconds are the ticks of an old file system, in which too much can happen.
        if time.time_ns() - before.changed_ns < _YOUNG_NS or before.changed_ns % 1_000_000_000 == 0:
            return b""
        path, body = self._path(project_id), "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")
        state = f"{before.inode} {before.changed_ns} {at} {len(body)} {binascii.crc32(body):08x}"
        head = b"\t".join([_FORMAT, index.encode(), state.encode()])
        try:
            AtomicWriter(self._files).write(path, _with_checksum(head) + body)
        except OSError as error:
            _logger.info("the look at the sessions was not saved: %s", storage_error(error, "write", path))
            return b""
        return head

    def last_look(self, project_id: str, now: int) -> LastLook | None:
        """Return the last look at all records if it still serves now (ms), with what was changed since."""
        try:
            data = self._files.read_whole(self._path(project_id))
        except OSError:
            return None
        try:
            return self._parse(data, now, self.folder_state(project_id))
        except (IndexError, ValueError):
            _logger.info("looking at all sessions: %s is damaged", self._path(project_id))
            return None

    def _parse(self, data: bytes, now: int, present: FolderState | None) -> LastLook | None:
        """Return the look in a file, None when it does not serve any more. Raises IndexError, ValueError for a damaged file."""
        line, _, rest = data.partition(b"\n")
        head = _checked(line)
        kind, index, state = head.split(b"\t")
        if kind != _FORMAT or present is None:
            return None
        inode, begun, at, length, checksum = state.split()
        size = int(length)
        body = rest[:size]
        if len(body) < size or binascii.crc32(body) != int(checksum, 16):
            raise ValueError("the names are damaged")
        if not 0 <= now - int(at) < LONGEST_MS or int(inode) != present.inode:
            return None
        names = body.decode("utf-8", "surrogateescape").split("\n")[:-1]
        steps: list[tuple[int, int]] = []
        *lines, end = rest[size:].split(b"\n")
        for one in lines:
            name, *times = _checked(one).decode().split("\t")
            names.append(name)
            steps.extend((int(before), int(after)) for before, after in (pair.split(" ") for pair in times))
        if end or not _lead(int(begun), steps, present.changed_ns):
            return None
        return LastLook(head, index.decode(), frozenset(names))

    def _open(self, project_id: str) -> int | None:
        """Return a descriptor to add lines with, None where there is no file, or one that is too long."""
        path = self._path(project_id)
        try:
            descriptor = self._files.open(path, os.O_WRONLY | os.O_APPEND)
        except OSError:
            return None
        with suppress(OSError):
            if self._files.lstat(path).st_size <= _MOST_BYTES:
                return descriptor
            self._files.unlink(path)
        with suppress(OSError):
            self._files.close(descriptor)
        return None

    def _append(self, key: Key, descriptor: int, times: list[int]) -> None:
        pairs = [f"{before} {after}" for before, after in zip(times[::2], times[1::2], strict=True)]
        line = "\t".join([f"{key[-1]}{SUFFIX}", *pairs])
        if times:
            self._files.write(descriptor, memoryview(_with_checksum(line.encode())))

    def _path(self, project_id: str) -> str:
        return f"{self._folder}/{project_id}.looked"


class _Steps:
    """Records the modification times of a folder before and after each step; none when one is unknown."""

    def __init__(self, files: FileSystem, folder: str) -> None:
        self.times: list[int] = []
        self._files = files
        self._folder = folder
        self._is_known = True

    def __enter__(self) -> None:
        self._add()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._add()

    def _add(self) -> None:
        try:
            self.times.append(self._files.lstat(self._folder).st_mtime_ns)
        except OSError:
            self._is_known = False
        if not self._is_known:
            self.times.clear()


def _lead(begun: int, steps: list[tuple[int, int]], present: int) -> bool:
    """Return whether steps lead from one modification time of the folder to another, without a gap."""
    reached = {begun}
    for before, after in sorted(steps):
        if before not in reached or after < before:  # a change that has no line, or a clock that went back
            return False
        reached.add(after)
    return present == max(reached)


def _with_checksum(text: bytes) -> bytes:
    return b"%s\t%08x\n" % (text, binascii.crc32(text))


def _checked(line: bytes) -> bytes:
    """Return a line without its checksum. Raises ValueError."""
    text, _, checksum = line.rpartition(b"\t")
    if binascii.crc32(text) != int(checksum, 16):
        raise ValueError("a line is damaged")
    return text
