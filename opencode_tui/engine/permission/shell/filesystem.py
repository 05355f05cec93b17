"""The scanner's access to the file system, and the resolution of paths: links, globs, devices.

Paths are absolute POSIX texts. Nothing here raises for a path that does not exist; no file is opened or written.
"""

import fnmatch
import os
import posixpath
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from opencode_tui.engine.permission.git_config import RemoteSettings, find_remotes

ENTRY_LIMIT = 5_000
"""Maximum number of names in or under one folder that are searched for secrets."""

LINKED_LIMIT = 50_000
"""Maximum number of names under one folder that are searched for links; where there are more, they are unknown."""

LINK_LIMIT = 40
"""Links followed in one path before it counts as a cycle. Source: Linux, path_resolution(7)."""


PATTERN_LIMIT = 1_000
"""Maximum length of a pattern of names that is compared with them, which takes time by its square; a longer one counts as `*`."""

INDEX_LIMIT = 20_000_000
"""Maximum size in bytes of a git index that is searched."""


class ShellFileSystem:
    """The facts about absolute paths that a scan depends on, from the real file system. Blocks."""

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

    def exists(self, path: str) -> bool:
        """Return whether there is anything at a path, a link too."""
        return os.path.lexists(path)

    def is_writable(self, folder: str) -> bool:
        """Return whether names can be made in a folder."""
        try:
            return os.access(folder, os.W_OK | os.X_OK)
        except ValueError:
            return False

    def remotes(self, top: str) -> RemoteSettings | None:
        """Return what the repository with this work tree says about remotes, None where its settings cannot be read."""
        return find_remotes(Path(top))

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

    def links_below(self, folder: str) -> list[str] | None:
        """Return the paths of all links under a folder, None where it holds more than `LINKED_LIMIT` names."""
        found: list[str] = []
        waiting = [folder]
        seen = 0
        while waiting:
            try:
                with os.scandir(waiting.pop()) as entries:
                    for entry in entries:
                        seen += 1
                        if seen > LINKED_LIMIT:
                            return None
                        if entry.is_symlink():
                            found.append(entry.path)
                        elif entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
            except (OSError, ValueError):
                continue
        return found


class VirtualFileSystem(ShellFileSystem):
    """A project that exists only as a list: `files` (a folder ends with `/`) and `symlinks`, relative to the root.

    `settings` are those of its repository about remotes.
    """

    def __init__(
        self,
        root: str,
        *,
        files: Iterable[str],
        symlinks: Mapping[str, str],
        settings: RemoteSettings | None = None,
    ) -> None:
        self._settings = settings
        self._links = {f"{root}/{name}": target for name, target in symlinks.items()}
        self._files = [f"{root}/{name}" for name in files if not name.endswith("/")]
        self._folders = {root} | {f"{root}/{name}".rstrip("/") for name in files if name.endswith("/")}
        for path in (*self._files, *self._links):
            self._folders.update(str(parent) for parent in PurePosixPath(path).parents if len(str(parent)) > len(root))

    def link_target(self, path: str) -> str | None:
        """Return the target of a link of the list."""
        return self._links.get(path)

    def is_folder(self, path: str) -> bool:
        """Return whether the path is a folder of the list."""
        return path in self._folders

    def exists(self, path: str) -> bool:
        """Return whether the path is in the list."""
        return path in self._folders or path in self._files or path in self._links

    def is_writable(self, folder: str) -> bool:
        """Return whether the folder is in the list."""
        return self.is_folder(folder)

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder."""
        start = folder.rstrip("/") + "/"
        known = (*self._files, *self._links, *self._folders)
        return sorted({path[len(start) :].split("/")[0] for path in known if path.startswith(start)})

    def remotes(self, top: str) -> RemoteSettings | None:
        """Return the given settings."""
        del top
        return self._settings

    def is_tracked(self, folder: str, root: str) -> bool:
        """Return whether there are files under the folder: all files of the list count as tracked."""
        del root
        return any(self.files_below(folder))

    def files_below(self, folder: str) -> Iterable[str]:
        """Return the paths of files under a folder."""
        start = folder.rstrip("/") + "/"
        return [path for path in self._files if path.startswith(start)]

    def links_below(self, folder: str) -> list[str] | None:
        """Return the paths of links under a folder."""
        start = folder.rstrip("/") + "/"
        return [path for path in self._links if path.startswith(start)]


GLOB_LIMIT = 500
"""Maximum number of paths of one glob; a glob with more counts as its folder."""

_DEVICE = re.compile(r"/dev/(?:null|zero|full|u?random|tty|std(?:in|out|err)|fd/\d+)")
_NETWORK_DEVICE = re.compile(r"/dev/(?:tcp|udp)/")
_CLASS = re.compile(r"\[[!^]?(?:[^\]\[]*\[[:.=][^\]]*[:.=]\])+[^\]]*\]")
"""A set of characters with a class (`[[:alpha:]]`), which counts as any character."""

_GLOB_PART = re.compile(r"[*?\[]")

_SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix", "/proc", "/sys")


def is_device(path: str) -> bool:
    """Return whether the path is a device without data of anyone, such as `/dev/null`."""
    return _DEVICE.fullmatch(path) is not None


def is_network_device(path: str) -> bool:
    """Return whether bash opens a connection for this path. Source: bash manual, Redirections."""
    return _NETWORK_DEVICE.match(path) is not None


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path is the folder or under it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def is_available_inside(path: str, *, writes: bool, filesystem: ShellFileSystem) -> bool:
    """Return whether a command in the sandbox may use a path outside of the project.

    These are system folders for reading, and new temporary files. A file of `/tmp` that exists outside is not the file that
    the sandbox shows.
    """
    if path == "/tmp" or path.startswith("/tmp/"):
        first = path.split("/")[2:3]
        return not first or not filesystem.exists(f"/tmp/{first[0]}")
    return not writes and any(is_inside(path, folder) for folder in _SYSTEM_FOLDERS)


def resolve(path: str, filesystem: ShellFileSystem) -> str:
    """Return the path with links followed and `..` applied as the kernel does; a missing rest is unchanged."""
    waiting = [part for part in reversed(path.split("/")) if part not in ("", ".")]
    current = ""
    links = 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            current = current.rpartition("/")[0]
            continue
        step = f"{current}/{part}"
        # links in /proc lead to files of the process that reads them, not of the command
        target = None if step.startswith("/proc/") else filesystem.link_target(step)
        if target is None or links >= LINK_LIMIT:
            current = step
            continue
        links += 1
        if target.startswith("/"):
            current = ""
        waiting.extend(piece for piece in reversed(target.split("/")) if piece not in ("", "."))
    return current or "/"


def glob_folder(path: str) -> str:
    """Return the folder above the first part of a path that holds a glob."""
    parts = path.split("/")
    for index, part in enumerate(parts):
        if _GLOB_PART.search(part):
            return "/".join(parts[:index]) or "/"
    return posixpath.dirname(path)


def expand_glob(path: str, filesystem: ShellFileSystem, *, loose: bool = False) -> list[str]:
    """Return the existing paths that match a glob, at most `GLOB_LIMIT`; as in bash, only an explicit dot matches a leading dot.

    A `loose` glob ignores case and matches leading dots, as options of the shell can make it do.
    """
    found = [""]
    for part in path.split("/")[1:]:
        if _GLOB_PART.search(part) is None:
            found = [f"{base}/{part}" for base in found]
            continue
        found = [
            f"{base}/{name}"
            for base in found
            for name in _matching(part, filesystem.names(resolve(base or "/", filesystem)), loose=loose)
        ]
        if len(found) > GLOB_LIMIT:
            return found[:GLOB_LIMIT]
    return found


def bounded(pattern: str) -> str:
    """Return a pattern of names; that of all names in the place of a long one."""
    return pattern if len(pattern) <= PATTERN_LIMIT else "*"


def _matching(part: str, names: list[str], *, loose: bool) -> list[str]:
    pattern = _CLASS.sub("?", bounded(part)).replace("[^", "[!")
    if loose:
        return [name for name in names if fnmatch.fnmatchcase(name.casefold(), pattern.casefold())]
    return fnmatch.filter([name for name in names if part[:1] in (".", "[") or not name.startswith(".")], pattern)
