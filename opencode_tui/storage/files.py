"""The system calls that read and write records.

Tests wrap `FileSystem` to make the n-th call fail, so all of storage except the locks goes through it. Each method is one system
call, except `read_whole` and `list_states`, and raises OSError.
"""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_CHUNK = 1 << 16
_BINARY = getattr(os, "O_BINARY", 0)  # Windows translates line ends without it


class FileSystem:
    """Plain system calls; paths are absolute strings. Every method blocks."""

    def open(self, path: str, flags: int, mode: int = FILE_MODE) -> int:
        """Return a descriptor that children do not inherit."""
        return os.open(path, flags | _BINARY, mode)

    def read(self, descriptor: int, size: int) -> bytes:
        """Return at most `size` bytes; fewer only at the end of the file."""
        return os.read(descriptor, size)

    def write(self, descriptor: int, data: memoryview) -> int:
        """Return how many of the bytes were written; may be fewer than all."""
        return os.write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        """Wait until the file or folder is on the disk."""
        os.fsync(descriptor)

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

    def list_states(self, path: str) -> list[tuple[str, os.stat_result]]:
        """Return the names in a folder with the status of each, links not followed; those removed meanwhile are left out."""
        states: list[tuple[str, os.stat_result]] = []
        # Through a descriptor the system need not walk the whole path again for each name.
        folder = self.open(path, os.O_RDONLY) if os.scandir in os.supports_fd else path
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    try:
                        states.append((entry.name, entry.stat(follow_symlinks=False)))
                    except FileNotFoundError:  # `suppress` would cost as much as the call
                        continue
        finally:
            if isinstance(folder, int):
                self.close(folder)
        return states

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
