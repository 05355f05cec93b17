"""Finds the stores of other programs in their usual folders, and opens the one that a path names.

Our own store has OpenCode's layout; it is never a source.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.importing.source import SessionSource, Tool
from opencode_tui.schema.error import ConfigError
from opencode_tui.storage.paths import Paths

_DATABASE = "opencode.db"


class Sources(Struct, frozen=True):
    """The stores that this environment can have."""

    paths: Paths
    environ: Mapping[str, str]

    def find(self) -> list[SessionSource]:
        """Return the stores that exist; looks at a few folders. The caller closes them."""
        found = [*self._opencode(self._data_home() / "opencode")]
        for tool, folder in (("claude", self._claude()), ("codex", self._codex())):
            source = self._folder_source(tool, folder)
            found += [source] if source is not None else []
        return found

    def has_any(self) -> bool:
        """Return whether `find` would return a store; reads no session."""
        folder = self._data_home() / "opencode"
        files = (folder / _DATABASE, folder / "storage" / "session", folder / "project")
        folders = (("claude", self._claude()), ("codex", self._codex()))
        return any(path.exists() and not self._is_own(path) for path in files) or any(
            _has_files(tool, path) and not self._is_own(path) for tool, path in folders
        )

    def open(self, tool: Tool | None, path: Path) -> list[SessionSource]:
        """Return the stores at a path of the user; raises ConfigError when there is none."""
        real = path.expanduser()
        if self._is_own(real):
            raise ConfigError(f"{path} is the store of opencode-tui itself; name the folder of another program")
        if not real.exists():
            raise ConfigError(f"{path} does not exist")
        found: list[SessionSource] = []
        if tool in (None, "opencode"):
            found = list(self._opencode_at(real))
        for name in ("codex", "claude"):
            if not found and tool in (None, name):
                source = self._folder_source(name, real)
                found = [source] if source is not None else []
        if not found:
            known = f"{tool} sessions" if tool else "sessions of OpenCode, Claude Code or Codex"
            raise ConfigError(f"{path} holds no {known}")
        return found

    def _opencode_at(self, path: Path) -> Iterator[SessionSource]:
        """Yield the stores of OpenCode for its data folder, the folder of its records, or a database."""
        if path.is_file():
            if path.suffix == ".db":
                yield _sqlite(path)
        elif path.name == "storage" and (path / "session").is_dir():
            yield self._json(path.parent)
        else:
            yield from self._opencode(path)

    def _opencode(self, data: Path) -> Iterator[SessionSource]:
        if self._is_own(data):
            return
        if (data / "storage" / "session").is_dir() or (data / "project").is_dir():
            yield self._json(data)
        for database in sorted(data.glob("opencode*.db")) if data.is_dir() else []:
            yield _sqlite(database)

    def _json(self, data: Path) -> SessionSource:
        from opencode_tui.engine.importing.opencode_json import OpenCodeJson
        from opencode_tui.engine.project.git import list_root_commits  # only for a store of the first layout

        return OpenCodeJson(data, list_root_commits=partial(list_root_commits, environ=self.environ))

    def _folder_source(self, tool: str, folder: Path) -> SessionSource | None:
        make = _READERS.get(tool)
        return make(folder) if make is not None and _has_files(tool, folder) and not self._is_own(folder) else None

    def _is_own(self, path: Path) -> bool:
        real, own = os.path.realpath(path), os.path.realpath(self.paths.data)
        return real == own or real.startswith(f"{own}/")

    def _data_home(self) -> Path:
        return self._variable("XDG_DATA_HOME") or self.paths.home / ".local" / "share"

    def _claude(self) -> Path:
        return (self._variable("CLAUDE_CONFIG_DIR") or self.paths.home / ".claude") / "projects"

    def _codex(self) -> Path:
        return (self._variable("CODEX_HOME") or self.paths.home / ".codex") / "sessions"

    def _variable(self, name: str) -> Path | None:
        value = self.environ.get(name, "")
        return Path(value) if os.path.isabs(value) else None


_FILES = {
    "claude": ("*.jsonl", "*/*.jsonl", "projects/*/*.jsonl"),
    "codex": ("rollout-*.json*", "*/*/*/rollout-*.json*", "sessions/*/*/*/rollout-*.json*"),
}
"""Files of sessions in the folder of a program, or in one of its folders."""


def _has_files(tool: str, folder: Path) -> bool:
    """Return whether a folder has, or a file is, a session of a program; looks at names only."""
    if folder.is_file():
        return folder.suffix == ".jsonl" and folder.name.startswith("rollout-") == (tool == "codex")
    return any(next(folder.glob(pattern), None) is not None for pattern in _FILES[tool])


def _sqlite(path: Path) -> SessionSource:
    from opencode_tui.engine.importing.opencode_sqlite import OpenCodeSqlite  # loads sqlite3

    return OpenCodeSqlite(path)


def _claude(path: Path) -> SessionSource:
    from opencode_tui.engine.importing.claude import ClaudeSource

    return ClaudeSource(path)


def _codex(path: Path) -> SessionSource:
    from opencode_tui.engine.importing.codex import CodexSource

    return CodexSource(path)


_READERS: Mapping[str, Callable[[Path], SessionSource]] = {"claude": _claude, "codex": _codex}
"""Opens the folder of another program's sessions, by program."""
