"""The verbs on conversations, built from their parts: the loop and everything that it calls."""

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.config.load import LoadedConfig
from opencode_tui.engine.command.snippet import SnippetShell
from opencode_tui.engine.core import Core
from opencode_tui.engine.extensions import Extensions
from opencode_tui.engine.permission.service import PermissionService
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.provider.catalog import Catalog
from opencode_tui.engine.provider.providers import Providers
from opencode_tui.engine.session.attachment import Attachments
from opencode_tui.engine.session.background import Background
from opencode_tui.engine.session.command import CommandServices, SessionCommands
from opencode_tui.engine.session.context_keeper import Compactions, ContextKeeper, KeeperRules
from opencode_tui.engine.session.instruction import Instructions
from opencode_tui.engine.session.loop import LoopServices, SessionLoop
from opencode_tui.engine.session.overflow import OverflowRules
from opencode_tui.engine.session.processor import StepServices
from opencode_tui.engine.session.prompt import SessionPrompt
from opencode_tui.engine.session.question import QuestionService
from opencode_tui.engine.session.remote_instruction import RemoteInstructions
from opencode_tui.engine.session.request_builder import RequestBuilder, RequestServices
from opencode_tui.engine.session.shell import SessionShell
from opencode_tui.engine.session.step_changes import StepRecorder
from opencode_tui.engine.session.subagent import SubagentServices
from opencode_tui.engine.session.system import SystemPrompts
from opencode_tui.engine.session.template import ReferencePlace
from opencode_tui.engine.session.title import SessionTitles
from opencode_tui.engine.session.todo_store import SessionTodos
from opencode_tui.engine.session.tool_calls import ToolCalls
from opencode_tui.engine.session.undo import SessionUndo
from opencode_tui.engine.session.user_message import UserMessages
from opencode_tui.engine.tool.registry import ToolRegistry
from opencode_tui.engine.wire_late import load_context, load_pruning, overflow_rules

if TYPE_CHECKING:
    from opencode_tui.engine.session.manual_compaction import ManualCompaction
    from opencode_tui.engine.session.pruning import SessionPruning
    from opencode_tui.engine.session.session_context import SessionContext


class VerbParts(Struct, frozen=True):
    """What the verbs on conversations are made of."""

    project: Project
    extensions: Extensions
    subagents: SubagentServices
    catalog: Catalog
    providers: Providers
    tools: ToolRegistry
    permissions: PermissionService
    questions: QuestionService
    references: ReferencePlace
    background: Background
    todos: SessionTodos
    undo: SessionUndo
    recorder: StepRecorder


class Verbs(Struct, frozen=True):
    """The verbs on a folder's conversations; what few turns need is loaded when it is asked for."""

    prompts: SessionPrompt
    shell: SessionShell
    compaction: "Callable[[], ManualCompaction]"
    pruning: "Callable[[], SessionPruning]"
    context: "Callable[[], SessionContext]"


def build_verbs(core: Core, parts: VerbParts) -> Verbs:
    """Return the verbs on a folder's conversations."""
    project, settings = parts.project, parts.extensions.config.settings.compaction
    step, users, requests = _build_step(core, parts), _build_users(core, parts), _build_requests(core, parts)
    keeper = _build_keeper(core, parts, step)
    pruning = cache(lambda: load_pruning(core, settings))
    loop = _build_loop(core, parts, step=step, requests=requests, keeper=keeper, pruning=pruning)
    prompts = SessionPrompt(
        store=core.store,
        runs=core.runs,
        loop=loop,
        users=users,
        recent=core.recent,
        commands=_build_commands(core, parts),
        undo=parts.undo,
    )
    return Verbs(
        prompts=prompts,
        shell=SessionShell(step, core.runs, users, parts.undo, project.directory, project.worktree),
        compaction=cache(lambda: _load_manual(core, parts, keeper, loop)),
        pruning=pruning,
        context=cache(
            lambda: load_context(core, settings, requests=requests, subagents=parts.subagents, catalog=parts.catalog)
        ),
    )


def _build_step(core: Core, parts: VerbParts) -> StepServices:
    hooks = parts.extensions.hooks
    calls = ToolCalls(
        store=core.store,
        tools=parts.tools,
        permissions=parts.permissions,
        truncator=core.truncator,
        clock=core.clock,
        questions=parts.questions,
        hooks=hooks,
    )
    return StepServices(
        store=core.store,
        statuses=core.statuses,
        identifier=core.identifier,
        clock=core.clock,
        calls=calls,
        estimator=core.estimator,
        recorder=parts.recorder,
        hooks=hooks,
    )


def _build_users(core: Core, parts: VerbParts) -> UserMessages:
    project = parts.project
    attachments = Attachments(
        tools=parts.tools, identifier=core.identifier, directory=project.directory, worktree=project.worktree
    )
    return UserMessages(
        store=core.store,
        agents=parts.subagents.agents,
        catalog=parts.catalog,
        attachments=attachments,
        identifier=core.identifier,
        clock=core.clock,
        hooks=parts.extensions.hooks,
    )


def _build_loop(
    core: Core,
    parts: VerbParts,
    *,
    step: StepServices,
    requests: RequestBuilder,
    keeper: ContextKeeper,
    pruning: "Callable[[], SessionPruning]",
) -> SessionLoop:
    experimental = parts.extensions.config.settings.experimental
    return SessionLoop(
        LoopServices(
            step=step,
            requests=requests,
            titles=_build_titles(core, parts),
            keeper=keeper,
            pruning=pruning,
            subagents=parts.subagents,
            catalog=parts.catalog,
            providers=parts.providers,
            directory=parts.project.directory,
            worktree=parts.project.worktree,
            continues_after_rejection=bool(experimental and experimental.continue_loop_on_deny),
        )
    )


def _build_requests(core: Core, parts: VerbParts) -> RequestBuilder:
    return RequestBuilder(
        RequestServices(
            tools=parts.tools,
            system=_build_system(core, parts.project, parts.extensions.config),
            subagents=parts.subagents,
            hooks=parts.extensions.hooks,
            output_token_max=core.flags.output_token_max,
        )
    )


def _build_keeper(core: Core, parts: VerbParts, step: StepServices) -> ContextKeeper:
    settings = parts.extensions.config.settings.compaction
    rules = overflow_rules(core, settings)
    return ContextKeeper(
        store=core.store,
        estimator=core.estimator,
        rules=KeeperRules(rules, settings.prepare),
        load=lambda: _load_compactions(core, parts, step, rules),
    )


def _load_compactions(core: Core, parts: VerbParts, step: StepServices, rules: OverflowRules) -> Compactions:
    # Most turns end without any of this.
    from opencode_tui.engine.session.compaction import CompactionServices, SessionCompaction
    from opencode_tui.engine.session.prepared import PreparedSummaries
    from opencode_tui.engine.session.summary_request import SummaryRequests

    requests = SummaryRequests(
        agents=parts.subagents.agents,
        catalog=parts.catalog,
        hooks=parts.extensions.hooks,
        estimator=core.estimator,
        rules=rules,
    )
    services = CompactionServices(
        step=step,
        requests=requests,
        providers=parts.providers,
        todos=parts.todos,
        rules=rules,
        settled=core.copies.settled,
        publish=core.publisher.publish,
        directory=parts.project.directory,
        worktree=parts.project.worktree,
    )
    prepared = PreparedSummaries(
        requests=requests, providers=parts.providers, background=parts.background, store=core.store
    )
    return Compactions(SessionCompaction(services), requests, prepared)


def _load_manual(core: Core, parts: VerbParts, keeper: ContextKeeper, loop: SessionLoop) -> "ManualCompaction":
    from opencode_tui.engine.session.manual_compaction import ManualCompaction, ManualServices  # as above

    return ManualCompaction(
        ManualServices(
            compaction=keeper.loaded.compaction,
            requests=keeper.loaded.requests,
            store=core.store,
            runs=core.runs,
            loop=loop,
            undo=parts.undo,
            estimator=core.estimator,
        )
    )


def _build_titles(core: Core, parts: VerbParts) -> SessionTitles:
    return SessionTitles(
        store=core.store,
        agents=parts.subagents.agents,
        catalog=parts.catalog,
        providers=parts.providers,
        background=parts.background,
    )


def _build_commands(core: Core, parts: VerbParts) -> SessionCommands:
    shell = SnippetShell(
        environ=core.environ,
        home=core.paths.home,
        folder=parts.project.directory,
        reserve_output=core.truncator.reserve,
    )
    return SessionCommands(
        CommandServices(
            commands=parts.extensions.commands,
            agents=parts.subagents.agents,
            store=core.store,
            permissions=parts.permissions,
            shell=shell,
            place=parts.references,
            worktree=parts.project.worktree,
            hooks=parts.extensions.hooks,
            publish=core.publisher.publish,
            on_init=partial(core.projects.mark_initialized, parts.project),
        )
    )


def _build_system(core: Core, project: Project, config: LoadedConfig) -> SystemPrompts:
    instructions = Instructions(
        config_dir=core.paths.config,
        home=core.paths.home,
        extra_dir=core.flags.config_dir,
        use_claude=not core.flags.is_claude_code_disabled,
        patterns=config.settings.instructions or [],
    )
    return SystemPrompts(
        directory=project.directory,
        worktree=project.worktree,
        is_git=project.vcs == "git",
        clock=core.clock,
        instructions=instructions,
        remote=RemoteInstructions(
            [one for one in config.settings.instructions or [] if one.startswith(("http://", "https://"))]
        ),
    )
