"""Finds every program that this program starts unconfined: an absolute path that no confined command may write, nor lead elsewhere.

A virtual environment of the project on PATH is writable inside the sandbox; what a command puts there must never run outside. What
counts is every path that the kernel passes on its way to the program, each link with it.
"""

import os
import shutil
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

_OWN_CACHE = "opencode-tui"
"""Below the user's folder of caches: temp folders, caches and worktrees of confined commands."""
_SHARED_MEMORY = "/dev/shm"
_CODE_FOLDERS = (
    "CLASSPATH", "DYLD_LIBRARY_PATH", "LD_LIBRARY_PATH", "NODE_PATH", "PERL5LIB", "PERLLIB", "PYTHONPATH", "RUBYLIB",
)  # fmt: skip
"""Variables with folders that programs load code from, unasked; for some an empty entry is the current folder."""

_LINK_LIMIT = 40
_PACKAGE_ROOT = str(Path(__file__).resolve().parents[1])


def find_program(name: str, environ: Mapping[str, str], folder: Path) -> str | None:
    """Return the absolute path of a program for work in a folder, None without one. Blocks for a few lookups.

    `name` is a word that PATH is searched for, or an absolute path.
    """
    writable = _writable(folder, environ.get("HOME", ""), environ.get("XDG_CACHE_HOME", ""))
    if os.path.dirname(name):
        candidates = [name] if os.path.isabs(name) else []
    else:
        path = environ.get("PATH", os.defpath)
        candidates = [os.path.join(entry, name) for entry in path.split(os.pathsep) if os.path.isabs(entry)]
    found = (shutil.which(candidate) for candidate in candidates)
    return next((path for path in found if path is not None and not writable.contains(path)), None)


def safe_path(path: str, folder: Path, environ: Mapping[str, str] = os.environ) -> str:
    """Return PATH without relative folders and without those that commands in a folder may write, or lead elsewhere."""
    return _safe_path(path, folder, environ.get("HOME", ""), environ.get("XDG_CACHE_HOME", ""))


def safe_environ(environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the environment of a program that we start: safe folders in PATH, where it finds others, and where it finds code."""
    given = {**environ, "PATH": safe_path(environ.get("PATH", os.defpath), folder, environ)}
    for name in _CODE_FOLDERS:
        if name in given:
            given[name] = safe_path(given[name], folder, environ)
            if not given[name]:
                del given[name]
    return given


def is_below(program: str, folder: Path, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether commands in a folder may write an absolute path, or lead it elsewhere."""
    return _writable(folder, environ.get("HOME", ""), environ.get("XDG_CACHE_HOME", "")).contains(program)


def present_folder() -> Path:
    """Return the current folder; when it was deleted, the one that the shell named, which is its path from before."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(os.environ.get("PWD") or "/")


class Lead(Struct, frozen=True):
    """Where a path leads; `is_led_out`: a confined command may have led it there, out of all that commands may write."""

    real: Path
    is_led_out: bool


def follow(path: Path, folder: Path, environ: Mapping[str, str], writable: Sequence[Path] = ()) -> Lead:
    """Return where an absolute path leads, each link looked up once. Blocks for a few lookups.

    `writable` are real paths that commands in the folder may write besides what they always may.
    """
    real, steps = _walk(str(path))
    always = _writable(folder, environ.get("HOME", ""), environ.get("XDG_CACHE_HOME", ""))
    passed = always.has_any(steps) or not {step for step, _ in steps}.isdisjoint(map(str, writable))
    inside = (Path(os.path.realpath(_work_tree(folder))), *writable)
    return Lead(Path(real), passed and not any(Path(real).is_relative_to(one) for one in inside))


def python_command(*arguments: str) -> Sequence[str]:
    """Return the command line of this Python that imports nothing from the folder that it starts in."""
    return (sys.executable, "-P", *arguments)


def python_environ(environ: Mapping[str, str], folder: Path | None = None) -> dict[str, str]:
    """Return the environment of this Python: no module comes from a folder that a command may write, but our own package's."""
    where = folder or present_folder()
    entries = [entry for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    kept = [entry for entry in entries if os.path.realpath(entry) == _PACKAGE_ROOT or safe_path(entry, where, environ)]
    given = {name: value for name, value in environ.items() if name != "PYTHONPATH"}
    return {**given, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, kept))} if kept else given


class _Writable(Struct, frozen=True):
    """Folders that commands may write, by name and, where they exist, by device and inode."""

    names: frozenset[str]
    files: frozenset[tuple[int, int]]

    def contains(self, path: str) -> bool:
        """Return whether one of them is on the way to an absolute path."""
        return self.has_any(_walk(path)[1])

    def has_any(self, steps: Iterable["_Step"]) -> bool:
        """Return whether one of these steps is one of them."""
        return any(step in self.names or identity in self.files for step, identity in steps)


_Step = tuple[str, tuple[int, int] | None]


def _walk(path: str) -> tuple[str, list[_Step]]:
    """Return where an absolute path leads, and each path that the kernel passes, links too, with device and inode if it exists."""
    waiting, at, links = path.split("/")[::-1], "/", 0
    steps: list[_Step] = []
    while waiting:
        part = waiting.pop()
        if part in ("", "."):
            continue
        if part == "..":
            at = os.path.dirname(at)
            continue
        step = os.path.join(at, part)
        try:
            found = os.lstat(step)
            target = os.readlink(step) if stat.S_ISLNK(found.st_mode) else None
        except OSError:
            steps.append((step, None))
            at = step
            continue
        steps.append((step, (found.st_dev, found.st_ino)))
        if target is None:
            at = step
            continue
        links += 1
        if links > _LINK_LIMIT:  # the kernel does not open it either
            return path, steps
        at = "/" if os.path.isabs(target) else at
        waiting += target.split("/")[::-1]
    return at, steps


@lru_cache(maxsize=64)
def _writable(folder: Path, home: str, caches: str) -> _Writable:
    """Return what commands in a folder may write; the root folder is no work tree.

    Besides the nearest work tree these are those around it, up to the home: commands of a session there may have written it.
    """
    homes = {Path(home), Path(os.path.realpath(home))} if os.path.isabs(home) else set[Path]()
    roots = {_work_tree(folder)}
    for parent in folder.parents:
        if os.path.lexists(parent / ".git") and not any(one.is_relative_to(parent) for one in homes):
            roots.add(parent)
    roots = {root for root in roots if root.parent != root}
    roots.add(Path(_SHARED_MEMORY))
    top = caches if os.path.isabs(caches) else os.path.join(home, ".cache")
    if os.path.isabs(top):
        roots.add(Path(top, _OWN_CACHE))
    names: set[str] = set()
    files: set[tuple[int, int]] = set()
    for root in roots:
        names |= {os.path.normpath(root), os.path.realpath(root)}
        try:
            found = os.stat(root)
        except OSError:
            continue
        files.add((found.st_dev, found.st_ino))
    return _Writable(frozenset(names), frozenset(files))


@lru_cache(maxsize=64)
def _safe_path(path: str, folder: Path, home: str, caches: str) -> str:
    writable = _writable(folder, home, caches)
    return os.pathsep.join(
        entry for entry in path.split(os.pathsep) if os.path.isabs(entry) and not writable.contains(entry)
    )


def _work_tree(folder: Path) -> Path:
    """Return the nearest folder above with an entry `.git`, else the folder."""
    return next((path for path in (folder, *folder.parents) if os.path.lexists(path / ".git")), folder)
