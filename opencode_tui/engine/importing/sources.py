"""Finds the stores of other programs in their usual folders, and opens the one that a path names.

Our own store has OpenCode's layout; it is never a source.
"""

import os
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from opencode_tui import entry_points
from opencode_tui.engine.importing.opencode_json import OpenCodeJson
from opencode_tui.engine.importing.opencode_sqlite import OpenCodeSqlite
from opencode_tui.engine.project.git import list_root_commits
from opencode_tui.schema.error import ConfigError
from opencode_tui.storage.paths import Paths

if TYPE_CHECKING:
    from opencode_tui.engine.importing.source import OpenStore, SessionSource
    from opencode_tui.schema.api.importing import ImportTool

_DATABASE = "opencode.db"


class _Program(Struct, frozen=True):
    """A program whose sessions are files, which an extra reads: its entry point is an `OpenStore`.

    The sessions are in `folder` of the folder that the `variable` of the environment names, or else of `home` in the user's home.
    `files` are patterns of session files from the folder with the sessions, one around it or one in it, `name` is that of one file.
    """

    tool: "ImportTool"
    reader: str
    variable: str
    home: str
    folder: str
    files: tuple[str, ...]
    name: re.Pattern[str]

    def has_sessions(self, path: Path) -> bool:
        """Return whether a folder has, or a file is, a session; looks at names only."""
        if path.is_file():
            return self.name.fullmatch(path.name) is not None
        return any(next(path.glob(pattern), None) is not None for pattern in self.files)

    def open(self, path: Path) -> "SessionSource":
        """Return the store at a path; the first call imports the reader."""
        return cast("OpenStore", entry_points.load(self.reader))(path)


_PROGRAMS = (
    _Program(
        "claude",
        reader="importing.claude",
        variable="CLAUDE_CONFIG_DIR",
        home=".claude",
        folder="projects",
        files=("*.jsonl", "*/*.jsonl", "projects/*/*.jsonl"),
        name=re.compile(r"(?!rollout-).*\.jsonl", re.DOTALL),
    ),
    _Program(
        "codex",
        reader="importing.codex",
        variable="CODEX_HOME",
        home=".codex",
        folder="sessions",
        files=("rollout-*.json*", "*/*/*/rollout-*.json*", "sessions/*/*/*/rollout-*.json*"),
        name=re.compile(r"rollout-.*\.jsonl", re.DOTALL),
    ),
)
"""The programs in the order of lists. Patterns of the first also match files of the second, so a path is tried from the end."""


class Sources(Struct, frozen=True):
    """The stores that this environment can have."""

    paths: Paths
    environ: Mapping[str, str]

    def find(self) -> "list[SessionSource]":
        """Return the stores that exist; looks at a few folders. The caller closes them."""
        found = [*self._opencode(self._data_home() / "opencode")]
        return [*found, *(program.open(folder) for program, folder in self._folders())]

    def has_any(self) -> bool:
        """Return whether `find` would return a store; reads no session."""
        folder = self._data_home() / "opencode"
        files = (folder / _DATABASE, folder / "storage" / "session", folder / "project")
        return any(path.exists() and not self._is_own(path) for path in files) or any(self._folders())

    def open(self, tool: "ImportTool | None", path: Path) -> "list[SessionSource]":
        """Return the stores at a path of the user; raises ConfigError when there is none."""
        real = path.expanduser()
        if self._is_own(real):
            raise ConfigError(f"{path} is the store of opencode-tui itself; name the folder of another program")
        if not real.exists():
            raise ConfigError(f"{path} does not exist")
        found: list[SessionSource] = []
        if tool in (None, "opencode"):
            found = list(self._opencode_at(real))
        for program in reversed(_PROGRAMS):
            if not found and tool in (None, program.tool) and program.has_sessions(real):
                found = [program.open(real)]
        if not found:
            known = f"{tool} sessions" if tool else "sessions of OpenCode, Claude Code or Codex"
            raise ConfigError(f"{path} holds no {known}")
        return found

    def _opencode_at(self, path: Path) -> "Iterator[SessionSource]":
        """Yield the stores of OpenCode for its data folder, the folder of its records, or a database."""
        if path.is_file():
            if path.suffix == ".db":
                yield _sqlite(path)
        elif path.name == "storage" and (path / "session").is_dir():
            yield self._json(path.parent)
        else:
            yield from self._opencode(path)

    def _opencode(self, data: Path) -> "Iterator[SessionSource]":
        if self._is_own(data):
            return
        if (data / "storage" / "session").is_dir() or (data / "project").is_dir():
            yield self._json(data)
        for database in sorted(data.glob("opencode*.db")) if data.is_dir() else []:
            yield _sqlite(database)

    def _json(self, data: Path) -> "SessionSource":
        return OpenCodeJson(data, list_root_commits=partial(list_root_commits, environ=self.environ))

    def _folders(self) -> Iterator[tuple[_Program, Path]]:
        """Yield the usual folders of the other programs that have sessions."""
        for program in _PROGRAMS:
            root = self._variable(program.variable) or self.paths.home / program.home
            folder = root / program.folder
            if program.has_sessions(folder) and not self._is_own(folder):
                yield program, folder

    def _is_own(self, path: Path) -> bool:
        real, own = os.path.realpath(path), os.path.realpath(self.paths.data)
        return real == own or real.startswith(f"{own}/")

    def _data_home(self) -> Path:
        return self._variable("XDG_DATA_HOME") or self.paths.home / ".local" / "share"

    def _variable(self, name: str) -> Path | None:
        value = self.environ.get(name, "")
        return Path(value) if os.path.isabs(value) else None


def _sqlite(path: Path) -> "SessionSource":
    return OpenCodeSqlite(path)
