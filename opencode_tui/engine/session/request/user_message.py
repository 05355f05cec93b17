"""Create a user message from a prompt: its agent and model, its parts and their expansions.

Source: docs/internals/loop.md#prompts.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct, field

from opencode_tui.engine.agent.agents import AgentInfo
from opencode_tui.engine.agent.registry import AgentRegistry
from opencode_tui.engine.permission.ruleset import evaluate
from opencode_tui.engine.plugin.hooks import Hooks
from opencode_tui.engine.provider.catalog import Catalog
from opencode_tui.engine.session.plugin_hooks import change_message
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.attachment import Attachments
from opencode_tui.engine.session.request.reminder import as_reminder
from opencode_tui.schema.api.request import AgentInput, FileInput, PromptInput, PromptPart, SubtaskInput, TextInput
from opencode_tui.schema.error import ConfigError, IdInUseError, SessionError
from opencode_tui.schema.ids import Clock, Identifier, is_identifier
from opencode_tui.schema.model import (
    COPILOT_WARNING,
    ModelRef,
    describe_default_variant,
    describe_unlisted,
    describe_variants,
    has_variant,
)
from opencode_tui.schema.record import Record
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import MessageTime, UserMessage
from opencode_tui.schema.session.part import AgentPart, AnyPart, FilePart, SubtaskPart, TextPart

_PART_TYPES: Mapping[type[Record], type[TextPart | AgentPart | SubtaskPart]] = {
    TextInput: TextPart,
    AgentInput: AgentPart,
    SubtaskInput: SubtaskPart,
}


_VS_CODE = "github_copilot/"
"""litellm's name for GitHub Copilot, whose requests have the identity of VS Code."""


class Target(Struct, frozen=True):
    """The agent and model that answer a prompt."""

    agent: AgentInfo
    model: ModelRef


async def _nothing_unread(_session_id: str) -> Sequence[str]:
    return ()


class UserMessages(Struct, frozen=True):
    """Creates user messages."""

    store: SessionStore
    agents: AgentRegistry
    catalog: Catalog
    attachments: Attachments
    identifier: Identifier
    clock: Clock
    hooks: Hooks
    unread: Callable[[str], Awaitable[Sequence[str]]] = _nothing_unread
    """Returns, once, texts about what the model of a session does not know yet."""
    say: Callable[[str, str], None] = lambda _session, _line: None
    """Shows the user a line about the model of a session."""
    said: set[str] = field(default_factory=set[str])
    """The lines that were shown."""

    def check(self, prompt: PromptInput) -> None:
        """Raise as `address` does when the agent, the model or the variant that a prompt names does not exist."""
        agent = self._agent(prompt.agent)
        self._check_named(prompt)
        model = self.catalog.resolve(prompt.model or agent.model or self.catalog.default_model())
        if prompt.variant is not None and not has_variant(model, prompt.variant):
            raise ConfigError(f"{model.ref} {describe_variants(model, prompt.variant)}")

    async def address(self, session_id: str, prompt: PromptInput) -> Target:
        """Return the agent and model: of the prompt, else of the agent, else of the session's newest request, else the defaults.

        A prompt that names no agent is for the default one, in the session of a subagent for that subagent. The newest request is
        that of memory: call `refresh` of the store before. Raises ConfigError for an unknown agent, ModelNotFoundError for an
        unknown model, SessionError for invalid ids; nothing is stored then.
        """
        _check_ids(prompt)
        last = await self._last_user(session_id)
        agent = self._agent(prompt.agent or await self.subagent_of(session_id))
        self._check_named(prompt)
        model = prompt.model or agent.model or (last.model if last else None) or self.catalog.default_model()
        await self.catalog.look_at_local(model)
        if last is not None and not self.catalog.can_ask(model):
            model = await self._instead_of(session_id, model, last)
        found = self.catalog.resolve(model)
        self._say_once(session_id, describe_unlisted(found))
        self._say_once(session_id, describe_default_variant(found))
        self._say_once(session_id, self.catalog.describe_small_context(model))
        if found.adapter == "litellm" and found.api_id.startswith(_VS_CODE):
            self._say_once(session_id, COPILOT_WARNING)
        return Target(agent, model)

    async def subagent_of(self, session_id: str) -> str | None:
        """Return the subagent whose session this is, None for any other session.

        Its newest request is that of memory: call `refresh` of the store before.
        """
        last = await self._last_user(session_id)
        agent = None if last is None else self.agents.get(last.agent)
        if agent is None or agent.mode != "subagent" or (await self.store.get(session_id)).parent_id is None:
            return None
        return agent.name

    async def _instead_of(self, session_id: str, model: ModelRef, last: UserMessage) -> ModelRef:
        """Return the model that continues with a session whose own is not there, and say so; any other model stays as it is."""
        used = [one.info.model for one in await self.store.messages(session_id) if isinstance(one.info, UserMessage)]
        other = (
            last.model if last.model != model and self.catalog.can_ask(last.model) else self.catalog.or_default(model)
        )
        if model not in used or other == model:
            return model
        if last.model != other:
            line = f"{model} of this session is not available here; {other} goes on (/models chooses another)"
            self.say(session_id, line)
        return other

    def _say_once(self, session_id: str, line: str) -> None:
        if line and line not in self.said:
            self.said.add(line)
            self.say(session_id, line)

    async def new(
        self, session_id: str, prompt: PromptInput, target: Target, *, is_waiting: bool = False
    ) -> tuple[UserMessage, Sequence[AnyPart]]:
        """Return the message and its parts, which are not stored; one that is waiting is read after its release only."""
        message = UserMessage(
            id=prompt.message_id or self.identifier.ascending("msg"),
            session_id=session_id,
            time=MessageTime.trusted(created=self.clock()),
            agent=target.agent.name,
            model=target.model,
            system=prompt.system,
            tools=prompt.tools,
            variant=self._variant(prompt, target),
            format=prompt.format,
            delivery="queue" if is_waiting else None,
        )
        parts = await self._parts(message, prompt.parts, target.agent)
        parts += [self._part(message, TextInput(text=text, synthetic=True)) for text in await self.unread(session_id)]
        return await change_message(self.hooks, message, parts)

    async def _last_user(self, session_id: str) -> UserMessage | None:
        for message in reversed(await self.store.tail(session_id, 20, is_fresh=True)):
            if isinstance(message.info, UserMessage):
                return message.info
        return None

    def _agent(self, name: str | None) -> AgentInfo:
        if name is None:
            return self.agents.default()
        agent = self.agents.get(name)
        if agent is None:
            known = ", ".join(other.name for other in self.agents.all() if not other.hidden)
            raise ConfigError(f"no agent {name!r}; known agents: {known}")
        return agent

    def _check_named(self, prompt: PromptInput) -> None:
        """Raise ConfigError when a part names an unknown agent: the model would be asked to call it."""
        for part in prompt.parts:
            if isinstance(part, AgentInput):
                self._agent(part.name)

    async def _parts(self, message: UserMessage, inputs: Sequence[PromptPart], target: AgentInfo) -> list[AnyPart]:
        parts: list[AnyPart] = []
        for given in inputs:
            if isinstance(given, FileInput):
                parts.extend(await self.attachments.expand(given, message))
            else:
                parts.append(self._part(message, given))
            if isinstance(given, AgentInput):
                hint = TextInput(text=as_reminder(_invitation(given.name, target)), synthetic=True)
                parts.append(self._part(message, hint))
        return parts

    def _part(self, message: UserMessage, given: TextInput | AgentInput | SubtaskInput) -> AnyPart:
        owner = {
            "id": given.id or self.identifier.ascending("prt"),
            "sessionID": message.session_id,
            "messageID": message.id,
        }
        return _PART_TYPES[type(given)].model_validate({**given.to_dict(), **owner})

    def _variant(self, prompt: PromptInput, target: Target) -> str | None:
        """Return the model variant: the prompt's, else the agent's if the model that answers has it."""
        own = target.agent.variant
        if prompt.variant or own is None:
            return prompt.variant
        return own if has_variant(self.catalog.resolve(target.model), own) else None


def _invitation(name: str, target: AgentInfo) -> str:
    """Return the text for the model about an agent that the user mentions."""
    text = f"The user wants the agent {name} for this: call the task tool with subagent_type {name} and a prompt made from it."
    if evaluate("task", name, target.permission).action == "deny":
        text += " Your rules do not let you start it otherwise; here the user has asked for it."
    return text


def is_same_request(prompt: PromptInput, stored: MessageWithParts) -> bool:
    """Return whether a stored request is this one, which a client sent again: the texts of the user are the same."""
    texts = [part.text for part in stored.parts if isinstance(part, TextPart) and not part.synthetic]
    given = [part.text for part in prompt.parts if isinstance(part, TextInput) and not part.synthetic]
    files = sum(isinstance(part, FilePart) for part in stored.parts)
    return texts == given and (files > 0) == any(isinstance(part, FileInput) for part in prompt.parts)


def check_part_ids(prompt: PromptInput) -> None:
    """Raise IdInUseError when two parts of a prompt have one id: the second would replace the first."""
    given = [part.id for part in prompt.parts if part.id is not None]
    if twice := next((one for at, one in enumerate(given) if one in given[:at]), None):
        raise IdInUseError(f"two parts of the prompt have the id {twice}; send another id, or none")


def _check_ids(prompt: PromptInput) -> None:
    """Raise SessionError for an invalid id of the client: ids become file names."""
    if prompt.message_id is not None and not is_identifier(prompt.message_id, "msg"):
        raise SessionError(f"{prompt.message_id!r} is not a message id: it must start with msg_")
    for part in prompt.parts:
        if part.id is not None and not is_identifier(part.id, "prt"):
            raise SessionError(f"{part.id!r} is not a part id: it must start with prt_")
