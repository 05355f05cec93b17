"""The temp folders of sessions, kept between their commands and deleted with the session, and the caches of projects.

Source: docs/internals/sandbox.md#temp-folder.
"""

import hashlib
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from opencode_tui.storage.paths import Paths, real_path
from opencode_tui.storage.safe_folder import OpenFolder, open_folder
from opencode_tui.storage.task_folders import delete_folder

KEEP_S = 7 * 24 * 3600.0
"""How long a folder without a session, as of one that was deleted elsewhere, is kept after its last command."""

KEEP_CACHES_S = 30 * 24 * 3600.0
"""How long the caches of a project are kept after its last command."""

_NAME_CHARS = 12
_TEMP = Path("/tmp")


def temp_folder(paths: Paths, session_id: str) -> Path:
    """Return the temp folder of a session, which may not exist; the folder around it is a real path."""
    return real_path(paths.cache / "sandbox/temp") / session_id[-_NAME_CHARS:]


def link_in_temp(temp: Path, names: Sequence[str]) -> None:
    """Make the links of the system's temp folder that lead to programs, for commands whose own temp folder is in its place.

    `names` are folders of programs. What a command has put there instead stays. Blocks.
    """
    links = {link for name in names if name.startswith(f"{_TEMP}/") and (link := _first_link(name)) is not None}
    for link in links:
        with suppress(OSError), open_folder(temp / link.relative_to(_TEMP).parent, made=[]) as folder:
            folder.make_link(os.fsencode(os.readlink(link)), link.name)


def _first_link(name: str) -> Path | None:
    """Return the first link on the way to a path, or the path itself, below the system's temp folder; None without one."""
    path = Path(os.path.normpath(name))
    return next((step for step in (*reversed(path.parents), path) if step != _TEMP and step.is_symlink()), None)


def delete_temp(paths: Paths, session_id: str) -> None:
    """Delete the temp folder of a session that runs no command. Blocks."""
    delete_folder(temp_folder(paths, session_id))


def cache_folder(paths: Paths, worktree: Path) -> Path:
    """Return our folder with the caches of the commands in a work tree, a real path. Commands write only a part of it."""
    return caches_folder(paths) / cache_name(worktree)


def caches_folder(paths: Paths) -> Path:
    """Return the folder with the caches of all projects, a real path."""
    return real_path(paths.cache / "sandbox/caches")


def cache_name(worktree: Path) -> str:
    """Return the name of a work tree's caches."""
    return hashlib.sha256(os.fsencode(worktree)).hexdigest()[:_NAME_CHARS]


def list_caches(paths: Paths) -> list[Path]:
    """Return our folders of the projects that have caches. Blocks."""
    with suppress(OSError), os.scandir(caches_folder(paths)) as entries:
        return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))
    return []


def size_of_folder(folder: Path) -> int:
    """Return the bytes of the files in a folder; links are not followed. Blocks."""
    return sum(
        status.st_size
        for path, _, names in os.walk(folder)
        for name in names
        if (status := _status(os.path.join(path, name))) is not None
    )


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:  # removed in the meantime
        return None


def delete_caches(paths: Paths, worktree: Path) -> None:
    """Delete the caches of a work tree that is removed. Blocks."""
    delete_folder(cache_folder(paths, worktree))


def delete_abandoned(paths: Paths) -> None:
    """Delete the temp folders without a session that no command has used for a week, and caches unused for a month. Blocks."""
    delete_folder(paths.cache / "sandbox/cache")  # of versions before 0.3, which let commands write all of it
    with suppress(OSError), os.scandir(caches_folder(paths)) as caches:
        for entry in caches:
            if entry.stat(follow_symlinks=False).st_mtime < time.time() - KEEP_CACHES_S:
                delete_folder(Path(entry.path))
    oldest = time.time() - KEEP_S
    with suppress(OSError), open_folder(temp_folder(paths, "_").parent) as folder:
        old = [name for name, _ in folder.scan() if _changed_s(folder, name) < oldest]
        used = {path.stem[-_NAME_CHARS:] for path in paths.storage.glob("session/*/*.json")} if old else set[str]()
        for name in old:
            if name not in used:
                folder.delete(name)


def _changed_s(folder: OpenFolder, name: str) -> float:
    found = folder.find(name)
    return time.time() if found is None else found.st_mtime
