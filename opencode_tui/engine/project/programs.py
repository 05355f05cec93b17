"""Programs that this program starts by itself, unconfined: found on PATH, but not where a confined command may write.

A virtual environment of the project on PATH is writable inside the sandbox; a `git` that a command puts there must never run.
"""

import asyncio
import os
import shutil
import signal
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

_PROJECT_FOLDERS = ("node_modules/.bin", ".venv/bin", "venv/bin", "vendor/bin")
"""Where projects keep the programs of their own."""


class ProjectPrograms(Struct, frozen=True):
    """Looks for the programs that help with a project. Those in its work tree count only with `may_be_own`."""

    environ: Mapping[str, str]
    directory: Path
    worktree: Path
    may_be_own: bool

    def find(self, program: str) -> str | None:
        """Return the path of a program, of the project's own first; None without one. Blocks for a few lookups."""
        if os.sep in program:
            path = str(self.directory / program)
            return shutil.which(path) if self.may_be_own or not is_below(path, self.worktree) else None
        folders = [str(top / name) for top in (self.directory, self.worktree) for name in _PROJECT_FOLDERS]
        own = shutil.which(program, path=os.pathsep.join(folders)) if self.may_be_own else None
        return own or find_program(program, self.environ, self.worktree)


class Ran(Struct, frozen=True):
    """How a program ended, and what it wrote."""

    code: int
    output: bytes
    errors: bytes


async def run_program(
    argv: Sequence[str], data: bytes, *, folder: Path, environ: Mapping[str, str], limit_s: float
) -> Ran:
    """Run a program with data on its standard input. With all that it started it is killed after the limit, or by a cancellation.

    Raises TimeoutError after the limit, OSError when it cannot start.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=folder,
        env=environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(limit_s):
            output, errors = await process.communicate(data)
    except (TimeoutError, asyncio.CancelledError):
        with suppress(ProcessLookupError, PermissionError):  # it may have ended and left children that hold its output
            os.killpg(process.pid, signal.SIGKILL)
        raise
    return Ran(process.returncode or 0, output, errors)


def find_program(name: str, environ: Mapping[str, str], folder: Path) -> str | None:
    """Return the path of a program outside of the work tree that contains the folder, None without one."""
    return shutil.which(name, path=safe_path(environ.get("PATH", ""), folder))


@lru_cache(maxsize=64)
def safe_path(path: str, folder: Path) -> str:
    """Return PATH without relative folders and without those in the work tree that contains the folder.

    A link in the work tree to a folder outside counts as inside: a command may change it. In the root folder nothing is left out.
    """
    root = _work_tree(folder)
    roots = () if root.parent == root else (root, Path(os.path.realpath(root)))
    return os.pathsep.join(
        entry for entry in path.split(os.pathsep) if os.path.isabs(entry) and not _is_in(entry, roots)
    )


def is_below(program: str, folder: Path) -> bool:
    """Return whether an absolute path, or what it links to, is in the work tree that contains the folder."""
    root = _work_tree(folder)
    return root.parent != root and _is_in(program, (root, Path(os.path.realpath(root))))


def _work_tree(folder: Path) -> Path:
    """Return the nearest folder above with an entry `.git`, else the folder."""
    return next((path for path in (folder, *folder.parents) if os.path.lexists(path / ".git")), folder)


def _is_in(entry: str, roots: Collection[Path]) -> bool:
    paths = (Path(os.path.normpath(entry)), Path(os.path.realpath(entry)))
    return any(path.is_relative_to(root) for path in paths for root in roots)
