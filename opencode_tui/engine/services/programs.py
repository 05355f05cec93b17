"""Builds what works on a folder together with the engine: the sandbox, MCP servers, language servers, formatters."""

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from opencode_tui.config.load import LoadedConfig
from opencode_tui.config.sources.layer import PLUGIN_SOURCE
from opencode_tui.config.trust.store import TrustStore
from opencode_tui.engine.lazy import service
from opencode_tui.engine.permission.grants import Grants
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.project.programs import Program, ProjectPrograms
from opencode_tui.engine.services.core import Core
from opencode_tui.engine.session.background import Background
from opencode_tui.programs import is_below, safe_environ
from opencode_tui.schema.error import TrustError

if TYPE_CHECKING:
    from opencode_tui.config.settings.settings import SandboxSettings
    from opencode_tui.engine.lsp.known_servers import ServerTable
    from opencode_tui.engine.lsp.symbols import FoundSymbol
    from opencode_tui.engine.project.programs import Process
    from opencode_tui.engine.sandbox.limits import Limits

logger = logging.getLogger(__name__)


class FolderPrograms:
    """The programs of one folder, and what they may see: each is `Lazy`, as most turns need none of them."""

    def __init__(
        self,
        core: Core,
        project: Project,
        config: LoadedConfig,
        *,
        background: Background,
        readable: Callable[[], Sequence[Path]],
        grants: Grants,
        tool_names: Callable[[], Sequence[str]],
    ) -> None:
        """`background` ends the programs with the folder; MCP tools must not have one of `tool_names`.

        Confined commands may read the folders that `readable` returns. To be called on the engine's event loop.
        """
        self._loop = asyncio.get_running_loop()
        self._core = core
        self._project = project
        self._config = config
        self._background = background
        self._readable = readable
        self._grants = grants
        self._tool_names = tool_names

    def share_servers(self, other: "FolderPrograms") -> None:
        """Use the MCP servers of another folder, which ends them."""
        vars(self)["mcp"] = other.mcp

    @property
    def sandbox_settings(self) -> "SandboxSettings | None":
        """The settings of the sandbox, None without any."""
        experimental = self._config.settings.experimental
        return experimental.sandbox if experimental else None

    @cached_property
    def limits(self) -> "Limits":
        """What each command may use."""
        from opencode_tui.engine.sandbox.limits import find_limits

        return find_limits(self.sandbox_settings)

    async def tier(self) -> str:
        """Return what confines commands here, `none` if nothing does."""
        return (await self.sandbox.get().status()).tier

    @service
    def secrets(self):
        """The keys and tokens that commands and records must not have."""
        from opencode_tui.engine.sandbox.environment import Secrets, find_setting_keys

        core, sandbox = self._core, self.sandbox_settings
        keys = find_setting_keys(self._config.effective)
        return Secrets(
            core.environ,
            variables=keys.variables,
            values=keys.values,
            stored=self._stored_secrets(),
            passed=(sandbox.env if sandbox else None) or (),
        )

    def _stored_secrets(self) -> Callable[[], Sequence[str]]:
        """Return what returns the keys of providers and the tokens of MCP servers as they are stored now."""
        keys, tokens = self._core.auth, self._core.paths.mcp_auth
        return lambda: [
            *keys.keys(),
            *(self._mcp_credentials.get().known_secrets(self._warn) if tokens.exists() else ()),
        ]

    def _warn(self, message: str) -> None:
        """Log a warning, and show it on screens. May be called on any thread."""
        from opencode_tui.schema.event.screen_event import ScreenToastShown

        logger.warning(message)
        toast = ScreenToastShown(message=message, variant="warning")
        with suppress(RuntimeError):  # the engine is closed
            self._loop.call_soon_threadsafe(
                partial(self._core.bus.publish, toast, directory=str(self._project.directory))
            )

    @service
    def sandbox(self):
        """The sandbox of commands."""
        from opencode_tui.engine.sandbox.sandbox import KnownPaths, Sandbox

        core = self._core
        sandbox = Sandbox(
            settings=self.sandbox_settings,
            project=self._project,
            paths=core.paths,
            environ=core.environ,
            secrets=self.secrets.get(),
            known=KnownPaths([*self._readable(), *self._chosen_shell()], self.find_started_files()),
            granted_hosts=self._grants.hosts,
        )
        self._background.at_close(sandbox.close)
        return sandbox

    def find_started_files(self) -> list[Path]:
        """Return the files of the project that its hooks and servers start outside the sandbox. Blocks for some lookups."""
        from opencode_tui.config.trust.gate import RepositoryFolder  # only for folders with commands or edits
        from opencode_tui.config.trust.review import find_started_files

        directory, worktree = self._project.directory, self._config.worktree
        place = RepositoryFolder(directory, worktree, self._core.paths.home)
        return sorted(find_started_files(self._config.effective, place))

    def _chosen_shell(self) -> list[Path]:
        """Return the bash that the user prefers, which confined commands must see; not one of the project."""
        shell = self._config.settings.shell
        is_usable = (
            shell is not None
            and os.path.isabs(shell)
            and not is_below(shell, self._project.directory, self._core.environ)
        )
        return [Path(os.path.realpath(shell))] if shell is not None and is_usable else []

    @property
    def has_mcp(self) -> bool:
        """Whether the settings have an MCP server that is switched on."""
        entries = self._config.settings.mcp or {}
        return any(entry.enabled is not False and hasattr(entry, "type") for entry in entries.values())

    @service
    def _mcp_credentials(self):
        from opencode_tui.engine.mcp.credentials import McpCredentials

        return McpCredentials(self._core.paths)

    @property
    def uses_mcp(self) -> bool:
        """Whether MCP servers may run here: of the settings, or added since."""
        return self.has_mcp or self.mcp.made is not None

    @service
    def mcp(self):
        """The MCP servers."""
        from opencode_tui.config.redact import redact_text
        from opencode_tui.engine.mcp.lists import ListCache
        from opencode_tui.engine.mcp.server import ServerWorld
        from opencode_tui.engine.mcp.servers import McpServers

        core, settings = self._core, self._config.settings
        timeout_ms = settings.experimental.mcp_timeout if settings.experimental else None
        world = ServerWorld(
            folder=self._project.directory,
            home=core.paths.home,
            is_trusted=self.is_trusted,
            roots=[self._project.worktree],
            environ=core.environ,
            cache=ListCache(core.paths.cache / "mcp", core.clock),
            credentials=self._mcp_credentials.get(),
            default_timeout_s=timeout_ms / 1000 if timeout_ms else None,
            of_repository=frozenset(name for name in settings.mcp or () if self._is_of_repository(name)),
            data=self._find_data_folders(),
        )
        servers = McpServers(
            settings.mcp or {},
            world,
            clock=core.clock,
            publish=partial(core.bus.publish, directory=str(self._project.directory)),
            reserved=frozenset(self._tool_names()),
            redact=lambda text: redact_text(self.secrets.get().redact(text)),
        )
        self._background.at_close(servers.close)
        return servers

    def _find_data_folders(self) -> dict[str, Path]:
        """Return the data folders of the installed plugins by the names of their servers."""
        found: dict[str, Path] = {}
        for name in self._config.settings.mcp or ():
            source = self._config.sources.get(f"mcp.{name}.command", "")
            if source.startswith(PLUGIN_SOURCE):
                found[name] = self._core.paths.plugins / source.removeprefix(PLUGIN_SOURCE) / "data"
        return found

    def _is_of_repository(self, server: str) -> bool:
        """Return whether the command of an MCP server is from a file of the repository."""
        source = self._config.sources.get(f"mcp.{server}.command", "")
        return source.startswith(f"{self._config.worktree}/")

    @property
    def has_languages(self) -> bool:
        """Whether language servers may start here."""
        return self._config.settings.lsp is not False and not self._core.flags.is_lsp_disabled

    @property
    def _diagnostics_mode(self) -> Literal["edit", "turn", "off"]:
        experimental = self._config.settings.experimental
        return (experimental.lsp_diagnostics if experimental else None) or "edit"

    @property
    def checks_turns(self) -> bool:
        """Whether errors are reported when a turn would end: all, or those of servers that were starting before."""
        return self.has_languages and self._diagnostics_mode != "off"

    def server_table(self) -> "ServerTable":
        """Return the language servers of the settings and the known ones, and which are installed here. Blocks."""
        from opencode_tui.engine.lsp.known_servers import ServerTable

        return ServerTable(
            self._config.settings.lsp if self.has_languages else False,
            self._project_programs(),
        )

    @service
    def languages(self):
        """The language servers."""
        from opencode_tui.engine.lsp.language_servers import LanguageServers, ServerOptions
        from opencode_tui.schema.event.folder_event import LspDiagnostics, LspUpdated

        core, project = self._core, self._project
        directory = str(project.directory)

        servers = LanguageServers(
            make_table=self.server_table,
            make_environ=self._program_environment,
            start_confined=self._start_confined,
            publish_updated=lambda: core.bus.publish(LspUpdated(), directory=directory),
            publish_diagnostics=lambda server_id, path: core.bus.publish(
                LspDiagnostics(server_id=server_id, path=str(path)), directory=directory
            ),
            options=ServerOptions(mode=self._diagnostics_mode),
        )
        self._background.at_close(servers.close)
        return servers

    async def find_symbol(self, path: Path, name: str, line: int | None) -> "FoundSymbol | None":
        """Return a symbol of a file by its first line, from 1, or its name, if a language server that runs knows it."""
        servers = self.languages.made
        return None if servers is None else await servers.find_symbol(path, name=name, line=line)

    @service
    def formatters(self):
        """The formatters of edits."""
        from opencode_tui.engine.format.formatters import Formatters
        from opencode_tui.engine.format.known_formatters import FormatterTable

        def make_table() -> FormatterTable:
            return FormatterTable(
                self._config.settings.formatter,
                self._project_programs(),
            )

        return Formatters(
            make_table=make_table,
            make_environ=self._program_environment,
            start_confined=self._start_confined,
            scratch=self._core.paths.cache / "format",
            report=self._warn,
        )

    def is_trusted(self) -> bool:
        """Return whether the user trusted this folder, so that programs in it may start. Blocks for one small file."""
        try:
            return TrustStore(paths=self._core.paths).find(self._config.worktree) is not None
        except TrustError:
            return False

    def _is_sandboxed(self) -> bool:
        """Return whether commands are confined here. Blocks at first."""
        return self.sandbox.get().find_status().tier != "none"

    def _project_programs(self) -> ProjectPrograms:
        """Return what looks for programs that help with the project. Blocks."""
        directory, worktree = self._project.directory, self._project.worktree
        return ProjectPrograms(
            environ=self._core.environ,
            directory=directory,
            worktree=directory if str(worktree) == "/" else worktree,
            is_trusted=self.is_trusted(),
            is_sandboxed=self._is_sandboxed,
        )

    def _program_environment(self, is_confined: bool) -> dict[str, str]:
        """Return the environment of programs that work on the project's files: without keys, PATH without the project.

        In a trusted folder PATH is that of the user for confined programs, and where nothing confines commands. Blocks.
        """
        environ = self.secrets.get().without_keys(self._core.environ)
        if self.is_trusted() and (is_confined or not self._is_sandboxed()):
            return environ
        return safe_environ(environ, self._project.directory)

    async def _start_confined(self, program: "Program") -> "Process":
        """Return a program that was started inside the sandbox. Raises OSError when it cannot be started there."""
        from opencode_tui.engine.sandbox.piped import start_piped

        launch = await self.sandbox.get().confine_helper(program)
        if launch is None:
            raise OSError(f"{program.argv[0]} must run inside the sandbox, and none works here")
        return await start_piped(launch)
