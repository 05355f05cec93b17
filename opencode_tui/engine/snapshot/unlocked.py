"""The paths whose modes are other ones for a moment, because a turn closed them to their owner.

Written down before, so that the next process restores the modes when this one is killed in the meantime.
"""

import json
from contextlib import suppress

from opencode_tui.storage.files import AtomicWriter, FileSystem, append_line
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.safe_folder import Disk, OpenFolders, restore_mode, split


class UnlockedPaths:
    """The list of one worktree; used under its lock, blocks, raises StorageError."""

    def __init__(self, path: str, *, files: FileSystem | None = None) -> None:
        self._path = path
        self._files = files or FileSystem()
        self._is_used = False

    def add(self, path: str, mode: int, given: int) -> None:
        """Record that a path is about to get another mode, and its own."""
        self._is_used = True
        try:
            append_line(self._files, self._path, (json.dumps([path, mode, given]) + "\n").encode())
        except OSError as error:
            raise storage_error(error, "write", self._path) from error

    def clear(self) -> None:
        """Record that all paths have their own modes again."""
        if self._is_used:
            self._remove()
            self._is_used = False

    def restore(self, disk: Disk) -> None:
        """Give the paths of a killed process their modes back, where they still have those that it gave them."""
        try:
            lines = self._files.read_whole(self._path).splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error(error, "read", self._path) from error
        with OpenFolders(disk) as folders:
            for line in reversed(lines):
                # The end of an unfinished write is no path, and a path may be gone.
                with suppress(OSError, ValueError, TypeError):
                    path, mode, given = json.loads(line)
                    folder, name = split(path)
                    restore_mode(folders.open(folder), name, mode, given)
        self._remove()

    def _remove(self) -> None:
        try:
            AtomicWriter(self._files).remove(self._path)
        except OSError as error:
            raise storage_error(error, "remove", self._path) from error
