"""Build the request of a step from its messages, with its system prompt: for the loop, and for the context view.

The system prompt has two segments, so that a provider can cache the first, which is the same in all sessions of a model: the
provider's header, then the agent's own prompt or that of the model's family; and what may change: environment, instruction files,
the message's own `system`. Source: docs/internals/loop.md#system-prompt.
"""

import asyncio
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct, field

from opencode_tui.engine.agent.agents import AgentInfo
from opencode_tui.engine.agent.families import ModelPrompts
from opencode_tui.engine.agent.registry import AgentRegistry
from opencode_tui.engine.permission.ruleset import BuiltInRule, disabled, evaluate_layers
from opencode_tui.engine.plugin.hooks import Hooks
from opencode_tui.engine.provider.llm import WEB_SEARCH, LlmRequest
from opencode_tui.engine.provider.model_facts import plain_name, sets_reasoning
from opencode_tui.engine.session.plugin_hooks import change_history, change_request, change_tools
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.instruction import FETCH_S, Instructions, RemoteInstructions
from opencode_tui.engine.session.request.model_message import to_model_messages
from opencode_tui.engine.session.request.prefix import Change, Prefix, PrefixTask, SessionPrefixes, Start, current
from opencode_tui.engine.session.request.reminder import (
    BUILD_AGENT,
    LAST_STEP,
    PLAN_AGENT,
    as_reminder,
    with_last_step,
    wrap_late,
)
from opencode_tui.engine.session.request.structured import INSTRUCTION, StructuredAnswer
from opencode_tui.engine.session.retry import refused_default
from opencode_tui.engine.session.subagent import parent_layers
from opencode_tui.engine.tool.registry import ToolRegistry
from opencode_tui.engine.waits import waiting
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.model import Model
from opencode_tui.schema.permission import Ruleset
from opencode_tui.schema.provider_formats import row_of
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.prefix import FrozenLayer
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.tools import EditForm

if TYPE_CHECKING:
    from opencode_tui.engine.mcp.turns import McpTurns

LayerKind = Literal["provider", "family", "agent", "environment", "instruction", "message", "form", "plugin"]
"""The source of a layer: the provider or the model's family, the agent, the folder, an instruction file, the request, the form of
its answer, a plugin.
"""

OUTPUT_TOKEN_MAX = 32_000
"""Maximum tokens of an answer, unless the model's own limit is lower; a model that itself decides how much it reasons gets more."""


_FIRST_KINDS = ("provider", "family", "agent")
"""The layers of the first segment."""

INSTRUCTION_HEAD = "Instructions from: "
"""Precedes the path or address of an instruction block."""


class SystemLayer(Struct, frozen=True):
    """A piece of the system prompt; `name` identifies it among its kind, such as the path of an instruction file."""

    kind: LayerKind
    name: str
    text: str


def system_prompt(layers: Sequence[SystemLayer]) -> tuple[str, ...]:
    """Return the two segments of these layers, those that a model always gets and all others; empty segments are dropped."""
    first = "\n\n".join(layer.text.strip() for layer in layers if layer.kind in _FIRST_KINDS)
    rest = "\n\n".join(layer.text for layer in layers if layer.kind not in _FIRST_KINDS and layer.text.strip())
    return tuple(segment for segment in (first, rest) if segment)


def environment(*, model: Model, directory: Path, worktree: Path, is_git: bool, now: int) -> str:
    """Return the environment block for the model; `now` in milliseconds since 1970."""
    today = datetime.fromtimestamp(now / 1000).strftime("%a %b %d %Y")
    lines = [
        f"You run on the model {model.ref}.",
        "<env>",
        f"  Working directory: {directory}",
        *([] if worktree == directory else [f"  Workspace root: {worktree}"]),
        f"  Git repository: {'yes' if is_git else 'no'}",
        f"  Platform: {sys.platform}",
        f"  Today's date: {today}",
        "</env>",
    ]
    return "\n".join(lines)


class SystemPrompts(Struct, frozen=True):
    """Builds the system prompt of a step for the instance of one folder.

    Reads the user's prompts and the instruction files for each prompt: an edit applies with the next one.
    """

    prompts: ModelPrompts
    directory: Path
    worktree: Path
    is_git: bool
    clock: Clock
    instructions: Instructions
    remote: RemoteInstructions

    async def layers(self, *, agent: AgentInfo, model: Model) -> list[SystemLayer]:
        """Return the layers that every request of this agent has, in order."""
        blocks = await asyncio.to_thread(self.instructions.blocks, self.directory, self.worktree)
        with waiting("instructions", limit_s=FETCH_S):
            blocks += await self.remote.blocks()
        about = environment(
            model=model,
            directory=self.directory,
            worktree=self.worktree,
            is_git=self.is_git,
            now=self.clock(),
        )
        return [
            *await asyncio.to_thread(self._first, agent, model),
            SystemLayer("environment", str(self.directory), about),
            *(SystemLayer("instruction", _origin(block), block) for block in blocks),
        ]

    def _first(self, agent: AgentInfo, model: Model) -> list[SystemLayer]:
        """Return the layers of the first segment. Blocks."""
        prompt = self.prompts.of(model)
        header = [SystemLayer("provider", model.provider_id, prompt.header)] if prompt.header else []
        if agent.prompt:
            return [*header, SystemLayer("agent", agent.name, agent.prompt)]
        return [*header, SystemLayer("family", prompt.source.family, prompt.text)]


def _origin(block: str) -> str:
    return block.partition("\n")[0].removeprefix(INSTRUCTION_HEAD)


class RequestTask(Struct, frozen=True):
    """The input of one request; `rules` are those of the session, then of its parents.

    With `is_preview` nothing is stored: the request is shown, not sent.
    """

    messages: Sequence[MessageWithParts]
    agent: AgentInfo
    model: Model
    rules: Sequence[Ruleset]
    form: StructuredAnswer | None = None
    is_last: bool = False
    is_preview: bool = False


class BuiltRequest(Struct, frozen=True):
    """A request, with the layers of its system prompt and the messages (reminders included) from which it was made.

    `reminder` is its last text when that is not in a stored message: to store with the answer. `pending` are the changes that are
    announced with the next prompt, `frozen_at` is when the start of the session's requests was frozen (ms since 1970).
    """

    request: LlmRequest
    layers: Sequence[SystemLayer]
    messages: Sequence[MessageWithParts]
    reminder: str | None = None
    pending: Sequence[Change] = ()
    frozen_at: int | None = None


class RequestBuilder(Struct, frozen=True):
    """Builds requests."""

    tools: ToolRegistry
    find_mcp_turns: "Callable[[], McpTurns | None]"
    system: SystemPrompts
    store: SessionStore
    agents: AgentRegistry
    prefixes: SessionPrefixes
    hooks: Hooks
    output_token_max: int = OUTPUT_TOKEN_MAX
    searches_at_provider: bool = False
    """Whether a provider that searches the web itself does so; others use a search service, if `has_search`, which may block."""
    has_search: Callable[[], bool] = lambda: False

    def agent(self, user: UserMessage) -> AgentInfo:
        """Return the agent that answers. Raises ConfigError when it no longer exists."""
        agent = self.agents.get(user.agent)
        if agent is None:
            raise ConfigError(f"agent {user.agent!r} of this request no longer exists; name another with --agent")
        return agent

    async def rules(self, session: SessionInfo, agent: AgentInfo) -> list[Ruleset]:
        """Return the effective rules, the session's last, so that they win; then those of each parent."""
        own: Ruleset = [*agent.permission, *(session.permission or [])]
        return [own, *await parent_layers(session, store=self.store, agents=self.agents)]

    async def build(self, task: RequestTask) -> BuiltRequest:
        """Return the request that answers the newest user message, changes by plugins included.

        Raises ConfigError when more tools are on than the model's provider accepts.
        """
        user, agent, model = request_of(task.messages), task.agent, task.model
        hooks = self.hooks
        prefix = await self._prefix(user, task)
        messages = wrap_late(prefix.messages)
        if task.is_last:
            messages = with_last_step(messages, user)
        messages = await change_history(hooks, messages)
        tools = (*(prefix.tools if model.tool_call else ()), *(() if task.form is None else (task.form.spec,)))
        searches = self._searches(task, user)
        if self.searches_at_provider and not searches and not await asyncio.to_thread(self.has_search):
            tools = tuple(tool for tool in tools if tool.name != WEB_SEARCH)
        if model.parameters.tools is not None and len(tools) > model.parameters.tools:
            raise ConfigError(
                f"{model.ref} accepts {model.parameters.tools} tools in a request, and {len(tools)} are on; "
                'switch some off, as in "permission": {"mytool_*": "deny"}'
            )
        chosen = _variant(user, task)
        options = {
            **_fixed_options(user, model, has_tools=bool(tools)),
            **chosen.default,
            **agent.options,
            **chosen.asked,
        }
        budget = _thinking_budget(options)
        most = self._output_limit(model, options) + budget
        # A budget of reasoning rules out sampling parameters. Source: Anthropic's documentation of extended thinking.
        advice = model.parameters if model.temperature and not budget else None
        layers = [*map(_sent_layer, prefix.layers), *_own_layers(user, task.form)]
        request = LlmRequest(
            model=model,
            system=system_prompt(layers),
            messages=to_model_messages(messages, model),
            tools=tools,
            tool_choice=_tool_choice(task),
            max_output=min(model.limit.output or most, most),
            temperature=None if advice is None else _first(agent.temperature, advice.temperature),
            top_p=None if advice is None else _first(agent.top_p, advice.top_p),
            options=options,
            searches=searches,
            unasked=tuple(name for name in chosen.default if options[name] == chosen.default[name]),
        )
        return BuiltRequest(
            await change_request(hooks, request, user, agent.name),
            layers,
            messages,
            reminder=as_reminder(LAST_STEP) if task.is_last else None,
            pending=prefix.pending,
            frozen_at=None if prefix.frozen is None else prefix.frozen.time,
        )

    def _output_limit(self, model: Model, options: JsonObject) -> int:
        """Return the most tokens of an answer, with the reasoning that a model itself decides about."""
        is_adaptive = as_object(options.get("thinking")).get("type") == "adaptive"
        room = model.parameters.output if is_adaptive and self.output_token_max == OUTPUT_TOKEN_MAX else None
        return room or self.output_token_max

    def _searches(self, task: RequestTask, user: UserMessage) -> bool:
        """Return whether the provider searches itself: it can, the message has the tool on, and no rule asks about searches.

        No one could answer a question then.
        """
        model = task.model
        if (user.tools or {}).get(WEB_SEARCH) is False:
            return False
        row = row_of(model.adapter)
        if row is None or not self.searches_at_provider or not (model.parameters.search or row.searches):
            return False
        chosen = _variant(user, task)
        effort = {**chosen.default, **task.agent.options, **chosen.asked}.get("reasoningEffort")
        if effort and effort == row.no_search_with:
            return False
        rules = [rule for layer in task.rules for rule in layer if rule.permission == WEB_SEARCH]
        is_allowed = evaluate_layers(WEB_SEARCH, "*", task.rules).action == "allow"
        return is_allowed and all(rule.action == "allow" for rule in rules)

    async def _prefix(self, user: UserMessage, task: RequestTask) -> Prefix:
        """Return the start of a request; store it where it is new, and what has changed since. Raises StorageError.

        Needs the run lock but for a preview.
        """
        asked = PrefixTask(
            session_id=user.session_id,
            directory=str(self.system.directory),
            name=task.agent.name,
            agent=task.agent.name if task.agent.prompt else "",
            model=str(task.model.ref),
            messages=task.messages,
            is_preview=task.is_preview,
        )
        stored = current(asked, await self.store.prefix(user.session_id))
        known = self.prefixes.known(asked, stored)
        if known is not None:
            return known
        plan = self.prefixes.plan(asked, stored, await self._start(user, task))
        if plan.stored is not None:
            await self.store.writer(user.session_id).write_prefix(plan.stored)
        for part in plan.added:
            await self.store.writer(user.session_id).update_part(part)
        return plan.prefix

    async def _start(self, user: UserMessage, task: RequestTask) -> Start:
        """Return what the request starts with as things are now."""
        layers = [
            FrozenLayer.trusted(kind=layer.kind, name=layer.name, text=layer.text)
            for layer in await self.system.layers(agent=task.agent, model=task.model)
        ]
        if not task.model.tool_call:
            return Start(layers, ())
        form = await asyncio.to_thread(self._edit_form, task.model)
        turns = self.find_mcp_turns()
        late = None if turns is None else await turns.of_turn(user.session_id, user.id, task.model)
        names = (*self.tools.names, *(() if late is None else late.names))
        hidden = {name for name, is_on in (user.tools or {}).items() if not is_on} | self._denied(names, task)

        def is_shown(name: str) -> bool:
            return name not in hidden

        more = () if late is None else late.specs(is_shown)
        return Start(
            layers,
            await change_tools(self.hooks, (*self.tools.specs(is_shown, form), *more)),
            off=frozenset(hidden),
            servers={} if late is None else late.inventory(is_shown),
        )

    def _edit_form(self, model: Model) -> EditForm:
        """Return how the model changes files, and look for tools that can do nothing here. Blocks."""
        self.tools.hide_useless()
        return self.system.prompts.form_of(model)

    def _denied(self, names: Sequence[str], task: RequestTask) -> set[str]:
        """Return the tools that the rules deny.

        `plan` and `build` show each other's, so that a switch changes no start, without those that rules of the user deny.
        """
        denied = set[str]().union(*(disabled(names, rules) for rules in task.rules))
        by_user = ([rule for rule in rules if not isinstance(rule, BuiltInRule)] for rules in task.rules)
        denied_by_user = set[str]().union(*(disabled(names, rules) for rules in by_user))
        other = {PLAN_AGENT: BUILD_AGENT, BUILD_AGENT: PLAN_AGENT}.get(task.agent.name)
        agent = None if other is None or len(task.rules) > 1 else self.agents.get(other)
        if agent is None or agent.prompt or task.agent.prompt:
            return denied
        of_session = task.rules[0][len(task.agent.permission) :]
        return denied & (denied_by_user | disabled(names, [*agent.permission, *of_session]))


def _first(own: float | None, advised: float | None) -> float | None:
    return advised if own is None else own


class _Variant(Struct, frozen=True):
    """The options of a request's variant: those that were `asked` for win over the agent's options, those of a `default` do not."""

    asked: JsonObject = field(default_factory=dict[str, Any])
    default: JsonObject = field(default_factory=dict[str, Any])


def _variant(user: UserMessage, task: RequestTask) -> _Variant:
    """Return the options of the variant that the user or the agent chose, else of the model's default; `provider` has none.

    Where options of the agent say how much to reason, there is no default; one that the model's options set or remove is not sent.
    Nor is there one where Claude would reject it, with sampling parameters of the agent or a demand for a tool, or where the
    provider has rejected it in this session.
    """
    agent, model = task.agent, task.model
    if user.variant is not None:
        return _Variant(asked=model.variants.get(user.variant, {}))
    samples = model.temperature and not (agent.temperature is None and agent.top_p is None)
    is_unfit = model.adapter == "anthropic" and (samples or _tool_choice(task) == "required")
    if is_unfit or sets_reasoning(agent.options) or _has_refused_default(task):
        return _Variant()
    given = {plain_name(name) for name in model.options}
    default = model.variants.get(model.default_variant or "", {})
    kept = {name: one for name, one in default.items() if sets_reasoning({name: one}) or plain_name(name) not in given}
    return _Variant(default=kept)


def _has_refused_default(task: RequestTask) -> bool:
    """Return whether the provider of the model has rejected its default reasoning."""
    return any(
        isinstance(one.info, AssistantMessage)
        and (one.info.provider_id, one.info.model_id) == (task.model.provider_id, task.model.model_id)
        and any(map(refused_default, one.parts))
        for one in task.messages
    )


def _fixed_options(user: UserMessage, model: Model, *, has_tools: bool) -> JsonObject:
    """Return the options that a model's parameters ask for, which those of an agent override; none that the settings remove."""
    options: JsonObject = {}
    if model.parameters.cache == "key":
        options["promptCacheKey"] = user.session_id
    if has_tools and model.parameters.parallel is False:
        options["parallelToolCalls"] = False
    removed = {plain_name(name) for name, value in model.options.items() if value is None}
    return {name: value for name, value in options.items() if name.lower() not in removed}


def _thinking_budget(options: JsonObject) -> int:
    """Return the tokens of reasoning that count as output besides the answer."""
    anthropic, google = as_object(options.get("thinking")), as_object(options.get("thinkingConfig"))
    budget = anthropic.get("budgetTokens") or anthropic.get("budget_tokens") or google.get("thinkingBudget")
    return budget if isinstance(budget, int) and budget > 0 else 0


def request_of(messages: Sequence[MessageWithParts]) -> UserMessage:
    """Return the newest user message; there must be one."""
    return next(message.info for message in reversed(messages) if isinstance(message.info, UserMessage))


def _own_layers(user: UserMessage, form: StructuredAnswer | None) -> list[SystemLayer]:
    layers = [SystemLayer("message", user.id, user.system)] if user.system else []
    return layers if form is None else [*layers, SystemLayer("form", user.id, INSTRUCTION)]


def _sent_layer(layer: FrozenLayer) -> SystemLayer:
    return SystemLayer(cast(LayerKind, layer.kind), layer.name, layer.text)


def _tool_choice(task: RequestTask) -> Literal["auto", "required", "none"]:
    if task.form is not None:
        return "auto" if task.model.parameters.forced is False else "required"
    return "none" if task.is_last else "auto"
