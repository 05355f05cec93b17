"""Where other programs keep their sessions: folders and names of files, looked at without reading a session.

Each start of the screen looks, so that the welcome page can suggest an import; this module loads no reader.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.storage.paths import Paths

if TYPE_CHECKING:
    from opencode_tui.schema.api.importing import ImportTool

DATABASE = "opencode.db"
"""OpenCode's database of sessions in its data folder."""


class Program(Struct, frozen=True):
    """A program that keeps its sessions as files.

    The sessions are in `folder` of the folder that the `variable` of the environment names, or else of `home` in the user's home.
    `files` are patterns of session files from the folder with the sessions, one around it or one in it, `name` is that of one file.
    """

    tool: "ImportTool"
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


PROGRAMS = (
    Program(
        "claude",
        variable="CLAUDE_CONFIG_DIR",
        home=".claude",
        folder="projects",
        files=("*.jsonl", "*/*.jsonl", "projects/*/*.jsonl"),
        name=re.compile(r"(?!rollout-).*\.jsonl", re.DOTALL),
    ),
    Program(
        "codex",
        variable="CODEX_HOME",
        home=".codex",
        folder="sessions",
        files=("rollout-*.json*", "*/*/*/rollout-*.json*", "sessions/*/*/*/rollout-*.json*"),
        name=re.compile(r"rollout-.*\.jsonl", re.DOTALL),
    ),
)
"""The programs in the order of lists. Patterns of the first also match files of the second, so a path is tried from the end."""


class Places(Struct, frozen=True):
    """The folders of other programs in this environment. Our own store has OpenCode's layout; it is never one of them."""

    paths: Paths
    environ: Mapping[str, str]

    def has_any(self) -> bool:
        """Return whether another program has sessions here. Blocks; reads no session."""
        folder = self.opencode()
        files = (folder / DATABASE, folder / "storage" / "session", folder / "project")
        return any(path.exists() and not self.is_own(path) for path in files) or any(self.folders())

    def opencode(self) -> Path:
        """Return OpenCode's data folder."""
        return (self._variable("XDG_DATA_HOME") or self.paths.home / ".local" / "share") / "opencode"

    def folders(self) -> Iterator[tuple[Program, Path]]:
        """Yield the usual folders of the programs that have sessions."""
        for program in PROGRAMS:
            root = self._variable(program.variable) or self.paths.home / program.home
            folder = root / program.folder
            if program.has_sessions(folder) and not self.is_own(folder):
                yield program, folder

    def is_own(self, path: Path) -> bool:
        """Return whether a path is our own store or in it."""
        real, own = os.path.realpath(path), os.path.realpath(self.paths.data)
        return real == own or real.startswith(f"{own}/")

    def _variable(self, name: str) -> Path | None:
        value = self.environ.get(name, "")
        return Path(value) if os.path.isabs(value) else None


def marker(paths: Paths) -> Path:
    """Return the file that says that the user knows the import."""
    return paths.state / "imported"


def can_import(paths: Paths, environ: Mapping[str, str]) -> bool:
    """Return whether another program has sessions here and the user has imported nothing yet. Blocks; reads no session."""
    return not marker(paths).exists() and Places(paths, environ).has_any()
