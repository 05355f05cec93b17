"""Worktrees of an ordinary user, also where the tests run as root, and the state of files that their modes close."""

import importlib
import os
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from opencode_tui.storage.paths import find_paths
from tests.support.snapshot.worktree import Fact, World

NOBODY = 65534
_IMPORTED_LATER = ("encodings.ascii", "pathspec")
"""What the product imports at its first use: an ordinary user may not read the packages of root."""


@contextmanager
def world_of(user: str) -> Generator[World]:
    """Make a worktree of "root" or of a "user" and act as that one until the context ends; afterwards it is removed."""
    is_dropped = user == "user" and os.geteuid() == 0
    for module in _IMPORTED_LATER:
        importlib.import_module(module)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="worktree-", dir=memory) as name:
        base = Path(os.path.realpath(name))
        try:
            if is_dropped:
                os.chown(base, NOBODY, NOBODY)
                os.setegid(NOBODY)
                os.seteuid(NOBODY)
            (base / "home").mkdir()
            yield World(base / "project", find_paths({"HOME": str(base / "home")}))
        finally:
            if is_dropped:
                os.seteuid(0)
                os.setegid(0)
            open_all(base)


def open_all(folder: Path) -> None:
    """Give the user all rights in the folders of a tree."""
    folder.chmod(stat.S_IMODE(folder.stat().st_mode) | 0o700)
    for entry in list(os.scandir(folder)):
        if entry.is_dir(follow_symlinks=False):
            open_all(Path(entry.path))


def closed_facts(root: Path) -> dict[str, Fact]:
    """Return kind, mode bits and content of everything below a folder, also of what is closed to its owner."""
    found: dict[str, Fact] = {}
    pending = [root]
    while pending:
        folder = pending.pop()
        with _opened(folder, 0o700):
            names = sorted(os.listdir(folder))
            for name in names:
                path = folder / name
                status = path.lstat()
                mode = stat.S_IMODE(status.st_mode)
                key = os.path.relpath(path, root)
                if stat.S_ISLNK(status.st_mode):
                    found[key] = ("link", 0, os.fsencode(os.readlink(path)))
                elif stat.S_ISDIR(status.st_mode):
                    found[key] = ("folder", mode, b"")
                    with _opened(path, 0o700):
                        found.update({f"{key}/{inner}": fact for inner, fact in closed_facts(path).items()})
                elif stat.S_ISREG(status.st_mode):
                    with _opened(path, 0o400):
                        content = path.read_bytes() if status.st_size < 1 << 24 else b"large"
                    found[key] = ("file", mode, content)
                else:
                    found[key] = (str(stat.S_IFMT(status.st_mode)), mode, b"")
    return found


@contextmanager
def _opened(path: Path, rights: int) -> Generator[None]:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & rights == rights:
        yield
        return
    path.chmod(mode | rights)
    try:
        yield
    finally:
        path.chmod(mode)
