"""Build the prompt of a slash command from its template, arguments, shell snippets and `@` references.

Snippets of a command from the repository need approval as bash calls do, in addition to the folder's trust;
those of the user's own commands run without approval: the user wrote and called them. A skill's text, which may come
from an untrusted folder, has neither snippets nor references. References are resolved in the template and the arguments,
never in a snippet's output. Source: docs/internals/loop.md#slash-commands.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from opencode_tui.engine.agent.agents import AgentInfo
from opencode_tui.engine.agent.registry import AgentRegistry
from opencode_tui.engine.command.commands import INIT, Command, Commands, Piece, Prose, Snippet, SnippetShell, fill
from opencode_tui.engine.permission.path_forms import forms_of
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.engine.permission.service import CallPermission, PermissionService
from opencode_tui.engine.plugin.hooks import Hooks
from opencode_tui.engine.session.plugin_hooks import change_command
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.references import ReferenceScope, expand_references
from opencode_tui.engine.session.subagent import parent_layers
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.schema.api.request import (
    AgentInput,
    CommandInput,
    FileInput,
    PromptInput,
    PromptPart,
    SubtaskInput,
    TextInput,
)
from opencode_tui.schema.error import ConfigError, OpencodeError, RunAborted
from opencode_tui.schema.event.event import CommandExecuted
from opencode_tui.schema.model import ModelRef, require_model_ref
from opencode_tui.schema.permission import Ruleset
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.tasks import task_group

if TYPE_CHECKING:
    from opencode_tui.schema.api.mcp import McpPrompt

logger = logging.getLogger(__name__)


class Snippets(Struct, frozen=True):
    """Runs the shell snippets of commands, those of the repository after approval."""

    shell: SnippetShell
    store: SessionStore
    agents: AgentRegistry
    permissions: PermissionService
    worktree: Path
    origins: Sequence[Path]

    async def outputs(
        self, snippets: Sequence[str], command: Command, session_id: str, agent: AgentInfo, policy: Policy
    ) -> list[str]:
        """Return the outputs of a command's snippets, in order. Raises PermissionRefused for one that may not run."""
        # imported only for commands with snippets
        from opencode_tui.engine.tool.builtin.bash_permission import ON_HOST, ask_for_command

        shell, session = self.shell, await self.store.get(session_id)
        above = await parent_layers(session, store=self.store, agents=self.agents)
        context = self._context(session_id, agent, [[*agent.permission, *(session.permission or [])], *above], policy)
        plans = [ON_HOST] * len(snippets)
        if not command.is_own:
            sandbox = shell.sandbox.get()
            tier = (await sandbox.status()).tier
            plans = [
                (
                    await ask_for_command(
                        one,
                        folder=shell.folder,
                        home=shell.home,
                        context=context,
                        tier=tier,
                        is_shared=sandbox.is_shared,
                        is_hidden=sandbox.hides,
                    )
                )[0]
                for one in snippets
            ]
        async with task_group() as group:
            running = [
                group.create_task(shell.run(one, plan, context)) for one, plan in zip(snippets, plans, strict=True)
            ]
        return [task.result() for task in running]

    def _context(self, session_id: str, agent: AgentInfo, layers: Sequence[Ruleset], policy: Policy) -> ToolContext:
        """Return the tool context for the permission requests of snippets; it belongs to no call."""
        folder = self.shell.folder
        forms = forms_of(folder, self.worktree, self.origins)
        return ToolContext(
            session_id=session_id,
            message_id="",
            call_id="",
            agent=agent.name,
            directory=folder,
            worktree=self.worktree,
            origins=self.origins,
            ask=CallPermission(self.permissions, session_id, None, lambda: layers, policy, forms=forms),
            progress=lambda _title, _metadata: None,
        )


class SessionCommands(Struct, frozen=True):
    """Turns the commands of one folder into prompts; `on_init` is called when the command `init` has run.

    `read_prompt` returns the text of a server's prompt for the arguments as the user wrote them; it raises OpencodeError.
    """

    commands: Commands
    agents: AgentRegistry
    snippets: Snippets
    place: ReferenceScope
    hooks: Hooks
    publish: Callable[[CommandExecuted], None]
    on_init: Callable[[], Awaitable[None]]
    read_prompt: Callable[["McpPrompt", str], Awaitable[str]]
    _preparing: dict[str, set[asyncio.Task[PromptInput]]] = field(
        default_factory=dict[str, set[asyncio.Task[PromptInput]]]
    )

    async def prepare(self, session_id: str, given: CommandInput, *, policy: Policy) -> PromptInput:
        """Return the prompt of a command.

        `policy` answers the permission requests of its snippets (else the user does). Raises ConfigError for an unknown command,
        agent or model name, PermissionRefused for a snippet that may not run, RunAborted after `cancel`.
        """
        work = asyncio.create_task(self._prepare(session_id, given, policy))
        self._preparing.setdefault(session_id, set()).add(work)
        try:
            await asyncio.wait({work})
        finally:
            work.cancel()
            await asyncio.wait({work})
            self._preparing[session_id].discard(work)
            if not self._preparing[session_id]:
                del self._preparing[session_id]
        if work.cancelled():
            raise RunAborted(f"command {given.command!r} was interrupted")
        return work.result()

    def cancel(self, session_id: str) -> bool:
        """Interrupt commands of a session whose prompt is not built yet; returns whether there was any. Does not block."""
        preparing = self._preparing.get(session_id, set())
        for work in preparing:
            work.cancel()
        return bool(preparing)

    async def _prepare(self, session_id: str, given: CommandInput, policy: Policy) -> PromptInput:
        command = self.commands.get(given.command)
        agent = self._agent(command, given)
        pieces = await self._pieces(command, given)
        references = await asyncio.to_thread(self._references, command, pieces, given)
        text = await self._text(pieces, command, session_id, agent, policy)
        is_subtask = _is_subtask(command, agent) and not await self._is_its_own(session_id, command, agent)
        parts: list[PromptPart] = [TextInput(text=text), *references, *(given.parts or [])]
        if is_subtask:
            parts = [self._subtask(command, given, agent, text), *(given.parts or [])]
        parts = await change_command(self.hooks, session_id, given, parts)
        wanted = _model(given.model)
        model = wanted if is_subtask else self._model(command, given, agent)
        return PromptInput(
            message_id=given.message_id,
            agent=given.agent if is_subtask else agent.name,
            model=model,
            variant=given.variant if wanted in (None, model) else None,  # it was chosen for the model that was wanted
            delivery=given.delivery,
            parts=parts,
        )

    async def _pieces(self, command: Command, given: CommandInput) -> list[Piece]:
        if command.prompt is not None:
            return [Prose(await self.read_prompt(command.prompt, given.arguments))]
        template = await asyncio.to_thread(command.template)
        return fill(template, given.arguments, has_snippets=command.skill is None)

    async def report_executed(self, session_id: str, given: CommandInput, answer: MessageWithParts) -> None:
        """Publish that a command has run and which message answers it."""
        name = given.command.removeprefix("/")
        if name == INIT:
            try:
                await self.on_init()
            except OpencodeError as error:
                logger.warning("the project could not be marked as initialized: %s", error)
        self.publish(
            CommandExecuted(
                name=name,
                session_id=session_id,
                arguments=given.arguments,
                message_id=answer.info.id,
            )
        )

    def _references(
        self, command: Command, pieces: Sequence[Piece], given: CommandInput
    ) -> list[FileInput | AgentInput]:
        """Return the references in the arguments and in the template. Blocks on the disk."""
        place = self.place
        typed = expand_references(given.arguments, place, with_source=False)
        if command.skill is not None or command.prompt is not None:
            return typed
        written = "".join(piece.text for piece in pieces if isinstance(piece, Prose))
        named = expand_references(written, replace(place, is_confined=not command.is_own), with_source=False)
        return [*named, *(part for part in typed if part not in named)]

    def _subtask(self, command: Command, given: CommandInput, agent: AgentInfo, text: str) -> SubtaskInput:
        return SubtaskInput(
            prompt=text,
            description=command.summary.description or command.summary.name,
            agent=agent.name,
            model=self._model(command, given, agent),
            command=command.summary.name,
        )

    def _agent(self, command: Command, given: CommandInput) -> AgentInfo:
        name = command.summary.agent or given.agent
        if name is None:
            return self.agents.default()
        agent = self.agents.get(name)
        if agent is None:
            known = ", ".join(other.name for other in self.agents.all() if not other.hidden)
            raise ConfigError(
                f"command {command.summary.name!r} names the agent {name!r}, which does not exist; known agents: {known}"
            )
        return agent

    async def _is_its_own(self, session_id: str, command: Command, agent: AgentInfo) -> bool:
        """Return whether a subagent runs a command in its own session, rather than another agent that calls it."""
        if command.summary.agent is not None or command.summary.subtask or agent.mode != "subagent":
            return False
        return (await self.snippets.store.get(session_id)).parent_id is not None

    @staticmethod
    def _model(command: Command, given: CommandInput, agent: AgentInfo) -> ModelRef | None:
        of_agent = agent.model if command.summary.agent else None
        return _model(command.summary.model) or of_agent or _model(given.model)

    async def _text(
        self, pieces: Sequence[Piece], command: Command, session_id: str, agent: AgentInfo, policy: Policy
    ) -> str:
        """Return the template with the snippets' outputs in place."""
        snippets = [piece.command for piece in pieces if isinstance(piece, Snippet)]
        outputs = iter(await self.snippets.outputs(snippets, command, session_id, agent, policy) if snippets else ())
        return "".join(piece.text if isinstance(piece, Prose) else next(outputs) for piece in pieces).strip()


def _is_subtask(command: Command, agent: AgentInfo) -> bool:
    wanted = command.summary.subtask
    return wanted is True or (agent.mode == "subagent" and wanted is not False)


def _model(written: str | None) -> ModelRef | None:
    return require_model_ref(written, "model") if written else None
