"""The folders of the program, as platformdirs names them: the XDG layout on every system.

Paths are not created until they are needed: `ensure` makes a folder with mode 0700.
"""

import hashlib
import os
import threading
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.schema.error import ConfigError

if TYPE_CHECKING:
    from platformdirs.api import PlatformDirsABC

APP_NAME = "opencode-tui"

_VARIABLES = ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
_environment_guard = threading.Lock()


class Paths(Struct, frozen=True):
    """Absolute folders; all but `home` are the program's own.

    `find_paths` gives these with links resolved: the kernel compares, mounts and opens what is there, not a name that leads there.
    """

    home: Path
    """As HOME names it; a link stays."""
    data: Path
    config: Path
    state: Path
    cache: Path

    @property
    def storage(self) -> Path:
        """JSON records."""
        return self.data / "storage"

    @property
    def trash(self) -> Path:
        """Deleted sessions, a folder for each."""
        return self.data / "trash"

    @property
    def snapshot(self) -> Path:
        """The snapshot stores of all worktrees."""
        return self.data / "snapshot"

    @property
    def lock(self) -> Path:
        """Lock files; never deleted."""
        return self.data / "lock"

    @property
    def terminals(self) -> Path:
        """Records and sockets of the engines that several terminals share, mode 0700."""
        return self.data / "terminals"

    @property
    def tool_output(self) -> Path:
        """Full texts of truncated outputs."""
        return self.data / "tool-output"

    def tool_output_of(self, worktree: Path) -> Path:
        """Full texts of the sessions in one worktree, a real path; other worktrees' sessions read them only if the user agrees."""
        return self.tool_output / hashlib.sha256(os.fsencode(worktree)).hexdigest()[:40]

    @property
    def tasks(self) -> Path:
        """The worktrees of batch tasks that run, each with a record of its origin (`task_folders.py`)."""
        return self.cache / "batch"

    @property
    def log(self) -> Path:
        """Log files."""
        return self.data / "log"

    @property
    def well_known(self) -> Path:
        """Settings of servers that the user accepted, a record each."""
        return self.data / "well-known"

    @property
    def plugins(self) -> Path:
        """Installed plugins, a folder each."""
        return self.data / "plugins"

    @property
    def auth(self) -> Path:
        """Credentials, mode 0600."""
        return self.data / "auth.json"

    @property
    def mcp_auth(self) -> Path:
        """Tokens of MCP servers, mode 0600."""
        return self.data / "mcp-auth.json"

    @property
    def trust(self) -> Path:
        """Trusted folders with the fingerprints of their content."""
        return self.state / "trust.json"


def find_paths(environ: Mapping[str, str]) -> Paths:
    """Return the folders for this environment; raises ConfigError when HOME cannot hold them.

    A relative `XDG_*_HOME` is ignored, as the XDG specification requires.
    """
    with _process_environment(environ):
        home = Path(os.path.expanduser("~"))
        if not home.is_absolute():
            raise ConfigError(f"HOME is {str(home)!r}, not an absolute path; set HOME to your home directory")
        own = (
            _xdg_folder("XDG_DATA_HOME") or _platform_folders().user_data_path,
            _xdg_folder("XDG_CONFIG_HOME") or _platform_folders().user_config_path,
            _xdg_folder("XDG_STATE_HOME") or _platform_folders().user_state_path,
            _xdg_folder("XDG_CACHE_HOME") or _platform_folders().user_cache_path,
        )
    _check_usable(own)
    return Paths(home, *map(real_path, own))


def real_path(path: Path | str) -> Path:
    """Return a path with all links resolved; its end may be missing. Blocks for a lookup of each part."""
    return Path(os.path.realpath(path))


def _platform_folders() -> "PlatformDirsABC":
    """Return the folders that platformdirs names; imported here because `--help` needs none, nor do XDG variables."""
    from platformdirs.unix import Unix as Folders  # on macOS as well

    return Folders(APP_NAME, appauthor=False)


def _xdg_folder(variable: str) -> Path | None:
    """Return our folder in that of an XDG variable, None when it is not set."""
    value = os.environ.get(variable, "")
    return Path(value) / APP_NAME if os.path.isabs(value) else None


@contextmanager
def _process_environment(environ: Mapping[str, str]) -> Generator[None]:
    """Set the variables of `environ` that determine the folders in this process, because platformdirs reads them there.

    Changes nothing when they are equal; only a program that embeds the engine, or a test, passes others.
    """
    wanted = {name: environ.get(name) or None for name in _VARIABLES}
    with _environment_guard:
        found = {name: os.environ.get(name) for name in _VARIABLES}
        if wanted == found:
            yield
            return
        try:
            _set_variables(wanted)
            yield
        finally:
            _set_variables(found)


def _set_variables(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _check_usable(folders: Iterable[Path]) -> None:
    for folder in folders:
        for path in (folder, *folder.parents):
            if os.path.lexists(path):
                if not os.path.exists(path):
                    raise ConfigError(f"{path} is a link to {os.readlink(path)}, which is missing; make that folder")
                if not path.is_dir():
                    raise ConfigError(f"{path} is not a directory; set HOME (or XDG_*_HOME) to a usable directory")
                break


def ensure(folder: Path) -> Path:
    """Make a folder of ours and its missing parents with mode 0700, and return it; an existing one is unchanged."""
    missing: list[Path] = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
        folder = path
    return folder
