"""The system calls that read and write records, and atomic writes made of them.

Tests wrap `FileSystem` to make the n-th call fail, so all of storage except the locks goes through it. Each method is one system
call, except `read_whole`, `names` and `list_states`, and raises OSError.
"""

import errno
import itertools
import os
import re
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_CHUNK = 1 << 16


class FileSystem:
    """Plain system calls; paths are absolute strings. Every method blocks."""

    def open(self, path: str, flags: int, mode: int = FILE_MODE) -> int:
        """Return a descriptor that children do not inherit."""
        return os.open(path, flags, mode)

    def read(self, descriptor: int, size: int) -> bytes:
        """Return at most `size` bytes; fewer only at the end of the file."""
        return os.read(descriptor, size)

    def write(self, descriptor: int, data: memoryview) -> int:
        """Return how many of the bytes were written; may be fewer than all."""
        return os.write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        """Wait until the file or folder is on the disk."""
        os.fsync(descriptor)

    def sync_all(self, path: str) -> None:
        """Wait until all that was written to the file system of a folder is on the disk: for many files the shortest wait."""
        descriptor = self.open(path, os.O_RDONLY)
        try:
            sync_file_system(descriptor)
        finally:
            self.close(descriptor)

    def close(self, descriptor: int) -> None:
        """Close a descriptor; it is closed even when this raises."""
        os.close(descriptor)

    def replace(self, source: str, target: str) -> None:
        """Rename, atomically replacing `target`."""
        os.replace(source, target)

    def unlink(self, path: str) -> None:
        """Remove a file or a link."""
        os.unlink(path)

    def mkdir(self, path: str) -> None:
        """Make a folder that only this user can access."""
        os.mkdir(path, FOLDER_MODE)

    def rmdir(self, path: str) -> None:
        """Remove an empty folder."""
        os.rmdir(path)

    def chmod(self, path: str, mode: int) -> None:
        """Set the mode bits."""
        os.chmod(path, mode)

    def lstat(self, path: str) -> os.stat_result:
        """Return the status of a path, links not followed."""
        return os.lstat(path)

    def exists(self, path: str) -> bool:
        """Return whether the path exists, a broken symlink included."""
        try:
            self.lstat(path)
        except FileNotFoundError:
            return False
        return True

    @contextmanager
    def scandir(self, path: str) -> Generator[Iterator[os.DirEntry[str]], None, None]:
        """Yield the entries of a folder in arbitrary order."""
        with os.scandir(path) as entries:
            yield entries

    def names(self, path: str) -> list[str]:
        """Return the names in a folder, in arbitrary order."""
        return os.listdir(path)

    def list_states(self, path: str) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the names in a folder with the status of each, links not followed; those removed in the meantime are left out."""
        # Through a descriptor the system need not walk the whole path again for each name.
        folder = self.open(path, os.O_RDONLY) if os.scandir in os.supports_fd else path
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    try:
                        state = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:  # `suppress` would cost as much as the call
                        continue
                    yield entry.name, state
        finally:
            if isinstance(folder, int):
                self.close(folder)

    def read_whole(self, path: str) -> bytes:
        """Return all bytes of a file."""
        descriptor = self.open(path, os.O_RDONLY)
        try:
            data = self.read(descriptor, _CHUNK)
            if len(data) < _CHUNK:
                return data
            pieces = [data]
            while data := self.read(descriptor, _CHUNK):
                pieces.append(data)
            return b"".join(pieces)
        finally:
            self.close(descriptor)


_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND


def append_line(files: FileSystem, path: str, data: bytes) -> None:
    """Append lines, which end with a line end, to a file; behind half a line, which a killed process left, on a new one.

    Blocks. Raises OSError; then a part of the lines may be there.
    """
    descriptor = files.open(path, _APPEND)
    try:
        if os.lseek(descriptor, 0, os.SEEK_END) > 0:
            os.lseek(descriptor, -1, os.SEEK_END)
            if files.read(descriptor, 1) != b"\n":
                data = b"\n" + data
        rest = memoryview(data)
        while rest:
            rest = rest[files.write(descriptor, rest) :]
    finally:
        files.close(descriptor)


# Atomic file writes: a reader sees either the whole old or the whole new content. New bytes go into a temporary file of the
# same folder, `.{pid}.{number}.tmp`, which is then renamed to the target. Listings skip such names; `opencode-tui doctor`
# removes those that a dead process left.

_TEMPORARY = re.compile(r"\.(\d+)\.\d+\.tmp")
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def temporary_owner(file_name: str) -> int | None:
    """Return the process id in the name of a temporary file of ours, None for any other name."""
    match = _TEMPORARY.fullmatch(file_name)
    return int(match.group(1)) if match else None


class AtomicWriter:
    """Writes whole files, and records which ones are not synced to the disk yet. Not thread-safe."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        self._numbers = itertools.count(1)
        self._unsynced_files: set[str] = set()
        self._unsynced_folders: set[str] = set()

    def write(self, path: str, data: bytes, *, durable: bool = False) -> None:
        """Replace or create a file. With `durable` it also survives a power cut, otherwise only after `sync`.

        Raises OSError; then the file is unchanged, and the temporary file is removed if the disk allows it.
        """
        folder = os.path.dirname(path)
        descriptor, temporary = self._create(folder)
        try:
            try:
                self._fill(descriptor, data)
                if durable:
                    self._files.fsync(descriptor)
            finally:
                self._files.close(descriptor)
            is_new = not self._files.exists(path)
            self._files.replace(temporary, path)
        except BaseException:
            with suppress(OSError):  # report the first error; doctor removes the file
                self._files.unlink(temporary)
            raise
        # A name that is not synced may have the old content after a power cut, which for a new file may itself be lost.
        if is_new or durable or path in self._unsynced_files:
            self._unsynced_folders.add(folder)
        if durable:
            self._unsynced_files.discard(path)
            self._sync(self._unsynced_folders, above=path)
        elif is_new:
            self._unsynced_files.add(path)

    def create(self, path: str, data: bytes) -> None:
        """Write a new file in place, that no one reads before all of them are synced. Raises OSError."""
        try:
            descriptor = self._files.open(path, _NEW)
        except FileNotFoundError:
            self.make_folders(os.path.dirname(path))
            descriptor = self._files.open(path, _NEW)
        try:
            self._fill(descriptor, data)
        finally:
            self._files.close(descriptor)

    def remove(self, path: str) -> None:
        """Remove a file; a missing one is fine. Raises OSError."""
        with suppress(FileNotFoundError):
            self._files.unlink(path)
            self._unsynced_folders.add(os.path.dirname(path))

    def remove_tree(self, folder: str) -> None:
        """Remove a folder with all that is in it, links not followed; a missing one is fine. Raises OSError."""
        try:
            with self._files.scandir(folder) as entries:
                inside = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
        except FileNotFoundError:
            return
        for path, is_folder in inside:
            if is_folder:
                self.remove_tree(path)
            else:
                self.remove(path)
        self._files.rmdir(folder)
        self._unsynced_folders.add(os.path.dirname(folder))

    def sync(self, begin: Callable[[], None] | None = None) -> None:
        """Sync every file created and every name removed since the last call to the disk; `begin` is called before each.

        Raises OSError; the next call tries again what was not synced.
        """
        self._sync(self._unsynced_files, begin=begin)
        self._sync(self._unsynced_folders, begin=begin)

    def make_folders(self, folder: str) -> None:
        """Make a folder and its missing parents."""
        try:
            self._files.mkdir(folder)
        except FileExistsError:
            return
        except FileNotFoundError:
            self.make_folders(os.path.dirname(folder))
            with suppress(FileExistsError):  # another process created it
                self._files.mkdir(folder)
        self._unsynced_folders.add(os.path.dirname(folder))

    def _create(self, folder: str) -> tuple[int, str]:
        """Return a descriptor and the path of a new temporary file; an existing file of the same name is skipped."""
        has_made_folders = False
        while True:
            temporary = f"{folder}/.{os.getpid()}.{next(self._numbers)}.tmp"
            try:
                return self._files.open(temporary, _CREATE), temporary
            except FileExistsError:
                continue
            except FileNotFoundError:
                if has_made_folders:  # a broken symlink is in the way
                    raise
                self.make_folders(folder)
                has_made_folders = True

    def _fill(self, descriptor: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._files.write(descriptor, view) :]

    def _sync(self, paths: set[str], *, above: str | None = None, begin: Callable[[], None] | None = None) -> None:
        """Sync these paths and drop them, or those of them that are folders above a path."""
        for path in sorted(paths):
            if above is None or above.startswith(f"{path}/"):
                if begin is not None:
                    begin()
                sync_path(self._files, path)
                paths.discard(path)


def sync_file_system(descriptor: int) -> None:
    """Sync the file system of an open file to the disk; all of them where the system has no call for one. Raises OSError."""
    if sys.platform != "linux":
        os.sync()
        return
    import ctypes  # 5 ms, for the fork of a session only

    if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def sync_path(files: FileSystem, path: str) -> None:
    """Sync a file, or the names in a folder, to the disk; one that was removed needs none. Raises OSError."""
    try:
        descriptor = files.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        files.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems cannot sync a folder, and need not
            raise
    finally:
        files.close(descriptor)
