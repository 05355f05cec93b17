"""System calls on a worktree that follow no link: every folder of a path is opened with O_NOFOLLOW.

A restore accesses the worktree through this module only: tests replace `Disk` to make the n-th call fail. Where the system has no
calls relative to a descriptor (Windows) paths are used.
"""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager

_HAS_DESCRIPTORS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_READ = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_CREATE = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_CHUNK = 1 << 20


class OpenFolder:
    """An open folder of the worktree; names are those of its entries. Each method is one system call and raises its OSError."""

    def __init__(self, path: str, descriptor: int | None) -> None:
        self.path = path
        self.descriptor = descriptor

    def _at(self, name: str) -> str:
        return name if self.descriptor is not None else f"{self.path}/{name}"

    def status(self, name: str) -> os.stat_result:
        """Return the status of an entry; links are not followed."""
        return os.stat(self._at(name), dir_fd=self.descriptor, follow_symlinks=False)

    def read_link(self, name: str) -> bytes:
        """Return a link's target."""
        return os.fsencode(os.readlink(self._at(name), dir_fd=self.descriptor))

    def read(self, name: str, limit: int) -> tuple[bytes, os.stat_result]:
        """Return at most `limit` bytes of a file and its status after reading; does not wait for the writer of a pipe."""
        descriptor = os.open(self._at(name), _READ, dir_fd=self.descriptor)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return b"", os.fstat(descriptor)
            return _read_up_to(descriptor, limit), os.fstat(descriptor)
        finally:
            os.close(descriptor)

    def create(self, name: str) -> int:
        """Create a file that only its owner can read and return its descriptor."""
        return os.open(self._at(name), _CREATE, 0o600, dir_fd=self.descriptor)

    def write(self, descriptor: int, data: memoryview) -> int:
        """Write some of the bytes and return how many."""
        return os.write(descriptor, data)

    def set_file_mode(self, descriptor: int, mode: int) -> None:
        """Set the mode bits of an open file."""
        if os.name != "nt":
            os.fchmod(descriptor, mode)

    def sync(self, descriptor: int) -> None:
        """Flush an open file to the disk."""
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        """Close an open file."""
        os.close(descriptor)

    def rename(self, source: str, target: str) -> None:
        """Rename an entry; an existing target is replaced."""
        os.replace(self._at(source), self._at(target), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def make_link(self, target: bytes, name: str) -> None:
        """Make a symbolic link."""
        os.symlink(os.fsdecode(target), self._at(name), dir_fd=self.descriptor)

    def set_mode(self, name: str, mode: int) -> None:
        """Set the mode bits of a file or folder; links are not followed."""
        if self.descriptor is None:
            os.chmod(self._at(name), mode)
            return
        descriptor = os.open(name, _READ, dir_fd=self.descriptor)
        try:
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)

    def remove(self, name: str) -> None:
        """Remove a file or a link."""
        os.unlink(self._at(name), dir_fd=self.descriptor)

    def make_folder(self, name: str) -> None:
        """Make a folder that only its owner can read."""
        os.mkdir(self._at(name), 0o700, dir_fd=self.descriptor)

    def remove_folder(self, name: str) -> None:
        """Remove an empty folder."""
        os.rmdir(self._at(name), dir_fd=self.descriptor)


class Disk:
    """Opens the folders of one worktree."""

    def __init__(self, root: str) -> None:
        self.root = root

    @contextmanager
    def open(self, folder: str) -> Generator[OpenFolder]:
        """Open a folder ("": the worktree) for the context; raises NotADirectoryError when a part of its path is no folder."""
        if not _HAS_DESCRIPTORS:
            yield self.wrap(self._plain_path(folder), None)
            return
        descriptor = os.open(self.root, _FOLDER)
        try:
            for name in folder.split("/") if folder else ():
                child = _open_child(name, descriptor)
                os.close(descriptor)
                descriptor = child
            yield self.wrap(f"{self.root}/{folder}" if folder else self.root, descriptor)
        finally:
            os.close(descriptor)

    def wrap(self, path: str, descriptor: int | None) -> OpenFolder:
        """Return the object for an open folder; tests override this to make calls fail."""
        return OpenFolder(path, descriptor)

    def _plain_path(self, folder: str) -> str:
        path = f"{self.root}/{folder}" if folder else self.root
        if os.path.realpath(path) != os.path.realpath(self.root) + (f"/{folder}" if folder else ""):
            raise NotADirectoryError(f"{path} is not a folder, or a link")
        return path


def _open_child(name: str, parent: int) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except OSError as error:
        # Linux reports ENOTDIR for a link, other systems ELOOP or EMLINK.
        try:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except OSError:
            raise error from None
        if stat.S_ISDIR(status.st_mode):
            raise
        raise NotADirectoryError(error.errno, "it is a file or a link", name) from error


def read_regular(name: str, folder: int, status: os.stat_result) -> tuple[bytes, os.stat_result]:
    """Return the bytes of a regular file in an open folder, and its status before they were read.

    `status` is the last known one; the next scan detects a change since. Raises FileNotFoundError when it is no regular file.
    """
    descriptor = os.open(name, _READ, dir_fd=folder)
    try:
        data = os.read(descriptor, status.st_size + 1)
        if data and len(data) == status.st_size:
            return data, status
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError(name)
        pieces = [data]
        while piece := os.read(descriptor, _CHUNK):
            pieces.append(piece)
        return b"".join(pieces), status
    finally:
        os.close(descriptor)


def _read_up_to(descriptor: int, limit: int) -> bytes:
    pieces: list[bytes] = []
    while limit > 0 and (data := os.read(descriptor, min(limit, _CHUNK))):
        pieces.append(data)
        limit -= len(data)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def split(path: str) -> tuple[str, str]:
    """Return a path's folder ("" for the worktree) and its name in it."""
    folder, _, name = path.rpartition("/")
    return folder, name
