"""The stores of other programs: those in their usual folders, and the one that a path names."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.project.git import list_root_commits
from opencode_tui.extras.importing.claude import ClaudeSource
from opencode_tui.extras.importing.codex import CodexSource
from opencode_tui.extras.importing.opencode_json import OpenCodeJson
from opencode_tui.extras.importing.opencode_sqlite import OpenCodeSqlite
from opencode_tui.extras.importing.places import PROGRAMS, Places, Program
from opencode_tui.extras.importing.source import SessionSource
from opencode_tui.schema.api.importing import ImportTool
from opencode_tui.schema.error import ConfigError
from opencode_tui.storage.paths import Paths


class Sources(Struct, frozen=True):
    """The stores that this environment can have."""

    paths: Paths
    environ: Mapping[str, str]

    def find(self) -> list[SessionSource]:
        """Return the stores that exist; looks at a few folders. The caller closes them."""
        found = [*self._opencode(self._places().opencode())]
        return [*found, *(_open(program, folder) for program, folder in self._places().folders())]

    def open(self, tool: ImportTool | None, path: Path) -> list[SessionSource]:
        """Return the stores at a path of the user; raises ConfigError when there is none."""
        real = path.expanduser()
        if self._places().is_own(real):
            raise ConfigError(f"{path} is the store of opencode-tui itself; name the folder of another program")
        if not real.exists():
            raise ConfigError(f"{path} does not exist")
        found: list[SessionSource] = []
        if tool in (None, "opencode"):
            found = list(self._opencode_at(real))
        for program in reversed(PROGRAMS):
            if not found and tool in (None, program.tool) and program.has_sessions(real):
                found = [_open(program, real)]
        if not found:
            known = f"{tool} sessions" if tool else "sessions of OpenCode, Claude Code or Codex"
            raise ConfigError(f"{path} holds no {known}")
        return found

    def _opencode_at(self, path: Path) -> Iterator[SessionSource]:
        """Yield the stores of OpenCode for its data folder, the folder of its records, or a database."""
        if path.is_file():
            if path.suffix == ".db":
                yield OpenCodeSqlite(path)
        elif path.name == "storage" and (path / "session").is_dir():
            yield self._json(path.parent)
        else:
            yield from self._opencode(path)

    def _opencode(self, data: Path) -> Iterator[SessionSource]:
        if self._places().is_own(data):
            return
        if (data / "storage" / "session").is_dir() or (data / "project").is_dir():
            yield self._json(data)
        for database in sorted(data.glob("opencode*.db")) if data.is_dir() else []:
            yield OpenCodeSqlite(database)

    def _json(self, data: Path) -> SessionSource:
        return OpenCodeJson(data, list_root_commits=partial(list_root_commits, environ=self.environ))

    def _places(self) -> Places:
        return Places(self.paths, self.environ)


def _open(program: Program, path: Path) -> SessionSource:
    match program.tool:
        case "claude":
            return ClaudeSource(path)
        case "codex":
            return CodexSource(path)
        case other:
            raise ValueError(f"{other} has no reader of files")
