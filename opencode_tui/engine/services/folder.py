"""Builds the services of one folder: its agents, models, tools and permissions."""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from opencode_tui.config.auth import AuthStore
from opencode_tui.config.load import LoadedConfig
from opencode_tui.config.permission import compile_wildcard
from opencode_tui.config.trust.store import TrustStore
from opencode_tui.engine.agent.agents import AgentInfo
from opencode_tui.engine.agent.families import ModelPrompts
from opencode_tui.engine.agent.model_settings import useless_settings
from opencode_tui.engine.agent.registry import AgentRegistry, build_registry
from opencode_tui.engine.agent.rules import AgentRules
from opencode_tui.engine.command.commands import Commands
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.permission.defaults import PermissionFolders
from opencode_tui.engine.permission.grants import Grants
from opencode_tui.engine.permission.ruleset import evaluate
from opencode_tui.engine.permission.service import PermissionService
from opencode_tui.engine.plugin.plugins import Plugins
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.project.programs import is_below, safe_path
from opencode_tui.engine.provider.catalog import Catalog, CatalogSettings
from opencode_tui.engine.provider.model_table import ModelTable
from opencode_tui.engine.provider.providers import Providers
from opencode_tui.engine.provider.spending import Spending
from opencode_tui.engine.services.core import Core
from opencode_tui.engine.session.background import Background
from opencode_tui.engine.session.compaction.state import OverflowRules, usable
from opencode_tui.engine.session.plugin_hooks import advise_permission, change_environment
from opencode_tui.engine.session.question import QuestionService
from opencode_tui.engine.session.references import ReferenceScope
from opencode_tui.engine.session.request.instruction import DirectoryInstructions
from opencode_tui.engine.session.sessions import SessionApprovals, new_slug
from opencode_tui.engine.session.step.tool_calls import SessionOutputs
from opencode_tui.engine.session.todo_store import SessionTodos
from opencode_tui.engine.skill.skills import Skills
from opencode_tui.engine.tool.registry import ToolDependencies, ToolRegistry, built_in_tools
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.engine.tool.truncate import Truncator
from opencode_tui.schema.error import ConfigError, TrustError
from opencode_tui.schema.event.event import (
    FileEdited,
    FileWatcherUpdated,
    LspDiagnostics,
    LspUpdated,
    WorktreeFailed,
    WorktreeReady,
)
from opencode_tui.schema.permission import Action
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.task_folders import is_task_worktree

if TYPE_CHECKING:
    from opencode_tui.config.settings.settings import SandboxSettings
    from opencode_tui.engine.file.worktrees import Worktrees
    from opencode_tui.engine.format.formatters import Formatters
    from opencode_tui.engine.lsp.known_servers import ServerTable
    from opencode_tui.engine.lsp.language_servers import LanguageServers
    from opencode_tui.engine.lsp.symbols import FoundSymbol
    from opencode_tui.engine.mcp.content import Content
    from opencode_tui.engine.mcp.credentials import McpCredentials
    from opencode_tui.engine.mcp.servers import McpServers
    from opencode_tui.engine.mcp.turns import McpTurns
    from opencode_tui.engine.project.programs import Process
    from opencode_tui.engine.sandbox.environment import Secrets
    from opencode_tui.engine.sandbox.sandbox import Sandbox
    from opencode_tui.engine.snapshot.snapshot import Snapshots
    from opencode_tui.engine.tool.files.transaction import Change
    from opencode_tui.engine.tool.plugin_tool import PluginTool
    from opencode_tui.engine.tool.process.background import BackgroundCommands
    from opencode_tui.engine.tool.search_service import SearchService
    from opencode_tui.schema.api.mcp import McpPrompt

logger = logging.getLogger(__name__)


class FolderServices:
    """The services of one folder that do not depend on its sessions.

    Each attribute is one service, built on first access from the services that its method passes.
    """

    def __init__(
        self,
        core: Core,
        project: Project,
        config: LoadedConfig,
        *,
        plugins: Plugins,
        skills: Skills,
        commands: Commands,
    ) -> None:
        """`config` are the settings after changes by plugins. To be called on the engine's event loop."""
        self._loop = asyncio.get_running_loop()
        self.core = core
        self.project = project
        self.config = config
        self.plugins = plugins
        self.skills = skills
        self.commands = commands
        self.background = Background()
        self.snapshots = Lazy(self._make_snapshots)
        self.secrets = Lazy(self._make_secrets)
        self.sandbox = Lazy(self._make_sandbox)
        self.worktrees = Lazy(self._make_worktrees)
        self.commands_in_background = Lazy(self._make_background_commands)
        self.mcp = Lazy(self._make_mcp)
        self._mcp_turns = Lazy(self._make_mcp_turns)
        self._mcp_credentials = Lazy(self._make_mcp_credentials)
        if self.has_mcp:
            commands.follow(lambda: self.mcp.get().prompts())
        self.languages = Lazy(self._make_languages)
        self.formatters = Lazy(self._make_formatters)

    @cached_property
    def truncator(self) -> Truncator:
        """Cuts outputs and keeps their full texts for the sessions of this worktree."""
        core = self.core
        return Truncator(folder=core.paths.tool_output_of(self.project.worktree), identifier=core.identifier)

    @cached_property
    def agents(self) -> AgentRegistry:
        """The agents with their rules."""
        core, config = self.core, self.config
        skills = [skill.folder for skill in self.skills.all()]
        return build_registry(
            folders=PermissionFolders(home=core.paths.home, tool_output=self.truncator.folder, skills=skills),
            entries=config.effective.get("agent") or {},
            permission=config.effective.get("permission") or {},
            default=config.settings.default_agent,
            sources=config.sources,
        )

    @cached_property
    def rules(self) -> AgentRules:
        """Explains the rules of the agents."""
        return AgentRules(
            agents=self.agents,
            tools=self.tools,
            grants_store=self.grants,
            project=self.project,
            home=self.core.paths.home,
            tier=self._tier,
            protected=self._protected_folders(),
            prompt=self._prompt_of,
        )

    def _prompt_of(self, agent: AgentInfo) -> str:
        catalog = self.catalog
        return self.prompts.of(catalog.resolve(agent.model or catalog.default_model())).text

    async def _tier(self) -> str:
        return (await self.sandbox.get().status()).tier

    async def _has_sandbox(self) -> bool:
        return await self._tier() != "none"

    @property
    def _sandbox_settings(self) -> "SandboxSettings | None":
        experimental = self.config.settings.experimental
        return experimental.sandbox if experimental else None

    @cached_property
    def approvals(self) -> SessionApprovals:
        """The modes of approvals of sessions."""
        experimental = self.config.settings.experimental
        mode = experimental.approvals if experimental else None
        return SessionApprovals(store=self.core.store, default=mode or "normal")

    @cached_property
    def catalog(self) -> Catalog:
        """The available models."""
        core, config = self.core, self.config
        return Catalog(
            settings=CatalogSettings(
                provider=config.effective.get("provider") or {},
                enabled_providers=config.settings.enabled_providers,
                disabled_providers=config.settings.disabled_providers or (),
                model=config.settings.model,
                small_model=config.settings.small_model,
                last_used=core.recent.last(),
            ),
            table=ModelTable(cache=core.paths.cache),
            keys=AuthStore(paths=core.paths).key,
            environment=core.environ,
        )

    @cached_property
    def providers(self) -> Providers:
        """The adapters of the models."""
        core = self.core
        return Providers(
            catalog=self.catalog,
            log=core.paths.log / "litellm.log",
            clock=core.clock,
            spending=self.spending,
        )

    @cached_property
    def spending(self) -> Spending:
        """What the user's calls cost today."""
        return Spending(self.core.paths.state / "spending", clock=self.core.clock)

    @cached_property
    def prompts(self) -> ModelPrompts:
        """The system prompts of the models."""
        extra = [Path(self.core.flags.config_dir)] if self.core.flags.config_dir else []
        folders = [folder / "prompts" for folder in (*extra, self.core.paths.config)]
        return ModelPrompts(folders=folders, chosen=self.config.settings.prompts or {})

    def model_warnings(self) -> list[str]:
        """Return a line for each setting of models and of their prompts that has no effect. Blocks."""
        config = self.config
        entries: Mapping[str, JsonObject] = config.effective.get("agent") or {}
        useless = useless_settings(entries, model=config.settings.model, catalog=self.catalog, sources=config.sources)
        return [*useless, *self.prompts.problems()]

    @cached_property
    def references(self) -> ReferenceScope:
        """The folders and agents to which `@file` and `@agent` in a prompt refer."""
        project = self.project
        return ReferenceScope(
            folders=list(dict.fromkeys((project.directory, project.worktree))),
            home=self.core.paths.home,
            agents=[agent.name for agent in self.agents.all() if agent.mode != "primary" and not agent.hidden],
            resources=lambda: self.mcp.get().resources() if self.has_mcp or self.mcp.made is not None else (),
        )

    @cached_property
    def grants(self) -> Grants:
        """The permanent grants of this worktree."""
        core, project = self.core, self.project
        return Grants(
            store=core.storage,
            lock=core.locks.store,
            project_id=project.id,
            worktree=project.worktree,
            clock=core.clock,
        )

    @cached_property
    def permissions(self) -> PermissionService:
        """The permission requests to the user."""
        core = self.core
        return PermissionService(
            publish=core.publisher.publish,
            identifier=core.identifier,
            grants=self.grants,
            advise=partial(advise_permission, self.plugins.hooks),
            has_sandbox=self._has_sandbox,
            allows_outside=self._sandbox_settings is not None and self._sandbox_settings.auto == "outside",
            approvals=self.approvals.approvals,
        )

    @cached_property
    def questions(self) -> QuestionService:
        """The questions of agents to the user."""
        return QuestionService(publish=self.core.publisher.publish, identifier=self.core.identifier)

    @cached_property
    def todos(self) -> SessionTodos:
        """The sessions' todo lists."""
        core = self.core
        return SessionTodos(storage=core.storage, locks=core.locks, publish=core.publisher.publish)

    @cached_property
    def tools(self) -> ToolRegistry:
        """The built-in tools and those of plugins."""
        core, config, agents, hooks = self.core, self.config, self.agents, self.plugins.hooks
        directory = str(self.project.directory)

        watcher = self.config.settings.watcher
        ignored = [compile_wildcard(pattern) for pattern in (watcher.ignore if watcher else None) or ()]

        def edited(change: "Change") -> None:
            core.bus.publish(FileEdited(file=str(change.path)), directory=directory)
            name = os.path.relpath(change.path, directory)
            if not any(pattern.fullmatch(name) for pattern in ignored):
                kind = "unlink" if change.content is None else "add" if change.expected is None else "change"
                core.bus.publish(FileWatcherUpdated(file=str(change.path), event=kind), directory=directory)

        def may(agent_name: str, permission: str, pattern: str) -> Action:
            agent = agents.get(agent_name)
            return evaluate(permission, pattern, agent.permission if agent else []).action

        async def extend(environ: Mapping[str, str], folder: Path, context: ToolContext) -> Mapping[str, str]:
            return await change_environment(
                hooks, environ, folder=str(folder), session_id=context.session_id, call_id=context.call_id
            )

        dependencies = ToolDependencies(
            environ=core.environ,
            home=core.paths.home,
            truncator=self.truncator,
            todos=self.todos,
            edited=edited,
            may_delegate=lambda agent_name: may(agent_name, "task", "*") != "deny",
            may_edit=lambda agent_name: may(agent_name, "edit", "*") != "deny",
            readable=lambda context, path: may(context.agent, "read", str(path)) == "allow",
            instructions=DirectoryInstructions(store=core.store),
            skills=self.skills,
            outputs=SessionOutputs(store=core.store),
            extend_environment=extend,
            protected=self._protected_folders(),
            secrets=self.secrets,
            sandbox=self.sandbox,
            background=self.commands_in_background,
            shell=self.config.settings.shell,
            languages=self.languages if self.has_languages else None,
            formatters=self.formatters if config.settings.formatter else None,
            find_search=self._find_search,
        )
        return ToolRegistry(
            [*built_in_tools(dependencies), *self._plugin_tools()],
            self._find_late_tools,
            find_useless=self._find_useless_tools,
        )

    def _find_late_tools(self) -> "McpTurns | None":
        return self._mcp_turns.get() if self.has_mcp or self.mcp.made is not None else None

    def _make_mcp_turns(self) -> "McpTurns":
        from opencode_tui.engine.mcp.turns import McpTurns

        return McpTurns(self.mcp, lambda model: usable(model, self.overflow))

    async def read_prompt(self, prompt: "McpPrompt", arguments: str) -> str:
        """Return the text of a prompt of an MCP server for the arguments as the user wrote them. Raises OpencodeError."""
        from opencode_tui.engine.command.commands import prompt_arguments
        from opencode_tui.engine.mcp.content import read_blocks

        servers = await asyncio.to_thread(self.mcp.get)
        found = await servers.get_prompt(prompt.server, prompt.name, prompt_arguments(prompt, arguments))
        messages: list[JsonObject] = found.get("messages") or []
        return read_blocks([one.get("content") for one in messages]).text

    async def read_resource(self, server: str, uri: str) -> "Content":
        """Return the contents of a resource of an MCP server. Raises OpencodeError."""
        from opencode_tui.engine.mcp.content import read_contents

        servers = await asyncio.to_thread(self.mcp.get)
        content = read_contents((await servers.read_resource(server, uri)).get("contents"))
        return replace(content, text=(await self.truncator.truncate(content.text)).text)

    @cached_property
    def overflow(self) -> OverflowRules:
        """When a context is too large."""
        settings, flags = self.config.settings.compaction, self.core.flags
        return OverflowRules(
            is_automatic=settings.auto and not flags.is_autocompact_disabled,
            reserved=settings.reserved,
            output_max=flags.output_token_max,
        )

    def _find_useless_tools(self) -> list[str]:
        """Return `lsp` without a language server that finds definitions here, `websearch` without a key for it. Blocks."""
        useless = [] if not self.has_languages or self._server_table().can_navigate() else ["lsp"]
        try:
            has_search = self.searches_at_provider or self._find_search() is not None
        except ConfigError:  # a damaged file of keys, which the request to the model reports
            has_search = False
        return useless if has_search else [*useless, "websearch"]

    @property
    def searches_at_provider(self) -> bool:
        """Whether providers search the web themselves where they can."""
        experimental = self.config.settings.experimental
        return experimental is not None and experimental.websearch == "provider"

    def has_search(self) -> bool:
        """Return whether a search service has a key. Blocks; raises ConfigError."""
        return self._find_search() is not None

    def _find_search(self) -> "SearchService | None":
        """Return the service that searches the web, None without a key or when it is off. Blocks; raises ConfigError."""
        from opencode_tui.engine.tool.search_service import find_service

        experimental = self.config.settings.experimental
        chosen = experimental.websearch if experimental else None
        return (
            None if chosen == "off" else find_service(self.core.environ, AuthStore(paths=self.core.paths).key, chosen)
        )

    def _protected_folders(self) -> list[Path]:
        """Return our own folders, and those of skills that are not part of the project."""
        paths, project, extra = self.core.paths, self.project, self.core.flags.config_dir
        own = [paths.config, paths.data, paths.state, *([project.directory / extra] if extra else [])]
        skills = [skill.folder for skill in self.skills.all()]
        return [*own, *(folder for folder in skills if not folder.is_relative_to(project.worktree))]

    def _plugin_tools(self) -> "list[PluginTool]":
        if not self.plugins.tools:
            return []
        from opencode_tui.engine.tool.plugin_tool import PluginTool

        return [PluginTool(definition) for definition in self.plugins.tools]

    def _make_secrets(self) -> "Secrets":
        from opencode_tui.engine.sandbox.environment import Secrets, find_setting_keys

        core, sandbox = self.core, self._sandbox_settings
        keys = find_setting_keys(self.config.effective)
        return Secrets(
            core.environ,
            variables=keys.variables,
            values=keys.values,
            stored=self._stored_secrets(),
            passed=(sandbox.env if sandbox else None) or (),
        )

    def _stored_secrets(self) -> Callable[[], Sequence[str]]:
        """Return what returns the keys of providers and the tokens of MCP servers as they are stored now."""
        keys, tokens = AuthStore(paths=self.core.paths), self.core.paths.mcp_auth
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
                partial(self.core.bus.publish, toast, directory=str(self.project.directory))
            )

    def _make_mcp_credentials(self) -> "McpCredentials":
        from opencode_tui.engine.mcp.credentials import McpCredentials

        return McpCredentials(self.core.paths)

    def _make_sandbox(self) -> "Sandbox":
        from opencode_tui.engine.sandbox.sandbox import Sandbox

        core = self.core
        sandbox = Sandbox(
            settings=self._sandbox_settings,
            project=self.project,
            paths=core.paths,
            environ=core.environ,
            secrets=self.secrets.get(),
            readable=[self.truncator.folder, *(skill.folder for skill in self.skills.all()), *self._chosen_shell()],
            granted_hosts=self.grants.hosts,
        )
        self.background.at_close(sandbox.close)
        return sandbox

    def _chosen_shell(self) -> list[Path]:
        """Return the bash that the user prefers, which confined commands must see; not one of the project."""
        shell = self.config.settings.shell
        is_usable = shell is not None and os.path.isabs(shell) and not is_below(shell, self.project.directory)
        return [Path(os.path.realpath(shell))] if shell is not None and is_usable else []

    def _make_background_commands(self) -> "BackgroundCommands":
        from opencode_tui.engine.tool.process.background import BackgroundCommands

        core = self.core
        made = BackgroundCommands(publish=core.publisher.publish, clock=core.clock, root_of=core.store.root_of)
        self.background.at_close(made.close)
        return made

    def _make_worktrees(self) -> "Worktrees":
        from opencode_tui.engine.file.worktrees import Worktrees

        core = self.core

        def publish(event: WorktreeReady | WorktreeFailed, folder: Path) -> None:
            core.bus.publish(event, directory=str(folder))

        return Worktrees(
            project=self.project,
            projects=core.projects,
            paths=core.paths,
            environ=core.environ,
            publish=publish,
            new_name=new_slug,
        )

    @property
    def has_snapshots(self) -> bool:
        """Whether file states are recorded for undo: not if that is off, nor in a batch task's worktree, which is removed."""
        return self.config.settings.snapshot is not False and not is_task_worktree(
            self.core.paths, self.project.worktree
        )

    @property
    def has_mcp(self) -> bool:
        """Whether the settings have an MCP server that is switched on."""
        entries = self.config.settings.mcp or {}
        return any(entry.enabled is not False and hasattr(entry, "type") for entry in entries.values())

    def _make_mcp(self) -> "McpServers":
        from opencode_tui.config.redact import redact_text
        from opencode_tui.engine.mcp.servers import McpOptions, McpServers

        core, settings = self.core, self.config.settings
        servers = McpServers(
            settings.mcp or {},
            settings.experimental,
            McpOptions(
                folder=self.project.directory,
                worktree=self.project.worktree,
                home=core.paths.home,
                is_trusted=self.is_trusted,
                environ=core.environ,
                cache=core.paths.cache,
                credentials=self._mcp_credentials.get(),
                clock=core.clock,
                publish=partial(core.bus.publish, directory=str(self.project.directory)),
                reserved=frozenset(self.tools.names),
                redact=lambda text: redact_text(self.secrets.get().redact(text)),
            ),
        )
        self.background.at_close(servers.close)
        return servers

    @property
    def has_languages(self) -> bool:
        """Whether language servers may start here."""
        return self.config.settings.lsp is not False and not self.core.flags.is_lsp_disabled

    @property
    def _diagnostics_mode(self) -> Literal["edit", "turn", "off"]:
        experimental = self.config.settings.experimental
        return (experimental.lsp_diagnostics if experimental else None) or "edit"

    @property
    def checks_turns(self) -> bool:
        """Whether errors are reported when a turn would end."""
        return self.has_languages and self._diagnostics_mode == "turn"

    def _server_table(self) -> "ServerTable":
        from opencode_tui.engine.lsp.known_servers import ServerTable

        return ServerTable(
            self.config.settings.lsp if self.has_languages else False,
            environ=self.core.environ,
            directory=self.project.directory,
            worktree=self.project.worktree,
            is_trusted=self.is_trusted(),
            is_sandboxed=self._is_sandboxed(),
        )

    def _make_languages(self) -> "LanguageServers":
        from opencode_tui.engine.lsp.language_servers import LanguageServers, ServerOptions

        core, project = self.core, self.project
        directory = str(project.directory)

        servers = LanguageServers(
            make_table=self._server_table,
            make_environ=self._program_environment,
            start_confined=self._start_confined,
            publish_updated=lambda: core.bus.publish(LspUpdated(), directory=directory),
            publish_diagnostics=lambda server_id, path: core.bus.publish(
                LspDiagnostics(server_id=server_id, path=str(path)), directory=directory
            ),
            options=ServerOptions(mode=self._diagnostics_mode),
        )
        self.background.at_close(servers.close)
        return servers

    async def find_symbol(self, path: Path, *, name: str, line: int | None) -> "FoundSymbol | None":
        """Return a symbol of a file by its first line, from 1, or its name, if a language server that runs knows it."""
        servers = self.languages.made
        return None if servers is None else await servers.find_symbol(path, name=name, line=line)

    def _make_formatters(self) -> "Formatters":
        from opencode_tui.engine.format.formatters import Formatters
        from opencode_tui.engine.format.known_formatters import FormatterTable

        def make_table() -> FormatterTable:
            return FormatterTable(
                self.config.settings.formatter,
                environ=self.core.environ,
                directory=self.project.directory,
                worktree=self.project.worktree,
                is_trusted=self.is_trusted(),
                is_sandboxed=self._is_sandboxed(),
            )

        return Formatters(
            make_table=make_table,
            make_environ=self._program_environment,
            start_confined=self._start_confined,
            scratch=self.core.paths.cache / "format",
        )

    def is_trusted(self) -> bool:
        """Return whether the user trusted this folder, so that programs in it may start. Blocks for one small file."""
        try:
            return TrustStore(paths=self.core.paths).find(self.config.worktree) is not None
        except TrustError:
            return False

    def _is_sandboxed(self) -> bool:
        """Return whether commands are confined here. Blocks at first."""
        return self.sandbox.get().find_status().tier != "none"

    def _program_environment(self, is_confined: bool) -> dict[str, str]:
        """Return the environment of programs that work on the project's files: without keys, PATH without the project.

        For confined programs, and in a trusted folder where nothing confines commands, PATH is that of the user. Blocks.
        """
        environ = self.secrets.get().without_keys(self.core.environ)
        if is_confined or (self.is_trusted() and not self._is_sandboxed()):
            return environ
        return {**environ, "PATH": safe_path(environ.get("PATH", ""), self.project.directory)}

    async def _start_confined(
        self, argv: Sequence[str], *, folder: Path, environ: Mapping[str, str], writable: Sequence[Path] = ()
    ) -> "Process":
        """Return a program that was started inside the sandbox. Raises OSError when it cannot be started there."""
        from opencode_tui.engine.sandbox.piped import start_piped

        launch = await self.sandbox.get().confine_helper(argv, folder=folder, environ=environ, writable=writable)
        if launch is None:
            raise OSError(f"{argv[0]} must run inside the sandbox, and none works here")
        return await start_piped(launch)

    def _make_snapshots(self) -> "Snapshots":
        from opencode_tui.engine.snapshot.objects.quota import SnapshotSettings
        from opencode_tui.engine.snapshot.snapshot import Snapshots

        core, project = self.core, self.project
        return Snapshots(
            worktree=project.worktree,
            project_id=project.id,
            paths=core.paths,
            locks=core.locks,
            clock=core.clock,
            settings=SnapshotSettings(is_on=self.has_snapshots),
        )
