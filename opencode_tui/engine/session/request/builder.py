"""Build the request of a step from its messages, with its system prompt: for the loop, and for the context view.

The system prompt has two segments, so that a provider can cache the first: the agent's own prompt, the same in every call, and
what may change: environment, instruction files, the message's own `system`. Source: seeds 001 and 004; reference, section 25.
"""

import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct

from opencode_tui.engine.agent.agents import AgentInfo, read_prompt
from opencode_tui.engine.permission.ruleset import disabled
from opencode_tui.engine.plugin.hooks import Hooks
from opencode_tui.engine.provider.llm import LlmRequest, ToolSpec
from opencode_tui.engine.session.limits import OUTPUT_TOKEN_MAX
from opencode_tui.engine.session.plugin_hooks import change_history, change_request, change_tools
from opencode_tui.engine.session.request.instruction import Instructions, RemoteInstructions
from opencode_tui.engine.session.request.model_message import to_model_messages
from opencode_tui.engine.session.request.reminder import LAST_STEP, remind_of_mode, with_reminder
from opencode_tui.engine.session.request.structured import INSTRUCTION, StructuredAnswer
from opencode_tui.engine.session.subagent import SubagentServices, parent_layers
from opencode_tui.engine.tool.registry import ToolRegistry
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.model import Model
from opencode_tui.schema.permission import Ruleset
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.session import SessionInfo

LayerKind = Literal["agent", "environment", "instruction", "message", "form", "plugin"]
"""The source of a layer: the agent, the folder, an instruction file, the request, the form of its answer, a plugin."""

INSTRUCTION_HEAD = "Instructions from: "
"""Precedes the path or address of an instruction block."""


class SystemLayer(Struct, frozen=True):
    """A piece of the system prompt; `name` identifies it among its kind, such as the path of an instruction file."""

    kind: LayerKind
    name: str
    text: str


def system_prompt(layers: Sequence[SystemLayer]) -> tuple[str, ...]:
    """Return the two segments of these layers, the agent's and all others; empty segments are dropped."""
    agent = "\n\n".join(layer.text.strip() for layer in layers if layer.kind == "agent")
    rest = "\n\n".join(layer.text for layer in layers if layer.kind != "agent" and layer.text.strip())
    return tuple(segment for segment in (agent, rest) if segment)


def environment(*, model: Model, directory: Path, worktree: Path, is_git: bool, now: int) -> str:
    """Return the environment block for the model; `now` in milliseconds since 1970."""
    today = datetime.fromtimestamp(now / 1000).strftime("%a %b %d %Y")
    lines = [
        f"You run on the model {model.ref}.",
        "<env>",
        f"  Working directory: {directory}",
        f"  Workspace root: {worktree}",
        f"  Git repository: {'yes' if is_git else 'no'}",
        f"  Platform: {sys.platform}",
        f"  Today's date: {today}",
        "</env>",
    ]
    return "\n".join(lines)


class SystemPrompts(Struct, frozen=True):
    """Builds the system prompt of a step for the instance of one folder.

    Reads the instruction files for each step, so that an edit applies at once.
    """

    directory: Path
    worktree: Path
    is_git: bool
    clock: Clock
    instructions: Instructions
    remote: RemoteInstructions

    async def layers(self, *, agent: AgentInfo, model: Model) -> list[SystemLayer]:
        """Return the layers that every request of this agent has, in order."""
        blocks = await asyncio.to_thread(self.instructions.blocks, self.directory, self.worktree)
        blocks += await self.remote.blocks()
        about = environment(
            model=model,
            directory=self.directory,
            worktree=self.worktree,
            is_git=self.is_git,
            now=self.clock(),
        )
        return [
            SystemLayer("agent", agent.name, agent.prompt or read_prompt("default")),
            SystemLayer("environment", str(self.directory), about),
            *(SystemLayer("instruction", _origin(block), block) for block in blocks),
        ]


def _origin(block: str) -> str:
    return block.partition("\n")[0].removeprefix(INSTRUCTION_HEAD)


class RequestTask(Struct, frozen=True):
    """The input of one request; `rules` are those of the session, then of its parents."""

    messages: Sequence[MessageWithParts]
    agent: AgentInfo
    model: Model
    rules: Sequence[Ruleset]
    form: StructuredAnswer | None = None
    is_last: bool = False


class BuiltRequest(Struct, frozen=True):
    """A request, with the layers of its system prompt and the messages (reminders included) from which it was made."""

    request: LlmRequest
    layers: Sequence[SystemLayer]
    messages: Sequence[MessageWithParts]


class RequestBuilder(Struct, frozen=True):
    """Builds requests."""

    tools: ToolRegistry
    system: SystemPrompts
    subagents: SubagentServices
    hooks: Hooks
    output_token_max: int = OUTPUT_TOKEN_MAX

    def agent(self, user: UserMessage) -> AgentInfo:
        """Return the agent that answers. Raises ConfigError when it no longer exists."""
        agent = self.subagents.agents.get(user.agent)
        if agent is None:
            raise ConfigError(f"agent {user.agent!r} of this request no longer exists; name another with --agent")
        return agent

    async def rules(self, session: SessionInfo, agent: AgentInfo) -> list[Ruleset]:
        """Return the effective rules, the session's last, so that they win; then those of each parent."""
        own: Ruleset = [*agent.permission, *(session.permission or [])]
        services = self.subagents
        return [own, *await parent_layers(session, store=services.store, agents=services.agents)]

    async def build(self, task: RequestTask) -> BuiltRequest:
        """Return the request that answers the newest user message, changes by plugins included."""
        user, agent, model = request_of(task.messages), task.agent, task.model
        limit, hooks = self.output_token_max, self.hooks
        messages = remind_of_mode(task.messages, agent.name)
        if task.is_last:
            messages = with_reminder(messages, LAST_STEP)
        messages = await change_history(hooks, messages)
        layers = [*await self.system.layers(agent=agent, model=model), *_own_layers(user, task.form)]
        request = LlmRequest(
            model=model,
            system=system_prompt(layers),
            messages=to_model_messages(messages, model),
            tools=await change_tools(hooks, await self._tool_specs(user, task)),
            tool_choice=_tool_choice(task),
            max_output=min(model.limit.output or limit, limit),
            temperature=agent.temperature if model.temperature else None,
            top_p=agent.top_p,
            options={**agent.options, **model.variants.get(user.variant or "", {})},
        )
        return BuiltRequest(await change_request(hooks, request, user, agent.name), layers, messages)

    async def _tool_specs(self, user: UserMessage, task: RequestTask) -> tuple[ToolSpec, ...]:
        form = () if task.form is None else (task.form.spec,)
        if not task.model.tool_call:
            return form
        await asyncio.to_thread(self.tools.hide_useless)
        source = self.tools.late()
        late = None if source is None else await source.of_turn(user.session_id, user.id, task.model)
        names = (*self.tools.names, *(() if late is None else late.names))
        hidden = {name for name, is_on in (user.tools or {}).items() if not is_on}
        for rules in task.rules:
            hidden |= disabled(names, rules)
        more = () if late is None else late.specs(lambda name: name not in hidden)
        return (*self.tools.specs(lambda name: name not in hidden), *more, *form)


def request_of(messages: Sequence[MessageWithParts]) -> UserMessage:
    """Return the newest user message; there must be one."""
    return next(message.info for message in reversed(messages) if isinstance(message.info, UserMessage))


def _own_layers(user: UserMessage, form: StructuredAnswer | None) -> list[SystemLayer]:
    layers = [SystemLayer("message", user.id, user.system)] if user.system else []
    return layers if form is None else [*layers, SystemLayer("form", user.id, INSTRUCTION)]


def _tool_choice(task: RequestTask) -> Literal["auto", "required", "none"]:
    if task.form is not None:
        return "required"
    return "none" if task.is_last else "auto"
