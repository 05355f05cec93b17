"""The folders of the program, all below the XDG folders of the person; the only user of platformdirs.

Nothing is created by looking at a path: `ensure` makes a folder with mode 0700 when something is about to be stored.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from opencode_tui.schema.error import ConfigError

APP_NAME = "opencode-tui"


class Paths(Struct, frozen=True):
    """Absolute folders; `home` is the person's, the rest are ours."""

    home: Path
    data: Path
    config: Path
    state: Path
    cache: Path

    @property
    def storage(self) -> Path:
        """JSON records."""
        return self.data / "storage"

    @property
    def snapshot(self) -> Path:
        """The snapshot stores of all worktrees."""
        return self.data / "snapshot"

    @property
    def lock(self) -> Path:
        """Lock files; never deleted."""
        return self.data / "lock"

    @property
    def tool_output(self) -> Path:
        """Full texts of outputs that were cut."""
        return self.data / "tool-output"

    @property
    def log(self) -> Path:
        """Log files."""
        return self.data / "log"

    @property
    def auth(self) -> Path:
        """Credentials, mode 0600."""
        return self.data / "auth.json"

    @property
    def trust(self) -> Path:
        """Which folders may start programs, and the content that was seen."""
        return self.state / "trust.json"


def find_paths(environ: Mapping[str, str]) -> Paths:
    """Return the folders for this environment; raises ConfigError when HOME cannot hold them.

    A relative `XDG_*_HOME` is ignored, as the XDG specification demands.
    """
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    if not home.is_absolute():
        raise ConfigError(f"HOME is {str(home)!r}, not an absolute path; set HOME to your home directory")
    paths = Paths(
        home=home,
        data=_base(environ, "XDG_DATA_HOME", home / ".local" / "share"),
        config=_base(environ, "XDG_CONFIG_HOME", home / ".config"),
        state=_base(environ, "XDG_STATE_HOME", home / ".local" / "state"),
        cache=_base(environ, "XDG_CACHE_HOME", home / ".cache"),
    )
    _check_usable(paths)
    return paths


def _base(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    value = environ.get(variable, "")
    return (Path(value) if os.path.isabs(value) else default) / APP_NAME


def _check_usable(paths: Paths) -> None:
    for folder in (paths.data, paths.config, paths.state, paths.cache):
        for ancestor in folder.parents:
            if os.path.lexists(ancestor):
                if not ancestor.is_dir():
                    raise ConfigError(f"{ancestor} is not a directory; set HOME (or XDG_*_HOME) to a usable directory")
                break


def ensure(folder: Path) -> Path:
    """Make a folder of ours and its missing parents with mode 0700, and return it; an existing one stays as it is."""
    missing: list[Path] = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
        folder = path
    return folder
