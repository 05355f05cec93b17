"""Whole files that were kept before a command that discards them: one file each, named by its id, next to the packs.

They are too large for packs, or beyond the limits of a scan, and do not count for the quota: they have a limit of their own. Each
is a clone where the file system can make one, which costs no space, else a copy. Writers hold the worktree's lock; readers need
none.
"""

import os
import secrets
from collections.abc import Collection, Iterator
from contextlib import suppress
from hashlib import sha1

from opencode_tui.engine.snapshot.objects.pack import id_head
from opencode_tui.schema.error import SnapshotError, SnapshotUnreadableError
from opencode_tui.storage.files import FileSystem, sync_path
from opencode_tui.storage.record_file import storage_error

try:
    from fcntl import ioctl
except ImportError:  # Windows
    ioctl = None

_CLONE = 0x40049409
"""The request that shares the blocks of a file with another one. Source: Linux, ioctl_ficlone(2)."""

_CHUNK = 1 << 20
_TEMPORARY = "new-"
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL
_DISK_SHARE = 10
"""At most this fraction of the free disk space is used: 1/10."""


class KeptFiles:
    """The kept files of one worktree in a folder; blocks, used by one thread at a time."""

    def __init__(self, folder: str, files: FileSystem) -> None:
        self.folder = folder
        self._files = files
        self._sizes: dict[str, int] = {}

    def refresh(self, *, cleans: bool = False) -> None:
        """Reread the list of files; `cleans` removes what a killed process left, which needs the lock."""
        sizes: dict[str, int] = {}
        with suppress(FileNotFoundError), self._files.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.startswith(_TEMPORARY):
                    if cleans:
                        self._files.unlink(entry.path)
                    continue
                sizes[entry.name] = entry.stat(follow_symlinks=False).st_size
        self._sizes = sizes

    def sizes(self) -> dict[str, int]:
        """Return the sizes of the files in bytes, by id."""
        return dict(self._sizes)

    def size(self) -> int:
        """Return the size of all files in bytes."""
        return sum(self._sizes.values())

    def has(self, name: str) -> bool:
        """Return whether a file with this id is kept."""
        return name in self._sizes

    def room(self, limit: int) -> int:
        """Return how many bytes may be added: below the limit for all, and at most a tenth of what the disk has free."""
        folder = self.folder
        while not os.path.isdir(folder):
            folder = os.path.dirname(folder)
        free = os.statvfs(folder)
        return max(0, min(limit - self.size(), free.f_bavail * free.f_frsize // _DISK_SHARE))

    def add(self, source: int, size: int) -> str:
        """Keep an open file of this size, durably with its name, and return its id.

        Raises StorageError, and SnapshotError when the file changes in the meantime.
        """
        temporary = f"{self.folder}/{_TEMPORARY}{secrets.token_hex(8)}"
        try:
            if not self._files.exists(self.folder):
                self._files.mkdir(self.folder)
                sync_path(self._files, os.path.dirname(self.folder))
            target = self._files.open(temporary, _NEW)
            try:
                name = self._fill(target, source, size)
                self._files.fsync(target)
            finally:
                self._files.close(target)
            self._files.replace(temporary, f"{self.folder}/{name}")
            sync_path(self._files, self.folder)
        except OSError as error:
            raise storage_error(error, "write", temporary) from error
        finally:
            if self._files.exists(temporary):
                self._files.unlink(temporary)
        self._sizes[name] = size
        return name

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield a file's bytes in pieces; raises SnapshotError after the last one if they are not what was kept."""
        path = f"{self.folder}/{name}"
        try:
            descriptor = self._files.open(path, os.O_RDONLY)
            try:
                size = self._sizes.get(name, 0)
                hashed = sha1(id_head("blob", size), usedforsecurity=False)
                while data := self._files.read(descriptor, _CHUNK):
                    hashed.update(data)
                    yield data
            finally:
                self._files.close(descriptor)
        except FileNotFoundError as error:
            raise SnapshotError(f"{path} was removed; nothing was changed") from error
        except OSError as error:
            raise SnapshotUnreadableError(f"{storage_error(error, 'read', path)}; nothing was changed") from error
        if hashed.hexdigest() != name:
            raise SnapshotError(f"{path} has changed since it was kept; it cannot be restored")

    def keep_only(self, names: Collection[str]) -> None:
        """Delete all files but these. Needs the lock. Raises StorageError."""
        for name in [one for one in self._sizes if one not in names]:
            path = f"{self.folder}/{name}"
            try:
                self._files.unlink(path)
            except OSError as error:
                raise storage_error(error, "remove", path) from error
            del self._sizes[name]

    def _fill(self, target: int, source: int, size: int) -> str:
        """Copy the bytes, or share them, and return their id."""
        is_clone = _share(target, source)
        reader = target if is_clone else source
        hashed, count = sha1(id_head("blob", size), usedforsecurity=False), 0
        while data := self._files.read(reader, _CHUNK):
            hashed.update(data)
            count += len(data)
            rest = memoryview(b"" if is_clone else data)
            while rest:
                rest = rest[self._files.write(target, rest) :]
        if count != size:
            raise SnapshotError("the file changed while it was kept")
        return hashed.hexdigest()


def _share(target: int, source: int) -> bool:
    """Return whether the target now shares the blocks of the source."""
    if ioctl is None:
        return False
    try:
        ioctl(target, _CLONE, source)
    except OSError:  # another file system, or one that cannot
        return False
    return True
