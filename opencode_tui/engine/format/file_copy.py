"""A copy of one file, for programs that change the file that they name, in a folder that looks like its project.

The folders above the file are made again with links to their other entries, so that a program finds its settings and plugins by
path; the file itself is written by the edit alone. The program may have replaced anything in the copy by links: none is followed.
"""

import os
import re
import tempfile
from pathlib import Path

from msgspec import Struct

from opencode_tui.storage.safe_folder import open_folder
from opencode_tui.storage.task_folders import delete_folder

_MOST_ENTRIES = 300
"""Most entries of a folder that are linked, those whose names begin with a dot first: most settings are among them."""

_PLAIN = re.compile(r"[\w./+@=,-]+", re.ASCII)
"""Paths that mean nothing else in a shell."""


class FileCopy(Struct, frozen=True):
    """A copy at `path`; `folder` is the counterpart of the working folder, `root` is to be deleted by `delete`."""

    root: Path
    path: Path
    folder: Path

    def read(self, limit: int) -> bytes:
        """Return the content, at most `limit` bytes, empty where it is no file any more. Raises OSError. Blocks."""
        with open_folder(self.path.parent) as folder:
            return folder.read(self.path.name, limit)[0]

    def delete(self) -> None:
        """Delete the copy with its folder. Blocks."""
        delete_folder(self.root)


def copy_file(path: Path, data: bytes, *, worktree: Path, directory: Path, is_plain: bool, scratch: Path) -> FileCopy:
    """Return a copy of a file of the work tree with this content, in a new folder of `scratch`. Blocks.

    Raises OSError, and ValueError for a file outside of the work tree; no folder is left then. With `is_plain` the path of the copy
    becomes part of a shell's command: where it has other characters, the copy has another name, alone.
    """
    inner = path.relative_to(worktree)
    scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
    root = Path(os.path.realpath(tempfile.mkdtemp(dir=scratch)))
    try:
        if is_plain and not _PLAIN.fullmatch(str(inner)):
            suffix = path.suffix if _PLAIN.fullmatch(path.suffix) else ""
            copy = FileCopy(root, root / f"file{suffix}", root)
        else:
            copy = FileCopy(root, root / inner, _counterpart(directory, path, worktree, root))
            for folder, name in _steps(worktree, inner):
                made = root / folder.relative_to(worktree)
                made.mkdir(exist_ok=True)
                _link_entries(folder, made, without=name)
        copy.path.write_bytes(data)
    except BaseException:
        delete_folder(root)
        raise
    return copy


def _steps(worktree: Path, inner: Path) -> list[tuple[Path, str]]:
    """Return the folders from the work tree to the file, each with the entry that leads on."""
    return [(worktree.joinpath(*inner.parts[:depth]), name) for depth, name in enumerate(inner.parts)]


def _link_entries(folder: Path, made: Path, *, without: str) -> None:
    try:
        with open_folder(folder) as opened:
            found = [name for name, _ in opened.scan()]
    except OSError:  # a new file in a new folder
        return
    names = sorted(found, key=lambda name: (not name.startswith("."), name))
    for name in [name for name in names if name != without][:_MOST_ENTRIES]:
        (made / name).symlink_to(folder / name)


def _counterpart(directory: Path, path: Path, worktree: Path, root: Path) -> Path:
    """Return the working folder in the copy; the top for one that does not contain the file."""
    is_above = directory in path.parents and directory.is_relative_to(worktree)
    return root / directory.relative_to(worktree) if is_above else root
