"""The language servers that are known, and where each is found. Nothing is ever downloaded.

Servers with the same `group` are alternatives: the first that is installed is used. The ids are OpenCode's where it has the server.

A program in the project, and one that runs code of the project, starts in trusted folders only. Where commands run inside the
sandbox it does so too, as it must not be a way out for them; the other servers run outside.
"""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from msgspec import Struct, field

from opencode_tui.config.settings.settings import LspSettings
from opencode_tui.engine.project.programs import ProjectPrograms
from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.record import JsonObject

_LANGUAGES = {
    ".bash": "shellscript", ".c": "c", ".cc": "cpp", ".cjs": "javascript", ".cpp": "cpp", ".cs": "csharp", ".cts": "typescript",
    ".cxx": "cpp", ".go": "go", ".h": "cpp", ".hpp": "cpp", ".hs": "haskell", ".java": "java", ".js": "javascript",
    ".jsx": "javascriptreact", ".kt": "kotlin", ".kts": "kotlin", ".lua": "lua", ".mjs": "javascript", ".mts": "typescript",
    ".php": "php", ".py": "python", ".pyi": "python", ".rb": "ruby", ".rs": "rust", ".sh": "shellscript", ".svelte": "svelte",
    ".tf": "terraform", ".toml": "toml", ".ts": "typescript", ".tsx": "typescriptreact", ".vue": "vue", ".yaml": "yaml",
    ".yml": "yaml", ".zig": "zig", ".ex": "elixir", ".exs": "elixir", ".dart": "dart", ".swift": "swift", ".m": "objective-c",
    ".json": "json", ".jsonc": "jsonc",
}  # fmt: skip

PYTHON_MARKERS = (
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "Pipfile",
    "pyrightconfig.json",
    "ty.toml",
)
_SCRIPT_MARKERS = ("package.json", "tsconfig.json", "jsconfig.json")


class KnownServer(Struct, frozen=True):
    """A language server: its command, the files that it is for, and how it is installed.

    `runs_project_code`: it may run programs of the project, so it starts only in trusted folders, inside the sandbox if any.
    `navigates`: it finds definitions. `least_version` is the major version of the npm package that must contain the program.
    With `package` it fits a project only if its package.json names this package.
    """

    id: str
    extensions: tuple[str, ...]
    markers: tuple[str, ...]
    command: tuple[str, ...]
    install: str
    group: str = ""
    runs_project_code: bool = False
    navigates: bool = True
    least_version: int = 0
    package: str = ""
    initialization: dict[str, Any] = field(default_factory=dict[str, Any])
    environ: dict[str, str] = field(default_factory=dict[str, str])
    is_configured: bool = False


_PY = (".py", ".pyi")
_TS = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_C = (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp")
_python = partial(KnownServer, extensions=_PY, markers=PYTHON_MARKERS, group="python")

KNOWN: tuple[KnownServer, ...] = (
    _python(id="ty", command=("ty", "server"), install="uv tool install ty"),
    _python(id="basedpyright", command=("basedpyright-langserver", "--stdio"), install="uv tool install basedpyright"),
    _python(id="pyright", command=("pyright-langserver", "--stdio"), install="npm install -g pyright"),
    _python(id="pyrefly", command=("pyrefly", "lsp"), install="uv tool install pyrefly", runs_project_code=True),
    _python(id="pylsp", command=("pylsp",), install="uv tool install python-lsp-server", runs_project_code=True),
    _python(id="ruff", command=("ruff", "server"), install="uv tool install ruff", navigates=False),
    KnownServer("deno", _TS, ("deno.json", "deno.jsonc"), ("deno", "lsp"), "npm install -g deno", group="script"),
    KnownServer(
        *("typescript-go", _TS, _SCRIPT_MARKERS, ("tsc", "--lsp", "--stdio"), "npm install -g typescript@7"),
        group="script",
        least_version=7,
    ),
    KnownServer(
        *("typescript", _TS, _SCRIPT_MARKERS, ("typescript-language-server", "--stdio")),
        "npm install -g typescript-language-server typescript@5",
        group="script",
        runs_project_code=True,
        # else it runs npm for the types of libraries, and answers nothing before that has ended
        initialization={"disableAutomaticTypingAcquisition": True},
    ),
    KnownServer(
        *("clangd", _C, ("compile_commands.json", "compile_flags.txt", ".clangd", "CMakeLists.txt", "meson.build")),
        ("clangd", "--background-index=0"),
        "uv tool install clangd",
    ),
    KnownServer("gopls", (".go",), ("go.work", "go.mod"), ("gopls",), "go install golang.org/x/tools/gopls@latest"),
    KnownServer(
        *("rust", (".rs",), ("Cargo.toml",), ("rust-analyzer",), "rustup component add rust-analyzer"),
        runs_project_code=True,
    ),
    KnownServer("zls", (".zig",), ("build.zig",), ("zls",), "see zigtools.org/zls", runs_project_code=True),
    KnownServer(
        *("jdtls", (".java",), ("pom.xml", "build.gradle", "build.gradle.kts"), ("jdtls",), "brew install jdtls"),
        runs_project_code=True,
    ),
    KnownServer(
        *("kotlin-ls", (".kt", ".kts"), ("build.gradle", "build.gradle.kts"), ("kotlin-lsp", "--stdio")),
        "brew install kotlin-lsp",
        runs_project_code=True,
    ),
    KnownServer("ruby-lsp", (".rb",), ("Gemfile",), ("ruby-lsp",), "gem install ruby-lsp", runs_project_code=True),
    KnownServer(
        *("php intelephense", (".php",), ("composer.json",), ("intelephense", "--stdio")), "npm install -g intelephense"
    ),
    KnownServer("lua-ls", (".lua",), (".luarc.json",), ("lua-language-server",), "brew install lua-language-server"),
    KnownServer(
        *("elixir-ls", (".ex", ".exs"), ("mix.exs",), ("elixir-ls",), "brew install elixir-ls"), runs_project_code=True
    ),
    KnownServer(
        *("dart", (".dart",), ("pubspec.yaml",), ("dart", "language-server"), "see dart.dev/get-dart"),
        runs_project_code=True,
    ),
    KnownServer(
        *("sourcekit-lsp", (".swift",), ("Package.swift",), ("sourcekit-lsp",), "see swift.org/install"),
        runs_project_code=True,
    ),
    KnownServer(
        *("vue", (".vue",), ("package.json",), ("vue-language-server", "--stdio")),
        "npm install -g @vue/language-server",
        runs_project_code=True,
        package="vue",
    ),
    KnownServer(
        *(
            "svelte",
            (".svelte",),
            ("package.json",),
            ("svelteserver", "--stdio"),
            "npm install -g svelte-language-server",
        ),
        runs_project_code=True,
        package="svelte",
    ),
    KnownServer(
        *("terraform", (".tf",), (".terraform.lock.hcl",), ("terraform-ls", "serve"), "brew install terraform-ls"),
        runs_project_code=True,
    ),
)
"""In the order of precedence. Servers without diagnostics of errors, or that need many processes, are left out."""


class Found(Struct, frozen=True):
    """A server that can be started: its program is the first of `argv`; `is_confined`: inside the sandbox."""

    server: KnownServer
    argv: tuple[str, ...]
    is_confined: bool = False


class ServerTable:
    """The servers of a folder: the known ones changed by the settings, and the programs that were found for them.

    In a trusted folder programs in the worktree, and servers that run the project's code, may start; confined in a sandbox.
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
            self._found[server.id] = self._look_for(server)
        return self._found[server.id]

    def servers_of(self, path: Path) -> list[Found]:
        """Return the servers for a file: of each group the first that can start. Blocks at first."""
        chosen: list[Found] = []
        groups: set[str] = set()
        for server in self.servers:
            if path.suffix not in server.extensions or (server.group and server.group in groups):
                continue
            if server.id == "deno" and not self._has_marker(path, server):
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
        """Return the servers whose markers the project has at its top, and those of the settings. Blocks."""
        folders = {self.directory, self.worktree}
        names = {entry for folder in folders for entry in _names(folder)}
        packages = "".join(_text(folder / "package.json") for folder in folders) if "package.json" in names else ""
        return [
            one
            for one in self.servers
            if one.is_configured
            or (any(marker in names for marker in one.markers) and (not one.package or f'"{one.package}"' in packages))
        ]

    def can_navigate(self) -> bool:
        """Return whether a server that finds definitions is installed for the project. Blocks for a few lookups."""
        return any(one.navigates and isinstance(self.find(one), Found) for one in self.fitting())

    def _has_marker(self, path: Path, server: KnownServer) -> bool:
        root = self.root_of(path, server)
        return any((root / name).exists() for name in server.markers)

    def _look_for(self, server: KnownServer) -> Found | str:
        program, *arguments = server.command
        runs_code = server.runs_project_code or (server.is_configured and self._programs.has_any(arguments))
        if runs_code and not self._programs.is_trusted:
            return "runs code of the project; trust the folder with `opencode-tui trust`"
        found = self._programs.find(server.command, runs_project_code=runs_code)
        if found is None:
            return f"not installed; {server.install}" if server.install else f"{program} was not found"
        if server.least_version and _npm_version(found.path) < server.least_version:
            return f"{found.path} is older than version {server.least_version}; {server.install}"
        return Found(server, (found.path, *arguments), found.is_confined)


def language_of(path: Path) -> str:
    """Return the protocol's id of the language of a file."""
    return _LANGUAGES.get(path.suffix, path.suffix.removeprefix(".") or "plaintext")


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
        _changed(KnownServer(name, (), (), (), ""), entry)
        for name, entry in given.items()
        if not entry.disabled and entry.command and entry.extensions
    ]
    return [*own, *servers]


def _changed(server: KnownServer, entry: LspSettings) -> KnownServer:
    return KnownServer(
        id=server.id,
        extensions=tuple(_dotted(entry.extensions)) if entry.extensions else server.extensions,
        markers=server.markers,
        command=tuple(entry.command) if entry.command else server.command,
        install="" if entry.command else server.install,
        group="" if entry.command else server.group,
        runs_project_code=server.runs_project_code,
        navigates=server.navigates,
        least_version=0 if entry.command else server.least_version,
        initialization={**server.initialization, **(entry.initialization or {})},
        environ={**server.environ, **(entry.env or {})},
        is_configured=bool(entry.command),
    )


def _dotted(extensions: Collection[str]) -> list[str]:
    return [one if one.startswith(".") else f".{one}" for one in extensions]


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
