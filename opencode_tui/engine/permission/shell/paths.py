"""Resolution of a command's paths: follows links, expands globs, recognizes devices.

Paths are absolute POSIX texts. Nothing here raises for a path that does not exist.
"""

import fnmatch
import posixpath
import re

from opencode_tui.engine.permission.shell.filesystem import LINK_LIMIT, ShellFileSystem

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
        return not first or first[0] not in filesystem.names("/tmp")
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


def _matching(part: str, names: list[str], *, loose: bool) -> list[str]:
    pattern = _CLASS.sub("?", part).replace("[^", "[!")
    if loose:
        return [name for name in names if fnmatch.fnmatchcase(name.casefold(), pattern.casefold())]
    return fnmatch.filter([name for name in names if part[:1] in (".", "[") or not name.startswith(".")], pattern)
