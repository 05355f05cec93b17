"""The checks of `doctor` that need no engine: the data folder, the keys, git, ripgrep. Each returns one `Check`."""

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from opencode_tui.cli.mount import network_kind
from opencode_tui.config.auth import AuthStore
from opencode_tui.engine.project.git import git_version
from opencode_tui.engine.tool.search.ripgrep import find_ripgrep
from opencode_tui.schema.error import ConfigError, GitMissingError, GitUnavailableError
from opencode_tui.storage.paths import Paths

Level = Literal["well", "advice", "amiss"]
_MEBIBYTE = 1024 * 1024
_SCARCE_BYTES = 512 * _MEBIBYTE
_FULL_BYTES = 64 * _MEBIBYTE


class Check(Struct, frozen=True):
    """What came out: `advice` could be better, `amiss` is broken. `notes` are lines below, each with its own level."""

    name: str
    level: Level
    text: str
    notes: list[tuple[Level, str]] = field(default_factory=list[tuple[Level, str]])


def check_folder(paths: Paths) -> Check:
    """Tell whether the data folder can be written to, has room, and lies on a local disk. Blocks."""
    folder = next(place for place in (paths.data, *paths.data.parents) if place.exists())
    try:
        _try_to_write(folder)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        reason = error.strerror or str(error)
        return Check(
            "folder", "amiss", f"{folder} cannot be written to ({reason}); make it yours, or set XDG_DATA_HOME"
        )
    notes: list[tuple[Level, str]] = []
    if free < _SCARCE_BYTES:
        is_full = free < _FULL_BYTES
        notes.append(
            ("amiss" if is_full else "advice", f"only {free // _MEBIBYTE} MiB are free on its disk; make room")
        )
    kind = network_kind(folder)
    if kind is not None:
        notes.append(("advice", f"it lies on a network mount ({kind}): slow, and locks may fail; set XDG_DATA_HOME"))
    return Check("folder", worst(level for level, _ in notes), str(paths.data), notes)


def _try_to_write(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(13, "no permission")
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"opencode-tui doctor")
        file.flush()
        os.fsync(file.fileno())


def check_keys(paths: Paths) -> Check:
    """Tell whether the file of credentials can be read. Blocks."""
    try:
        stored = AuthStore(paths=paths).read()
    except ConfigError as error:
        return Check("keys", "amiss", str(error))
    names = ", ".join(sorted(stored.entries)) or "none stored"
    return Check("keys", "well", names, [("well", f"mended: {stored.corrected}")] if stored.corrected else [])


def check_git() -> Check:
    """Return which git there is; blocks."""
    try:
        return Check("git", "well", git_version(os.environ))
    except GitMissingError:
        return Check("git", "amiss", "not found; install it: it identifies a project, and undo needs it")
    except GitUnavailableError as error:
        return Check("git", "amiss", f"{shutil.which('git')} does not run ({error}); install it again")


def check_ripgrep() -> Check:
    """Tell where ripgrep is."""
    path = find_ripgrep()
    if path is None:
        return Check("ripgrep", "advice", "not found; searches work but are slow: pip install ripgrep")
    return Check("ripgrep", "well", str(path))


def worst(levels: Iterable[Level]) -> Level:
    """Return the worst of the levels, `well` without any."""
    present = set(levels)
    return "amiss" if "amiss" in present else "advice" if "advice" in present else "well"
