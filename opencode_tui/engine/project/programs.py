"""Programs that this program starts by itself, unconfined: found on PATH, but not where a confined command may write.

A virtual environment of the project on PATH is writable inside the sandbox; a `git` that a command puts there must never run.
"""

import os
import shutil
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path


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
