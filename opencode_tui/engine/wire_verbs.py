"""The verbs on conversations, built from their parts: the loop and everything that it calls."""

from opencode_tui.config.load import LoadedConfig
from opencode_tui.engine.command.snippet import SnippetShell
from opencode_tui.engine.core import Core
from opencode_tui.engine.extensions import Extensions
from opencode_tui.engine.permission.service import PermissionService
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.provider.catalog import Catalog
from opencode_tui.engine.provider.providers import Providers
from opencode_tui.engine.session.attachment import Attachments
from opencode_tui.engine.session.command import CommandServices, SessionCommands
from opencode_tui.engine.session.instruction import Instructions
from opencode_tui.engine.session.loop import LoopServices, SessionLoop
from opencode_tui.engine.session.processor import StepServices
from opencode_tui.engine.session.prompt import SessionPrompt
from opencode_tui.engine.session.question import QuestionService
from opencode_tui.engine.session.remote_instruction import RemoteInstructions
from opencode_tui.engine.session.request_builder import RequestBuilder, RequestServices
from opencode_tui.engine.session.shell import SessionShell
from opencode_tui.engine.session.subagent import SubagentServices
from opencode_tui.engine.session.system import SystemPrompts
from opencode_tui.engine.session.template import ReferencePlace
from opencode_tui.engine.session.tool_calls import ToolCalls
from opencode_tui.engine.session.user_message import UserMessages
from opencode_tui.engine.tool.registry import ToolRegistry
from opencode_tui.schema.value import immutable


@immutable
class VerbParts:
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


def build_verbs(core: Core, parts: VerbParts) -> tuple[SessionPrompt, SessionShell]:
    """Return the verbs on a folder's conversations: prompt and shell."""
    project, hooks = parts.project, parts.extensions.hooks
    calls = ToolCalls(
        store=core.store,
        tools=parts.tools,
        permissions=parts.permissions,
        truncator=core.truncator,
        clock=core.clock,
        questions=parts.questions,
        hooks=hooks,
    )
    attachments = Attachments(
        tools=parts.tools, identifier=core.identifier, directory=project.directory, worktree=project.worktree
    )
    users = UserMessages(
        store=core.store,
        agents=parts.subagents.agents,
        catalog=parts.catalog,
        attachments=attachments,
        identifier=core.identifier,
        clock=core.clock,
        hooks=hooks,
    )
    step = StepServices(
        store=core.store,
        statuses=core.statuses,
        identifier=core.identifier,
        clock=core.clock,
        calls=calls,
        meter=core.meter,
        hooks=hooks,
    )
    loop = SessionLoop(
        LoopServices(
            step=step,
            requests=build_requests(core, parts),
            subagents=parts.subagents,
            catalog=parts.catalog,
            providers=parts.providers,
            directory=project.directory,
            worktree=project.worktree,
        )
    )
    prompts = SessionPrompt(
        store=core.store,
        runs=core.runs,
        loop=loop,
        users=users,
        recent=core.recent,
        commands=_build_commands(core, parts),
        clock=core.clock,
    )
    return prompts, SessionShell(step, core.runs, users, project.directory, project.worktree)


def build_requests(core: Core, parts: VerbParts) -> RequestBuilder:
    """Return what builds the requests of a folder's sessions."""
    return RequestBuilder(
        RequestServices(
            tools=parts.tools,
            system=_build_system(core, parts.project, parts.extensions.config),
            subagents=parts.subagents,
            hooks=parts.extensions.hooks,
            output_token_max=core.flags.output_token_max,
        )
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
