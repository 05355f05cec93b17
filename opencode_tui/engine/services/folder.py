"""Builds the services of one folder: its agents, models, tools and permissions."""

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from opencode_tui.config.auth import CHATGPT
from opencode_tui.config.load import LoadedConfig
from opencode_tui.config.notice import describe
from opencode_tui.config.permission import compile_wildcard
from opencode_tui.config.settings.settings import SandboxSettings
from opencode_tui.engine.agent.agents import AgentInfo
from opencode_tui.engine.agent.families import ModelPrompts
from opencode_tui.engine.agent.registry import AgentRegistry, build_registry, useless_settings
from opencode_tui.engine.agent.rules import AgentRules
from opencode_tui.engine.command.commands import Commands
from opencode_tui.engine.lazy import service
from opencode_tui.engine.permission.defaults import PermissionFolders
from opencode_tui.engine.permission.grants import Grants
from opencode_tui.engine.permission.leaving import Leaving
from opencode_tui.engine.permission.path_forms import PathForms, forms_of
from opencode_tui.engine.permission.ruleset import evaluate, evaluate_layers
from opencode_tui.engine.permission.service import PermissionService
from opencode_tui.engine.plugin.plugins import Plugins
from opencode_tui.engine.project.branch_watch import BranchWatch
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.project.git_reach import GitSite, name_site
from opencode_tui.engine.provider.catalog import Catalog, CatalogSettings
from opencode_tui.engine.provider.providers import Providers
from opencode_tui.engine.provider.spending import Spending
from opencode_tui.engine.services.core import Core
from opencode_tui.engine.services.programs import FolderPrograms
from opencode_tui.engine.session.background import Background
from opencode_tui.engine.session.compaction.state import OverflowRules, usable
from opencode_tui.engine.session.plugin_hooks import advise_permission, change_environment
from opencode_tui.engine.session.question import QuestionService
from opencode_tui.engine.session.references import ReferenceScope
from opencode_tui.engine.session.request.instruction import DirectoryInstructions
from opencode_tui.engine.session.sessions import SessionApprovals, new_slug
from opencode_tui.engine.session.step.tool_calls import read_outputs
from opencode_tui.engine.skill.skills import Skills
from opencode_tui.engine.tool.kit import Editing, ShellEnvironment, ToolKit
from opencode_tui.engine.tool.registry import ToolRegistry, built_in_tools
from opencode_tui.engine.tool.todo_store import SessionTodos
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.engine.tool.truncate import Truncator
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.event.event import FileEdited
from opencode_tui.schema.model import MODEL_TITLE
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.tools import TOOLS, Need, tool_with
from opencode_tui.storage.task_folders import is_task_worktree

if TYPE_CHECKING:
    from opencode_tui.engine.mcp.content import Content
    from opencode_tui.engine.mcp.turns import McpTurns
    from opencode_tui.engine.provider.llm import Llm
    from opencode_tui.engine.provider.provider import Endpoint
    from opencode_tui.engine.tool.files.transaction import Change
    from opencode_tui.engine.tool.kit import Excerpt
    from opencode_tui.engine.tool.plugin_tool import PluginTool
    from opencode_tui.engine.tool.registry import InnerCall
    from opencode_tui.engine.tool.search_service import SearchService
    from opencode_tui.schema.api.mcp import McpPrompt


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
        self.core = core
        self.project = project
        self.config = config
        self.plugins = plugins
        self.skills = skills
        self.commands = commands
        self.background = Background()
        experimental = config.settings.experimental
        sandbox = (experimental.sandbox if experimental else None) or SandboxSettings()
        name_site(GitSite(project.worktree, project.repository, core.paths.home, sandbox))

    def follow_prompts(self) -> None:
        """Let the commands have the prompts of MCP servers."""
        if self.programs.has_mcp:
            self.commands.follow(lambda: self.programs.mcp.get().prompts())

    @property
    def read_only(self) -> Path | None:
        """A work tree in which tools change nothing."""
        return None

    def watch_branch(self) -> None:
        """Publish every change of the branch until the folder is closed."""
        repository = self.project.repository
        if repository is not None and self.project.vcs:
            directory = str(self.project.directory)
            watch = BranchWatch(repository, publish=partial(self.core.bus.publish, directory=directory))
            watch.start()
            self.background.at_close(watch.close)

    @cached_property
    def truncator(self) -> Truncator:
        """Cuts outputs and keeps their full texts for the sessions of this worktree."""
        core = self.core
        return Truncator(folder=core.paths.tool_output_of(self.project.worktree), identifier=core.identifier)

    @cached_property
    def programs(self) -> FolderPrograms:
        """The sandbox, MCP servers, language servers and formatters."""
        return FolderPrograms(
            self.core,
            self.project,
            self.config,
            background=self.background,
            readable=lambda: [self.truncator.folder, *(skill.folder for skill in self.skills.all())],
            grants=self.grants,
            tool_names=lambda: self.tools.names,
        )

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
            memory=self.permission_memory,
            project=self.project,
            home=self.core.paths.home,
            tier=self.programs.tier,
            protected=self._protected_folders(),
            prompt=self._prompt_of,
        )

    def _prompt_of(self, agent: AgentInfo) -> str:
        catalog = self.catalog
        return self.prompts.of(catalog.resolve(agent.model or catalog.default_model())).text

    async def _has_sandbox(self) -> bool:
        return await self.programs.tier() != "none"

    async def _reaches_host(self, host: str) -> bool:
        return await self.programs.sandbox.get().reaches(host)

    @cached_property
    def approvals(self) -> SessionApprovals:
        """The modes of approvals of sessions."""
        experimental = self.config.settings.experimental
        mode = experimental.approvals if experimental else None
        return SessionApprovals(store=self.core.store, default=mode or "normal")

    @cached_property
    def catalog(self) -> Catalog:
        """The available models."""
        core, config, stored = self.core, self.config, self.core.auth
        return Catalog(
            settings=CatalogSettings(
                provider=config.effective.get("provider") or {},
                enabled_providers=config.settings.enabled_providers,
                disabled_providers=config.settings.disabled_providers or (),
                model=config.settings.model,
                small_model=config.settings.small_model,
                last_used=core.recent.last(),
                ignored=[one.key for one in config.ignored],
            ),
            table=core.models,
            keys=stored.key,
            environment=core.environ,
            clock=core.clock,
            local=self.local_servers,
            plan=lambda: stored.entry(CHATGPT),
        )

    def say_of_model(self, session_id: str, line: str) -> None:
        """Show the user a line about the model that answers in a session, wherever the session is shown."""
        self.say(session_id, line, title=MODEL_TITLE)

    def say(self, session_id: str | None, line: str, *, title: str | None = None) -> None:
        """Show the user a line in a session, wherever it is shown; without a session wherever the folder is."""
        from opencode_tui.schema.event.screen_event import ScreenToastShown  # only for such a line

        toast = ScreenToastShown(title=title, message=line, variant="warning", session_id=session_id)
        self.core.bus.publish(toast, directory=str(self.project.directory))

    async def refresh_models(self, *, is_forced: bool = False) -> list[str]:
        """Read newer lists of models if they are due; return a line for each that changed, with `is_forced` for each.

        Raises ConfigError where the environment forbids it, and it is forced.
        """
        core, settings = self.core, self.config.settings.models
        if core.flags.is_models_fetch_disabled:
            if is_forced:
                raise ConfigError("OPENCODE_DISABLE_MODELS_FETCH is set; unset it to read newer lists of models")
            return []
        if not (settings.refresh or is_forced):
            return []
        from opencode_tui.engine.provider.model_fetch import CATALOG_URL, ListSource  # when a list of models is opened

        sources = [ListSource(settings.url or CATALOG_URL)]
        for table, url, endpoint in await asyncio.to_thread(self.catalog.own_lists):
            key = {"authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
            sources.append(ListSource(url, table, {**key, **endpoint.headers}))
        lines = await core.model_lists.get().refresh(sources, is_forced=is_forced)
        if lines:
            core.models.reload()
        return lines

    @service
    def local_servers(self):
        """The servers of models on this machine."""
        from opencode_tui.engine.provider.local_servers import PORTS, LocalServers  # when models are listed or used

        left_out = self.config.settings.disabled_providers or ()
        ports = {name: port for name, port in PORTS.items() if name not in left_out}
        is_off = self.config.settings.local_models is False or self.core.flags.is_local_models_disabled
        return LocalServers(self.core.environ, is_off=is_off, ports=ports)

    @cached_property
    def providers(self) -> Providers:
        """The adapters of the models."""
        core = self.core
        return Providers(
            catalog=self.catalog,
            log=core.paths.log / "litellm.log",
            clock=core.clock,
            spending=self.spending,
            plan=self._make_plan,
            say=lambda line: self.say(None, line, title=MODEL_TITLE),
        )

    def _make_plan(self, endpoint: "Endpoint") -> "Llm":
        from opencode_tui.engine.provider.chatgpt.accounts import Accounts  # only for a model of a ChatGPT plan
        from opencode_tui.engine.provider.chatgpt.llm import ChatGptLlm

        core = self.core
        return ChatGptLlm(endpoint, Accounts(core.paths, core.environ), clock=core.clock, on_usage=self.spending.record)

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
        retired = filter(None, [self.catalog.describe_retired_default()])
        return [*retired, *useless, *self._missing_addresses(), *self.prompts.problems()]

    def _missing_addresses(self) -> Iterator[str]:
        for provider_id in self.catalog.without_address():
            path = f"provider.{provider_id}"
            source = next((one for key, one in self.config.sources.items() if key.startswith(f"{path}.")), "")
            yield describe(source, None, path, "no address is known; set options.baseURL")

    @cached_property
    def references(self) -> ReferenceScope:
        """The folders and agents to which `@file` and `@agent` in a prompt refer."""
        project, programs = self.project, self.programs
        return ReferenceScope(
            folders=list(dict.fromkeys((project.directory, project.worktree))),
            home=self.core.paths.home,
            agents=[agent.name for agent in self.agents.all() if agent.mode != "primary" and not agent.hidden],
            resources=lambda: programs.mcp.get().resources() if programs.uses_mcp else (),
            templates=lambda: programs.mcp.get().templates() if programs.uses_mcp else (),
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

    @service
    def permission_memory(self):
        """What is remembered about answers and grants."""
        from opencode_tui.engine.permission.memory import PermissionMemory

        core, project = self.core, self.project
        memory = PermissionMemory(
            store=core.storage,
            lock=core.locks.store,
            project_id=project.id,
            worktree=project.worktree,
            clock=core.clock,
            start=partial(self.background.start, name="counting the use of a grant"),
        )
        self.background.at_close(memory.flush)
        return memory

    @cached_property
    def permissions(self) -> PermissionService:
        """The permission requests to the user."""
        core, sandbox = self.core, self.programs.sandbox_settings
        return PermissionService(
            publish=core.publisher.publish,
            identifier=core.identifier,
            grants=self.grants,
            advise=partial(advise_permission, self.plugins.hooks),
            has_sandbox=self._has_sandbox,
            reaches_host=self._reaches_host,
            allows_outside=sandbox is not None and sandbox.auto == "outside",
            approvals=self.approvals.approvals,
            memory=self.permission_memory,
        )

    @cached_property
    def _path_forms(self) -> PathForms:
        """The spellings of the project's paths that rules may use."""
        return forms_of(self.project.directory, self.project.worktree, self.project.origins)

    @cached_property
    def leaving(self) -> Leaving:
        """Decides which files keep their content in what leaves this folder without a tool."""
        core, project, sandbox = self.core, self.project, self.programs.sandbox_settings
        written = (sandbox.hidden if sandbox is not None else None) or ()

        def is_hidden(path: str) -> bool:
            if not written:
                return False
            from opencode_tui.engine.sandbox.folders import hides  # only where settings hide something

            return hides(written, core.paths.home, project.worktree, project.origins, path)

        return Leaving(str(project.worktree), self._path_forms, lambda: [self.agents.default().permission], is_hidden)

    def _object_to(self, path: str) -> str:
        """Return why the content of a file may not leave, empty where it may."""
        return self.leaving.objection(path)

    def _may_read(self, context: ToolContext, path: Path) -> bool:
        """Return whether the read tool could show a file without asking."""
        text = str(path)
        return evaluate_layers("read", text, context.ask.rules(), self._path_forms.of("read", text)).action == "allow"

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
        core, config, programs = self.core, self.config, self.programs
        agents, hooks = self.agents, self.plugins.hooks
        directory = str(self.project.directory)

        watcher = self.config.settings.watcher
        ignored = [compile_wildcard(pattern) for pattern in (watcher.ignore if watcher else None) or ()]

        def edited(change: "Change") -> None:
            from opencode_tui.schema.event.folder_event import FileWatcherUpdated  # only after a change

            core.bus.publish(FileEdited(file=str(change.path)), directory=directory)
            name = os.path.relpath(change.path, directory)
            if not any(pattern.fullmatch(name) for pattern in ignored):
                kind = "unlink" if change.content is None else "add" if change.expected is None else "change"
                core.bus.publish(FileWatcherUpdated(file=str(change.path), event=kind), directory=directory)

        def may(agent_name: str, tool: str) -> bool:
            agent = agents.get(agent_name)
            return evaluate(tool, "*", agent.permission if agent else []).action != "deny"

        async def extend(environ: Mapping[str, str], folder: Path, context: ToolContext) -> Mapping[str, str]:
            return await change_environment(
                hooks, environ, folder=str(folder), session_id=context.session_id, call_id=context.call_id
            )

        editing = Editing(
            edited=edited,
            protected=self._protected_folders(),
            languages=programs.languages if programs.has_languages else None,
            formatters=programs.formatters if config.settings.formatter else None,
            read_only=self.read_only,
        )
        shell = ShellEnvironment(
            environ=core.environ,
            home=core.paths.home,
            reserve_output=self.truncator.reserve,
            secrets=programs.secrets,
            sandbox=programs.sandbox,
            may=may,
            extend=extend,
            background=self.commands_in_background,
            shell=config.settings.shell,
            limits=programs.limits,
        )
        kit = ToolKit(
            directory=self.project.directory,
            environ=core.environ,
            editing=editing,
            shell=shell,
            readable=self._may_read,
            instructions=DirectoryInstructions(store=core.store, objection_to=self._object_to),
            todos=self.todos,
            skills=self.skills,
            read_outputs=partial(read_outputs, core.store),
            search_history=self._search_history,
            find_search=self._find_search,
        )
        return ToolRegistry(
            [*built_in_tools(kit), *self._plugin_tools()],
            find_late=lambda name: None if (turns := self.mcp_turns()) is None else turns.get(name),
            find_inner=self._find_inner_call,
            find_useless=self._find_useless_tools,
        )

    async def _search_history(self, session_id: str, words: str) -> "Sequence[Excerpt]":
        from opencode_tui.engine.session.compaction.recall import search_history

        return await search_history(self.core.store, session_id, words)

    async def _find_inner_call(self, name: str, arguments: Mapping[str, Any]) -> "InnerCall | None":
        turns = self.mcp_turns()
        return None if turns is None else await turns.find_inner(name, arguments)

    def mcp_turns(self) -> "McpTurns | None":
        """Return the tools of MCP servers for the turns of sessions; None without a server."""
        return self._mcp_turns.get() if self.programs.uses_mcp else None

    @service
    def _mcp_turns(self):
        from opencode_tui.engine.mcp.call import CallBackground, make_output
        from opencode_tui.engine.mcp.turns import McpTurns

        experimental = self.config.settings.experimental
        background = CallBackground.of_settings(
            experimental.mcp_background if experimental else None,
            commands=self.commands_in_background,
            make_output=lambda: make_output(self.truncator.reserve, self.programs.secrets.get()),
        )
        return McpTurns(self.programs.mcp, lambda model: usable(model, self.overflow), background)

    async def read_prompt(self, prompt: "McpPrompt", arguments: str) -> str:
        """Return the text of a prompt of an MCP server for the arguments as the user wrote them. Raises OpencodeError."""
        from opencode_tui.engine.command.commands import prompt_arguments
        from opencode_tui.engine.mcp.content import read_blocks

        servers = await asyncio.to_thread(self.programs.mcp.get)
        found = await servers.get_prompt(prompt.server, prompt.name, prompt_arguments(prompt, arguments))
        messages: list[JsonObject] = found.get("messages") or []
        return read_blocks([one.get("content") for one in messages]).text

    async def read_resource(self, server: str, uri: str) -> "Content":
        """Return the contents of a resource of an MCP server. Raises OpencodeError."""
        from opencode_tui.engine.mcp.content import read_contents

        servers = await asyncio.to_thread(self.programs.mcp.get)
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
        """Return the tools that need a language server that finds definitions here, or a key for searches. Blocks."""
        programs, missing = self.programs, set[Need]()
        if programs.has_languages and not programs.server_table().can_navigate():
            missing.add("languages")
        try:
            has_search = self.searches_at_provider or self._find_search() is not None
        except ConfigError:  # a damaged file of keys, which the request to the model reports
            has_search = False
        if not has_search:
            missing.add("search")
        return [row.name for row in TOOLS if row.needs in missing]

    @property
    def searches_at_provider(self) -> bool:
        """Whether providers search the web themselves where they can."""
        return self._search_setting == "provider"

    @property
    def _search_setting(self) -> str | None:
        """The experimental setting with the name of the tool that searches the web."""
        found: str | None = getattr(self.config.settings.experimental, tool_with("search"), None)
        return found

    def has_search(self) -> bool:
        """Return whether a search service has a key. Blocks; raises ConfigError."""
        return self._find_search() is not None

    def _find_search(self) -> "SearchService | None":
        """Return the service that searches the web, None without a key or when it is off. Blocks; raises ConfigError."""
        from opencode_tui.engine.tool.search_service import find_service

        chosen = self._search_setting
        return None if chosen == "off" else find_service(self.core.environ, self.core.auth.key, chosen)

    def _protected_folders(self) -> list[Path]:
        """Return our own folders, those of skills that are not part of the project, and files that hooks and servers start."""
        paths, project, extra = self.core.paths, self.project, self.core.flags.config_dir
        own = [paths.config, paths.data, paths.state, *([project.directory / extra] if extra else [])]
        skills = [skill.folder for skill in self.skills.all()]
        outside = (folder for folder in skills if not folder.is_relative_to(project.worktree))
        return [*own, *outside, *self.programs.find_started_files()]

    def _plugin_tools(self) -> "list[PluginTool]":
        if not self.plugins.tools:
            return []
        from opencode_tui.engine.tool.plugin_tool import PluginTool

        return [PluginTool(definition) for definition in self.plugins.tools]

    @service
    def commands_in_background(self):
        """The commands of agents that run in the background."""
        from opencode_tui.engine.tool.process.background import BackgroundCommands

        core = self.core
        made = BackgroundCommands(publish=core.publisher.publish, clock=core.clock, root_of=core.store.root_of)
        self.background.at_close(made.close)
        return made

    @service
    def worktrees(self):
        """The worktrees that clients make."""
        from opencode_tui.engine.file.worktrees import Worktrees
        from opencode_tui.schema.event.folder_event import WorktreeFailed, WorktreeReady

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

    @service
    def snapshots(self):
        """The states of files, for undo."""
        from opencode_tui.engine.project.git import SafeGit
        from opencode_tui.engine.snapshot.objects.quota import SnapshotSettings
        from opencode_tui.engine.snapshot.snapshot import Snapshots, WorktreeLock

        core, project = self.core, self.project
        return Snapshots(
            WorktreeLock(
                worktree=project.worktree,
                project_id=project.id,
                paths=core.paths,
                locks=core.locks,
                clock=core.clock,
                settings=SnapshotSettings(self.has_snapshots).limited(self.config.settings.snapshot_limits),
                git=SafeGit(project.worktree, environ=core.environ).run_strictly,
            )
        )
