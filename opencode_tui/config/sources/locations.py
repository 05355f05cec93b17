"""The sources of settings in their order: later wins.

The user's folder with `cli.json` before its other files, `~/.opencode`, OPENCODE_CONFIG, then per folder from the repository's
root down to the directory `.mcp.json`, `opencode.jsonc`, `opencode.json` and `.opencode/`, then OPENCODE_CONFIG_DIR and
OPENCODE_CONFIG_CONTENT; the administrator's folder last. Source: docs/internals/settings.md#order.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from opencode_tui.config.flags import Flags
from opencode_tui.config.notice import Notice
from opencode_tui.config.sources.layer import CLI_FILE, MCP_FILE, Origin
from opencode_tui.config.sources.project_file import RULES_FILES, find_objection
from opencode_tui.config.well_known import AcceptedStore
from opencode_tui.schema.error import ConfigError
from opencode_tui.storage.paths import APP_NAME, Paths

FILE_NAMES = ("opencode.jsonc", "opencode.json")
"""In one folder the later one wins."""

Kind = Literal["file", "folder", "text"]


class SettingsSource(Struct, frozen=True):
    """A file that may contain settings, a settings folder (markdown, plugins, tools, skills), or the text of a variable.

    `name` is its name in messages; `path` is the file or folder, for a text the base folder of relative paths.
    """

    kind: Kind
    origin: Origin
    name: str
    path: Path
    text: str = ""
    is_required: bool = False


def find_worktree(directory: Path) -> Path:
    """Return the real folder of the repository that contains a folder, or the folder itself without one. Blocks."""
    real = Path(os.path.realpath(directory))
    for folder in (real, *real.parents):
        if os.path.lexists(folder / ".git"):
            return folder
    return real


def repository_folders(directory: Path, worktree: Path) -> list[Path]:
    """Return the folders from the worktree down to the directory."""
    real = Path(os.path.realpath(directory))
    inner = [real, *real.parents]
    return list(reversed(inner[: inner.index(worktree) + 1]))


def find_linked_rules(directory: Path, worktree: Path) -> Iterator[Notice]:
    """Yield a warning for each rules file that is left out of requests, because it is a link to the wrong file. Blocks."""
    for path in (folder / name for folder in repository_folders(directory, worktree) for name in RULES_FILES):
        objection = find_objection(path, worktree) if path.is_symlink() else None
        if objection is not None:
            yield Notice(str(path), "", f"left out of requests, because {objection}")


def list_sources(*, paths: Paths, flags: Flags, directory: Path, worktree: Path) -> list[SettingsSource]:
    """Return all possible sources, lowest precedence first, including those that do not exist."""
    screen = SettingsSource("file", "user", str(paths.config / CLI_FILE), paths.config / CLI_FILE)
    own = [screen, *_folder(paths.config, "user"), *_folder(paths.home / ".opencode", "user")]
    if flags.config is not None:
        own.append(SettingsSource("file", "user", "OPENCODE_CONFIG", directory / flags.config, is_required=True))
    own_folders = {os.path.realpath(source.path) for source in own if source.kind == "folder"}
    found = [*own, *_repository(directory, worktree, own_folders)]
    if flags.config_dir is not None:
        found += _folder(_existing_folder(directory / flags.config_dir), "user")
    if flags.config_content is not None:
        found.append(SettingsSource("text", "user", "OPENCODE_CONFIG_CONTENT", directory, flags.config_content))
    return found


def list_accepted(paths: Paths) -> list[str]:
    """Return the addresses whose settings the user accepted; they come before all other sources. Blocks."""
    if not paths.well_known.is_dir():
        return []

    return [record.url for record in AcceptedStore(paths=paths).all()]


def list_administrator_sources(flags: Flags, directory: Path) -> list[SettingsSource]:
    """Return the administrator's sources, which override all others."""
    folder = Path(flags.managed_config_dir) if flags.managed_config_dir else _system_folder()
    return list(_folder(directory / folder, "administrator"))


def list_repository_sources(directory: Path, worktree: Path) -> list[SettingsSource]:
    """Return the sources in the repository."""
    return list(_repository(directory, worktree, set()))


def _repository(directory: Path, worktree: Path, own_folders: set[str]) -> Iterator[SettingsSource]:
    """Yield the sources in the repository, without the user's own folders."""
    for folder in repository_folders(directory, worktree):
        if str(folder) not in own_folders:
            yield SettingsSource("file", "repository", str(folder / MCP_FILE), folder / MCP_FILE)
            yield from _files(folder, "repository")
        inner = folder / ".opencode"
        if os.path.realpath(inner) not in own_folders:
            yield from _folder(inner, "repository")


def _folder(folder: Path, origin: Origin) -> Iterator[SettingsSource]:
    yield from _files(folder, origin)
    yield SettingsSource("folder", origin, str(folder), folder)


def _files(folder: Path, origin: Origin) -> Iterator[SettingsSource]:
    for name in FILE_NAMES:
        yield SettingsSource("file", origin, str(folder / name), folder / name)


def _existing_folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise ConfigError(f"OPENCODE_CONFIG_DIR: {folder} is not a folder; correct or unset the variable")
    return folder


def _system_folder() -> Path:
    if sys.platform == "darwin":
        return Path("/Library/Application Support") / APP_NAME
    return Path("/etc") / APP_NAME
