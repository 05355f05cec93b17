"""The scanner's access to the file system: links, folders and names. No file is opened or written."""

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Protocol

ENTRY_LIMIT = 5_000
"""Maximum number of names in or under one folder that are searched for secrets."""

LINK_LIMIT = 40
"""Links followed in one path before it counts as a cycle. Source: Linux, path_resolution(7)."""


class ShellFileSystem(Protocol):
    """The facts about absolute paths that a scan depends on."""

    def link_target(self, path: str) -> str | None:
        """Return the target of a symbolic link, None for anything else."""
        ...

    def is_folder(self, path: str) -> bool:
        """Return whether the path is a folder (links are not followed)."""
        ...

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, at most `ENTRY_LIMIT`; empty if it cannot be read."""
        ...

    def files_below(self, folder: str) -> Iterable[str]:
        """Yield the paths of files under a folder, at most `ENTRY_LIMIT`; links are not followed."""
        ...

    def is_tracked(self, folder: str, root: str) -> bool:
        """Return whether the repository at `root` tracks files under the folder."""
        ...


INDEX_LIMIT = 20_000_000
"""Maximum size in bytes of a git index that is searched."""


class RealFileSystem:
    """The real file system. Blocks."""

    def is_tracked(self, folder: str, root: str) -> bool:
        """Return whether the repository at `root` tracks files under the folder: its path is searched in the index."""
        try:
            with open(f"{root}/.git/index", "rb") as index:
                return os.fsencode(f"{os.path.relpath(folder, root)}/") in index.read(INDEX_LIMIT)
        except (OSError, ValueError):
            return False

    def link_target(self, path: str) -> str | None:
        """Return the target of a symbolic link, None for anything else."""
        try:
            return os.readlink(path)
        except (OSError, ValueError):
            return None

    def is_folder(self, path: str) -> bool:
        """Return whether the path is a folder (links are not followed)."""
        try:
            return stat.S_ISDIR(os.lstat(path).st_mode)
        except (OSError, ValueError):
            return False

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, at most `ENTRY_LIMIT`; empty if it cannot be read."""
        found: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    found.append(entry.name)
                    if len(found) >= ENTRY_LIMIT:
                        break
        except (OSError, ValueError):
            return found
        return found

    def files_below(self, folder: str) -> Iterable[str]:
        """Yield the paths of files under a folder, at most `ENTRY_LIMIT`; links are not followed."""
        seen = 0
        for parent, folders, files in os.walk(folder):
            folders[:] = [name for name in folders if name not in {".git", "node_modules"}]
            for name in files:
                yield os.path.join(parent, name)
            seen += len(files) + len(folders)
            if seen >= ENTRY_LIMIT:
                return


class VirtualFileSystem:
    """A project that exists only as a list: `files` (a folder ends with `/`) and `symlinks`, relative to the root."""

    def __init__(self, root: str, *, files: Iterable[str], symlinks: Mapping[str, str]) -> None:
        self._links = {f"{root}/{name}": target for name, target in symlinks.items()}
        self._files = [f"{root}/{name}" for name in files if not name.endswith("/")]
        self._folders = {root} | {f"{root}/{name}".rstrip("/") for name in files if name.endswith("/")}
        for path in (*self._files, *self._links):
            self._folders.update(str(parent) for parent in PurePosixPath(path).parents if len(str(parent)) > len(root))

    def link_target(self, path: str) -> str | None:
        """Return the target of a symbolic link, None for anything else."""
        return self._links.get(path)

    def is_folder(self, path: str) -> bool:
        """Return whether the path is a folder (links are not followed)."""
        return path in self._folders

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder."""
        start = folder.rstrip("/") + "/"
        known = (*self._files, *self._links, *self._folders)
        return sorted({path[len(start) :].split("/")[0] for path in known if path.startswith(start)})

    def is_tracked(self, folder: str, root: str) -> bool:
        """Return whether there are files under the folder: all files of the list count as tracked."""
        del root
        return any(self.files_below(folder))

    def files_below(self, folder: str) -> Iterable[str]:
        """Yield the paths of files under a folder; links are not followed."""
        start = folder.rstrip("/") + "/"
        return [path for path in self._files if path.startswith(start)]
