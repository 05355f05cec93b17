"""The language servers that are known (`known_servers.txt`), and where each is found. Nothing is ever downloaded.

Servers with the same `group` are alternatives: the first that is installed is used. The ids are OpenCode's where it has the server.

A program in the project, and one that runs code of the project, starts in trusted folders only. Where commands run inside the
sandbox all known servers do so too, as none must be a way out for them: their errors quote files that the source names
(`#include`, `#embed`), and some ask hosts that it names (gopls for the modules of `go.mod`). A command that the settings give a
server, of a program that is not known, runs outside.
"""

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from opencode_tui.config.settings.settings import LspSettings
from opencode_tui.engine.lsp.project_folders import ProjectFolders, find_folders, inner_folders
from opencode_tui.engine.project.known_programs import (
    KnownProgram,
    dotted,
    has_program,
    names_of_project_code,
    read_programs,
)
from opencode_tui.engine.project.programs import ProjectPrograms
from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.table import read_sections, split_columns

_TABLE = Path(__file__).with_name("known_servers.txt")


class KnownServer(KnownProgram, frozen=True):
    """A language server. Of one `group` the first that is installed is used; `navigates`: it finds definitions.

    With `needs_marker` it is for no file without a marker above it. `least_version` is the major version of the npm package that
    must contain the program. With `package` it fits a project only if its package.json names this package.
    """

    group: str = ""
    navigates: bool = True
    needs_marker: bool = False
    least_version: int = 0
    package: str = ""
    initialization: dict[str, Any] = field(default_factory=dict[str, Any])


KNOWN = read_programs(_TABLE, KnownServer)
"""In the order of precedence."""

_RUN_PROJECT_CODE = names_of_project_code(KNOWN)
_PROGRAMS = frozenset(one.command[0] for one in KNOWN if one.command)


@cache
def _languages() -> Mapping[str, str]:
    """Return the ids of the languages by the extensions of their files."""
    rows = next(section.rows for section in read_sections(_TABLE) if section.title == "languages")
    columns = (split_columns(row, 2) for row in rows)
    return {extension: language for language, extensions in columns for extension in extensions.split()}


class Found(Struct, frozen=True):
    """A server that can be started: its program is the first of `argv`; `is_confined`: inside the sandbox."""

    server: KnownServer
    argv: tuple[str, ...]
    is_confined: bool = False


class ServerTable:
    """The servers of a folder: the known ones changed by the settings, and the programs that were found for them.

    Programs in the worktree, and servers that run the project's code, may start in a trusted folder only.
    """

    def __init__(self, settings: bool | Mapping[str, LspSettings] | None, programs: ProjectPrograms) -> None:
        self.directory, self.worktree = programs.directory, programs.worktree
        self._programs = programs
        self.servers: Sequence[KnownServer] = [] if settings is False else _with_settings(settings)
        self._found: dict[str, Found | str] = {}

    def is_for(self, path: Path) -> bool:
        """Return whether any server is for files of this name, installed or not."""
        return any(path.suffix in server.extensions for server in self.servers)

    def find(self, server: KnownServer) -> Found | str:
        """Return the program of a server, or why it cannot start. Looks once; blocks for a few lookups."""
        if server.id not in self._found:
            self._found[server.id] = self._look_for(server, self._programs)
        return self._found[server.id]

    def servers_of(self, path: Path) -> list[Found]:
        """Return the servers for a file: of each group the first that can start. Blocks at first."""
        chosen: list[Found] = []
        groups: set[str] = set()
        for server in self.servers:
            if path.suffix not in server.extensions or (server.group and server.group in groups):
                continue
            if server.needs_marker and not self._has_marker(path, server):
                continue
            found = self.find(server)
            if isinstance(found, Found):
                chosen.append(found)
                groups.add(server.group)
        return chosen

    def root_of(self, path: Path, server: KnownServer) -> Path:
        """Return the nearest folder above a file, in the worktree, with one of the server's markers; else the directory. Blocks."""
        for folder in path.parents:
            if not folder.is_relative_to(self.worktree):
                break
            if any((folder / name).exists() for name in server.markers):
                return folder
        return self.directory if path.is_relative_to(self.directory) else self.worktree

    def fitting(self) -> list[KnownServer]:
        """Return the servers whose markers the project has in one of its folders, and those of the settings. Blocks."""
        return self._fitting(self.folders().folders)

    def folders(self) -> ProjectFolders:
        """Return the folders of the project that are examined for markers. Blocks."""
        return find_folders(self.directory, self.worktree)

    def _fitting(self, folders: Sequence[Path]) -> list[KnownServer]:
        """Return those whose markers are in one of these folders, or at the top of the worktree."""
        names: set[str] = set()
        packages = ""
        for folder in {self.worktree, *folders}:
            here = _names(folder)
            names.update(here)
            packages += _text(folder / "package.json") if "package.json" in here else ""
        return [
            one
            for one in self.servers
            if one.is_configured
            or (any(marker in names for marker in one.markers) and (not one.package or f'"{one.package}"' in packages))
        ]

    def can_navigate(self) -> bool:
        """Return whether a server that finds definitions is installed for the project, by the markers one folder down.

        Decided before the first prompt of each process, so it reads few folders and does not probe the sandbox. Blocks for a
        few lookups.
        """
        near = [self.directory, *inner_folders(self.directory)[:_NEAR_FOLDERS]]
        programs = replace(self._programs, is_sandboxed=lambda: False)
        return any(one.navigates and isinstance(self._look_for(one, programs), Found) for one in self._fitting(near))

    def _has_marker(self, path: Path, server: KnownServer) -> bool:
        root = self.root_of(path, server)
        return any((root / name).exists() for name in server.markers)

    def _look_for(self, server: KnownServer, programs: ProjectPrograms) -> Found | str:
        program, *arguments = server.command
        runs_code = server.runs_project_code or (
            server.is_configured and (programs.has_any(arguments) or has_program(server.command, _RUN_PROJECT_CODE))
        )
        if runs_code and not programs.is_trusted:
            return "runs code of the project; trust the folder with `opencode-tui trust`"
        is_known = not server.is_configured or os.path.basename(program) in _PROGRAMS
        found = programs.find(server.command, runs_project_code=runs_code, follows_project=is_known)
        if found is None:
            return f"not installed; {server.advice}" if server.advice else f"{program} was not found"
        if server.least_version and _npm_version(found.path) < server.least_version:
            return f"{found.path} is older than version {server.least_version}; {server.advice}"
        return Found(server, (found.path, *arguments), found.is_confined)


def language_of(path: Path) -> str:
    """Return the protocol's id of the language of a file."""
    return _languages().get(path.suffix, path.suffix.removeprefix(".") or "plaintext")


def _with_settings(settings: bool | Mapping[str, LspSettings] | None) -> list[KnownServer]:
    """Return the known servers as the settings change them, followed by those that only the settings have."""
    given = dict(settings) if isinstance(settings, Mapping) else {}
    servers: list[KnownServer] = []
    for server in KNOWN:
        entry = given.pop(server.id, None)
        if entry is None:
            servers.append(server)
        elif not entry.disabled:
            servers.append(_changed(server, entry))
    own = [
        _changed(KnownServer(name), entry)
        for name, entry in given.items()
        if not entry.disabled and entry.command and entry.extensions
    ]
    return [*own, *servers]


def _changed(server: KnownServer, entry: LspSettings) -> KnownServer:
    """Return a server as an entry of the settings changes it; another command is another program, which no table knows."""
    changed = replace(
        server,
        extensions=dotted(entry.extensions) or server.extensions,
        initialization={**server.initialization, **(entry.initialization or {})},
        environ={**server.environ, **(entry.env or {})},
    )
    if not entry.command:
        return changed
    command = tuple(entry.command)
    return replace(changed, command=command, advice="", group="", least_version=0, is_configured=True)


_NEAR_FOLDERS = 50
"""Most folders that are examined before the first prompt."""


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _npm_version(program: str) -> int:
    """Return the major version of the npm package that contains a program, 0 where there is none. Blocks."""
    for folder in list(Path(os.path.realpath(program)).parents)[:3]:
        try:
            package: Any = load_json((folder / "package.json").read_bytes())
        except (OSError, ValueError):
            continue
        match = re.match(
            r"\d+", str(cast("dict[str, Any]", package).get("version", "")) if isinstance(package, dict) else ""
        )
        return int(match[0]) if match else 0
    return 0


def introduce(root: Path, found: Found) -> JsonObject:
    """Return the parameters of the first request to a server of this root."""
    address = root.as_uri()
    dynamic = {"dynamicRegistration": True}
    return {
        "processId": None if found.is_confined else os.getpid(),  # it could not see this process, and would end
        "clientInfo": {"name": "opencode-tui"},
        "rootUri": address,
        "rootPath": str(root),
        "workspaceFolders": [{"uri": address, "name": root.name}],
        "initializationOptions": found.server.initialization,
        "capabilities": {
            "general": {"positionEncodings": ["utf-8", "utf-16"]},
            "window": {"workDoneProgress": True},
            "workspace": {
                "configuration": True,
                "workspaceFolders": True,
                "didChangeWatchedFiles": dynamic,
                "diagnostics": {"refreshSupport": True},
                "symbol": {},
            },
            "textDocument": {
                "synchronization": {"didSave": True},
                "publishDiagnostics": {"versionSupport": True},
                "diagnostic": dynamic,
                "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
                "definition": {"linkSupport": True},
                "implementation": {"linkSupport": True},
                "references": {},
                "hover": {"contentFormat": ["markdown", "plaintext"]},
                "callHierarchy": {},
            },
        },
    }
