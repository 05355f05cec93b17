"""What the instance of a folder is made of: with `core` and `wire_verbs`, the only place that constructs services."""

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.config.auth import AuthStore
from opencode_tui.config.load import LoadedConfig, load_config
from opencode_tui.engine.agent.registry import AgentRegistry, build_registry
from opencode_tui.engine.core import Core
from opencode_tui.engine.extensions import Extensions, load_extensions
from opencode_tui.engine.instance import Instance
from opencode_tui.engine.permission.defaults import PermissionFolders
from opencode_tui.engine.permission.grants import Grants
from opencode_tui.engine.permission.ruleset import evaluate
from opencode_tui.engine.permission.service import PermissionService
from opencode_tui.engine.project.branch_watch import BranchWatch
from opencode_tui.engine.project.discover import Project, discover
from opencode_tui.engine.provider.catalog import Catalog, CatalogSettings
from opencode_tui.engine.provider.model_table import ModelTable
from opencode_tui.engine.provider.providers import Providers
from opencode_tui.engine.rules import Rules
from opencode_tui.engine.session.background import Background
from opencode_tui.engine.session.exclusive import Exclusive
from opencode_tui.engine.session.nearby import NearbyInstructions
from opencode_tui.engine.session.part_edits import PartEdits
from opencode_tui.engine.session.plugin_hooks import advise_permission, change_environment
from opencode_tui.engine.session.question import QuestionService
from opencode_tui.engine.session.sessions import Sessions
from opencode_tui.engine.session.snapshot_keeping import SnapshotKeeping
from opencode_tui.engine.session.snapshot_source import SnapshotSource
from opencode_tui.engine.session.step_changes import StepRecorder
from opencode_tui.engine.session.stored_output import SessionOutputs
from opencode_tui.engine.session.subagent import SubagentServices
from opencode_tui.engine.session.template import ReferencePlace
from opencode_tui.engine.session.todo_store import SessionTodos
from opencode_tui.engine.snapshot.place import find_place
from opencode_tui.engine.tool.registry import ToolRegistry
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.engine.tool.toolbox import ToolSurroundings, built_in_tools
from opencode_tui.engine.wire_late import late_costs, late_forks, late_snapshots, late_undo
from opencode_tui.engine.wire_verbs import VerbParts, build_verbs
from opencode_tui.schema.event import FileEdited
from opencode_tui.schema.permission import Action

if TYPE_CHECKING:
    from opencode_tui.engine.tool.plugin_tool import PluginTool


async def build_instance(core: Core, directory: Path) -> Instance:
    """Return the services of a folder. Raises ConfigError when its settings cannot be used."""
    config, project, has_leftovers = await asyncio.to_thread(_read_folder, core, directory)
    warnings = await core.migrations.run()
    opened = await core.projects.open(project)
    warnings = [*warnings, *project.warnings, *opened.warnings]
    extensions = await load_extensions(config, project, paths=core.paths, flags=core.flags, directory=directory)
    sessions = _build_sessions(core, project)
    agents = _build_agents(core, extensions)
    grants = _build_grants(core, project)
    snapshots = late_snapshots(core, project, is_on=extensions.config.settings.snapshot is not False)
    parts = _build_parts(
        core,
        directory,
        project=project,
        extensions=extensions,
        subagents=_build_subagents(core, extensions.config, sessions, agents),
        permissions=_build_permissions(core, grants, extensions),
        snapshots=snapshots,
    )
    extensions.plugins.follow(core.bus, str(directory))
    _watch_branch(core, directory, parts)
    if has_leftovers:
        await parts.undo.recover()
    return _assemble(
        core, directory, parts=parts, warnings=warnings, sessions=sessions, grants=grants, snapshots=snapshots
    )


def _watch_branch(core: Core, directory: Path, parts: VerbParts) -> None:
    """Have a change of the branch published until the instance is closed."""
    repository = parts.project.repository
    if repository is not None and parts.project.vcs:
        watch = BranchWatch(repository, publish=partial(core.bus.publish, directory=str(directory)))
        watch.start()
        parts.background.at_close(watch.close)


def _read_folder(core: Core, directory: Path) -> tuple[LoadedConfig, Project, bool]:
    """Return the folder's settings, its project, and whether an undo of its files was cut short."""
    config = load_config(paths=core.paths, flags=core.flags, directory=directory, environ=core.environ)
    project = discover(directory, paths=core.paths, environ=core.environ)
    place = find_place(core.paths, project_id=project.id, worktree=project.worktree)
    return config, project, place.has_leftovers


def _build_parts(
    core: Core,
    directory: Path,
    *,
    project: Project,
    extensions: Extensions,
    subagents: SubagentServices,
    permissions: PermissionService,
    snapshots: SnapshotSource,
) -> VerbParts:
    agents, background = subagents.agents, Background()
    catalog = _build_catalog(core, extensions.config)
    todos = SessionTodos(storage=core.storage, locks=core.locks, publish=core.publisher.publish)
    keeping = SnapshotKeeping(source=snapshots, background=background, clock=core.clock)
    recorder = StepRecorder(source=snapshots, store=core.store, identifier=core.identifier, keeping=keeping)
    return VerbParts(
        project=project,
        extensions=extensions,
        subagents=subagents,
        catalog=catalog,
        providers=Providers(catalog=catalog, log=core.paths.log / "litellm.log", clock=core.clock),
        tools=_build_tools(core, directory, agents, todos, extensions),
        permissions=permissions,
        questions=QuestionService(publish=core.publisher.publish, identifier=core.identifier),
        references=_build_references(core, directory, project, agents),
        background=background,
        todos=todos,
        undo=late_undo(core, snapshots, recorder),
        recorder=recorder,
    )


def _assemble(
    core: Core,
    directory: Path,
    *,
    parts: VerbParts,
    warnings: list[str],
    sessions: Sessions,
    grants: Grants,
    snapshots: SnapshotSource,
) -> Instance:
    project, agents, verbs = parts.project, parts.subagents.agents, build_verbs(core, parts)
    return Instance(
        directory=directory,
        project=project,
        config=parts.extensions.config,
        warnings=warnings,
        agents=agents,
        catalog=parts.catalog,
        providers=parts.providers,
        tools=parts.tools,
        extensions=parts.extensions,
        references=parts.references,
        permissions=parts.permissions,
        questions=parts.questions,
        grants=grants,
        rules=Rules(agents=agents, grants=grants, project=project, home=core.paths.home),
        sessions=sessions,
        costs=late_costs(core, project),
        undo=parts.undo,
        forks=late_forks(core, project, sessions=sessions, todos=parts.todos, snapshots=snapshots),
        parts=_build_part_edits(core),
        todos=parts.todos,
        prompts=verbs.prompts,
        shell=verbs.shell,
        compaction=verbs.compaction,
        pruning=verbs.pruning,
        context=verbs.context,
        background=parts.background,
    )


def _build_subagents(core: Core, config: LoadedConfig, sessions: Sessions, agents: AgentRegistry) -> SubagentServices:
    experimental = config.settings.experimental
    return SubagentServices(
        store=core.store,
        sessions=sessions,
        agents=agents,
        bus=core.bus,
        primary_tools=experimental.primary_tools or () if experimental else (),
    )


def _build_agents(core: Core, extensions: Extensions) -> AgentRegistry:
    config = extensions.config
    skills = [skill.folder for skill in extensions.skills.all()]
    return build_registry(
        folders=PermissionFolders(home=core.paths.home, tool_output=core.paths.tool_output, skills=skills),
        entries=config.effective.get("agent") or {},
        permission=config.effective.get("permission") or {},
        default=config.settings.default_agent,
        sources=config.sources,
    )


def _build_catalog(core: Core, config: LoadedConfig) -> Catalog:
    credentials = AuthStore(paths=core.paths).read()
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
        keys=credentials.key,
        environment=core.environ,
    )


def _build_grants(core: Core, project: Project) -> Grants:
    return Grants(
        store=core.storage, lock=core.locks.store, project_id=project.id, worktree=project.worktree, clock=core.clock
    )


def _build_permissions(core: Core, grants: Grants, extensions: Extensions) -> PermissionService:
    return PermissionService(
        publish=core.publisher.publish,
        identifier=core.identifier,
        grants=grants,
        advise=partial(advise_permission, extensions.hooks),
    )


def _build_references(core: Core, directory: Path, project: Project, agents: AgentRegistry) -> ReferencePlace:
    return ReferencePlace(
        folders=list(dict.fromkeys((directory, project.worktree))),
        home=core.paths.home,
        agents=[agent.name for agent in agents.all() if agent.mode != "primary" and not agent.hidden],
    )


def _build_sessions(core: Core, project: Project) -> Sessions:
    return Sessions(
        store=core.store,
        runs=core.runs,
        locks=core.locks,
        copies=core.copies,
        identifier=core.identifier,
        clock=core.clock,
        project=project,
    )


def _build_part_edits(core: Core) -> PartEdits:
    exclusive = Exclusive(store=core.store, runs=core.runs, locks=core.locks, copies=core.copies)
    return PartEdits(store=core.store, exclusive=exclusive)


def _build_tools(
    core: Core, directory: Path, agents: AgentRegistry, todos: SessionTodos, extensions: Extensions
) -> ToolRegistry:
    def edited(path: Path) -> None:
        core.bus.publish(FileEdited(file=str(path)), directory=str(directory))

    def may(agent_name: str, permission: str, pattern: str) -> Action:
        agent = agents.get(agent_name)
        return evaluate(permission, pattern, agent.permission if agent else []).action

    async def extend(environ: Mapping[str, str], folder: Path, context: ToolContext) -> Mapping[str, str]:
        return await change_environment(
            extensions.hooks, environ, folder=str(folder), session_id=context.session_id, call_id=context.call_id
        )

    surroundings = ToolSurroundings(
        environ=core.environ,
        home=core.paths.home,
        truncator=core.truncator,
        todos=todos,
        edited=edited,
        may_delegate=lambda agent_name: may(agent_name, "task", "*") != "deny",
        readable=lambda context, path: may(context.agent, "read", str(path)) == "allow",
        instructions=NearbyInstructions(store=core.store),
        skills=extensions.skills,
        outputs=SessionOutputs(store=core.store),
        extend_environment=extend,
    )
    return ToolRegistry([*built_in_tools(surroundings), *_added_tools(extensions)])


def _added_tools(extensions: Extensions) -> "list[PluginTool]":
    if not extensions.plugins.tools:
        return []
    from opencode_tui.engine.tool.plugin_tool import PluginTool  # only where a plugin brings tools

    return [PluginTool(definition) for definition in extensions.plugins.tools]
