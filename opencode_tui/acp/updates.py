"""The map from events of the engine to updates of the protocol; pure: (event, state) → updates.

A state remembers what was sent, so an event that arrives again sends only what is new: after lost events the messages are read
again and sent through the same map.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import cast, get_args

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    Cost,
    CurrentModeUpdate,
    ImageContentBlock,
    PlanEntry,
    PlanEntryPriority,
    PlanEntryStatus,
    ResourceContentBlock,
    SessionInfoUpdate,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    Usage,
    UsageUpdate,
    UserMessageChunk,
)

from opencode_tui.acp.choices import Choices
from opencode_tui.acp.tool_call import (
    Content,
    completed_content,
    failed_content,
    image_block,
    kind_of,
    locations_of,
    raw_output,
    running_content,
    title_of,
)
from opencode_tui.schema.event.event import (
    Event,
    MessageUpdated,
    PartGrowth,
    PartProgress,
    PartUpdated,
    SessionCompacted,
    SessionCreated,
    SessionDeleted,
    SessionIdle,
    SessionStatusChanged,
    SessionUpdated,
)
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AnyMessage, AssistantMessage, Tokens, UserMessage
from opencode_tui.schema.session.part import (
    AnyPart,
    FilePart,
    ReasoningPart,
    StepFinishPart,
    TextPart,
    ToolPart,
)
from opencode_tui.schema.session.session import AnyStatus, IdleStatus, RetryStatus, SessionInfo, is_default_title
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError, ToolStateRunning
from opencode_tui.schema.tools import row_of
from opencode_tui.text.model_line import model_line
from opencode_tui.text.tool import agent_session, todos_of

Update = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStart
    | ToolCallProgress
    | AgentPlanUpdate
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
)
"""An update that the agent sends."""

PIECE = 64 * 1024
"""Characters of a text that one update has at most."""


class SessionState:
    """What a client was sent of one session.

    `root` is its folder. `expects_own`: the next request is one of this client, which shows it itself; with `shows_own` it is
    sent as well: the whole history is. `adopted` are the calls of
    subagents that the client knows, because they asked for permission.
    """

    def __init__(self, session_id: str, root: str, choices: Choices, *, mode: str, model: str) -> None:
        self.session_id = session_id
        self.root = root
        self.choices = choices
        self.mode = mode
        self.model = model
        self.title = ""
        self.cost = 0.0
        self.used = 0
        self.is_replaying = False
        self.shows_own = False
        self.is_busy = False
        self.expects_own = False
        self.own_text = ""
        self.own: set[str] = set()
        self.adopted: set[str] = set()
        self.turn = Tokens()
        self.steps = 0
        self.ended: set[str] = set()
        """Messages whose end was seen."""
        self.finished: set[str] = set()
        """Those of them after which the session was idle."""

        self._messages: dict[str, AnyMessage] = {}
        self._waiting: set[str] = set()
        self._sent: dict[str, int] = {}
        self._partial: set[str] = set()
        self._thoughts: set[str] = set()
        self._calls: dict[str, tuple[str, int]] = {}
        self._step_ids: set[str] = set()

    def adopt(self, part: ToolPart) -> None:
        """Register a call of a subagent as announced to the client: its changes are sent from now on."""
        self.adopted.add(part.call_id)
        self._calls[part.call_id] = ("pending", 0)

    def has_adopted(self, event: Event) -> bool:
        """Return whether an event of a subagent is about a call that the client knows."""
        return (
            isinstance(event, PartUpdated) and isinstance(event.part, ToolPart) and event.part.call_id in self.adopted
        )

    def clear_sent(self) -> None:
        """Let a replay send everything again; what was counted stays counted."""
        self._sent.clear()
        self._partial.clear()
        self._thoughts.clear()
        self._calls = {call_id: shown for call_id, shown in self._calls.items() if call_id in self.adopted}

    def waiting_own(self) -> str | None:
        """Return the request of this client that waits for the turn of another one; None without one."""
        return next(iter(self.own & self._waiting), None)

    def begin_turn(self, text: str) -> None:
        """Start to count a turn of this client, whose request has this text."""
        self.expects_own, self.own_text = True, text
        self.turn, self.steps = Tokens(), 0

    def usage(self) -> Usage:
        """Return the tokens of the turn."""
        tokens = self.turn
        return Usage(
            total_tokens=tokens.prompt + tokens.output,
            input_tokens=tokens.input,
            output_tokens=tokens.output,
            thought_tokens=tokens.reasoning or None,
            cached_read_tokens=tokens.cache.read or None,
            cached_write_tokens=tokens.cache.write or None,
        )

    def usage_update(self) -> list[UsageUpdate]:
        """Return how full the context is, with the cost of the session; nothing before the first step."""
        size = self.choices.context_of(self.model)
        if not self.used:
            return []
        cost = Cost(amount=self.cost, currency="USD")
        return [UsageUpdate(session_update="usage_update", used=self.used, size=size or self.used, cost=cost)]

    # The parts of `updates_of` that change the state.

    def on_message(self, info: AnyMessage) -> Iterator[Update]:
        """Register a message; yield a change of the mode or the model."""
        is_new = info.id not in self._messages
        self._messages[info.id] = info
        if isinstance(info, AssistantMessage):
            if info.time.completed is not None:
                self.ended.add(info.id)
            return
        if is_new and self.expects_own and not self.is_replaying:
            self.expects_own = False
            self.own.add(info.id)
        if info.delivery == "queue":
            self._waiting.add(info.id)
        else:
            self._waiting.discard(info.id)
        mode, model = info.agent, str(info.model)
        if not is_new or (mode, model) == (self.mode, self.model) or info.delivery == "queue":
            return
        changed, self.mode, self.model = mode != self.mode, mode, model
        if changed:
            yield self.mode_update()
        yield self.config_update()

    def mode_update(self) -> CurrentModeUpdate:
        """Return the present mode."""
        return CurrentModeUpdate(session_update="current_mode_update", current_mode_id=self.mode)

    def config_update(self) -> ConfigOptionUpdate:
        """Return the options with their present values."""
        options = self.choices.options(self.mode, self.model)
        return ConfigOptionUpdate(session_update="config_option_update", config_options=options)

    def on_part(self, part: AnyPart) -> Iterator[Update]:
        """Yield what is new in a part."""
        match part:
            case TextPart() if not part.synthetic:
                yield from self._text(part, part.text, is_partial=part.time is None or part.time.end is None)
            case ReasoningPart():
                yield from self._text(part, part.text, is_partial=part.time.end is None)
            case FilePart() if self._is_of_user(part.message_id) and part.id not in self._sent:
                self._sent[part.id] = 1
                if not self._is_own(part.message_id):
                    yield UserMessageChunk(
                        session_update="user_message_chunk", content=_attachment(part), message_id=part.message_id
                    )
            case ToolPart():
                yield from self._call(part)
            case StepFinishPart() if part.id not in self._step_ids:
                self._step_ids.add(part.id)
                yield from self._step(part)
            case _:
                pass

    def on_growth(self, event: PartGrowth) -> Iterator[Update]:
        """Yield appended text. Of a part that was read while it grew the record says how much is new."""
        part = event.record() if event.part_id in self._partial or event.part_id not in self._sent else None
        if isinstance(part, TextPart | ReasoningPart):
            if isinstance(part, ReasoningPart) or not part.synthetic:
                yield from self._text(part, part.text, is_partial=True)
            return
        if event.part_id in self._sent:
            self._sent[event.part_id] += len(event.delta)
            yield from self._chunks(event.message_id, event.delta, is_thought=event.part_id in self._thoughts)

    def _text(self, part: TextPart | ReasoningPart, text: str, *, is_partial: bool) -> Iterator[Update]:
        is_thought = isinstance(part, ReasoningPart)
        sent = self._sent.get(part.id, 0)
        if is_thought:
            self._thoughts.add(part.id)
        if is_partial and self.is_replaying:
            self._partial.add(part.id)
        self._sent[part.id] = max(sent, len(text))
        if self._is_of_user(part.message_id):
            if len(text) > sent and not self._is_own(part.message_id, text):
                for piece in _pieces(text[sent:]):
                    block = TextContentBlock(type="text", text=piece)
                    yield UserMessageChunk(
                        session_update="user_message_chunk", content=block, message_id=part.message_id
                    )
            return
        yield from self._chunks(part.message_id, text[sent:], is_thought=is_thought)

    def _chunks(self, message_id: str, text: str, *, is_thought: bool) -> Iterator[Update]:
        info = self._messages.get(message_id)
        if isinstance(info, AssistantMessage) and info.summary:
            return  # for the model: the client keeps the whole conversation
        for piece in _pieces(text):
            block = TextContentBlock(type="text", text=piece)
            if is_thought:
                yield AgentThoughtChunk(session_update="agent_thought_chunk", content=block, message_id=message_id)
            else:
                yield AgentMessageChunk(session_update="agent_message_chunk", content=block, message_id=message_id)

    def _is_of_user(self, message_id: str) -> bool:
        return isinstance(self._messages.get(message_id), UserMessage)

    def _is_own(self, message_id: str, text: str = "") -> bool:
        """Return whether the client shows a request itself.

        Its text identifies it where the ID does not: it waited and comes under a new one, or its events were lost.
        """
        is_expected = self.expects_own or bool(self.own & self._waiting)
        if message_id not in self.own and text and text == self.own_text and is_expected:
            self.expects_own = False
            self._waiting -= self.own
            self.own.add(message_id)
        return message_id in self.own and not self.shows_own

    def _call(self, part: ToolPart) -> Iterator[Update]:
        state = part.state
        shown = self._calls.get(part.call_id)
        if shown is None:
            yield ToolCallStart(
                session_update="tool_call",
                tool_call_id=part.call_id,
                title=part.tool,
                name=part.tool,
                kind=kind_of(part.tool),
                status="pending",
                locations=[],
                raw_input={},
            )
        output = running_content(part) if isinstance(state, ToolStateRunning) else ()
        output_hash = hash(str(output)) if output else 0
        now = (state.status, output_hash)
        if now == shown or (shown is not None and shown[0] in ("completed", "error")):
            return
        self._calls[part.call_id] = now
        match state:
            case ToolStateRunning():
                yield self._progress(part, "in_progress", content=list(output) or None)
            case ToolStateCompleted():
                if shown is None or shown[0] == "pending":
                    yield self._progress(part, "in_progress")
                if row_of(part.tool).result == "todos":
                    yield plan_of(todos_of(state.metadata))
                content = completed_content(part, state, self.root)
                yield self._progress(part, "completed", content=content, output=raw_output(state))
            case ToolStateError():
                content = failed_content(part, state, self.root)
                yield self._progress(part, "failed", content=content, output={"error": state.error})
            case _:
                pass

    def _progress(
        self, part: ToolPart, status: str, *, content: Sequence[Content] | None = None, output: JsonObject | None = None
    ) -> ToolCallProgress:
        return ToolCallProgress(
            session_update="tool_call_update",
            tool_call_id=part.call_id,
            status=status,  # pyright: ignore[reportArgumentType] - one of the literals
            kind=kind_of(part.tool),
            title=title_of(part, self.root),
            locations=locations_of(part, self.root),
            raw_input=part.state.input,
            content=list(content) if content is not None else None,
            raw_output=output,
            field_meta=agent_meta(part),
        )

    def _step(self, part: StepFinishPart) -> Iterator[Update]:
        tokens = part.tokens
        self.steps += 1
        self.cost += part.cost
        self.used = tokens.context
        earlier = self.turn
        self.turn = Tokens(
            input=earlier.input + tokens.input,
            output=earlier.output + tokens.output,
            reasoning=earlier.reasoning + tokens.reasoning,
            cache=earlier.cache.changed(
                read=earlier.cache.read + tokens.cache.read, write=earlier.cache.write + tokens.cache.write
            ),
        )
        if not self.is_replaying:
            yield from self.usage_update()

    def on_status(self, status: AnyStatus) -> Iterator[Update]:
        """Register whether the session runs; yield why a request is tried again."""
        self.is_busy = not isinstance(status, IdleStatus)
        if isinstance(status, RetryStatus):
            text = f"{status.message.rstrip('.')}. Trying again (attempt {status.attempt}).\n"
            yield thought(text)

    def on_info(self, info: SessionInfo) -> Iterator[Update]:
        """Yield a new title."""
        if info.title != self.title and not is_default_title(info.title):
            self.title = info.title
            yield SessionInfoUpdate(
                session_update="session_info_update", title=info.title, updated_at=moment(info.time.updated)
            )


def updates_of(event: Event, state: SessionState) -> list[Update]:
    """Return what an event of the session has to say to the client, and register in the state that it was said."""
    match event:
        case MessageUpdated():
            return list(state.on_message(event.info))
        case PartUpdated():
            return list(state.on_part(event.part))
        case PartGrowth():
            return list(state.on_growth(event))
        case PartProgress():
            return list(state.on_part(event.record()))
        case SessionUpdated():
            return list(state.on_info(event.info))
        case SessionStatusChanged():
            return list(state.on_status(event.status))
        case SessionIdle():
            state.is_busy = False
            state.finished |= state.ended
            return []
        case SessionCompacted():
            return [thought("Older messages were replaced by a summary.\n")]
        case _ if line := model_line(event):
            return [message(f"{line}\n\n")]
        case _:
            return []


def agent_meta(part: ToolPart) -> JsonObject | None:
    """Return the session of a subagent for a call that started one, in the form that Zed reads; the client can load it."""
    child = agent_session(part)
    return {"subagent_session_info": {"session_id": child, "message_start_index": 0}} if child else None


def session_of(event: Event) -> str | None:
    """Return the session of an event; None for one of the whole folder."""
    match event:
        case SessionCreated() | SessionUpdated() | SessionDeleted():
            return event.info.id
        case MessageUpdated():
            return event.info.session_id
        case PartUpdated():
            return event.part.session_id
        case _:
            found: object = getattr(event, "session_id", None)
            return found if isinstance(found, str) else None


def replay(messages: Sequence[MessageWithParts], state: SessionState, *, is_whole: bool = False) -> Iterator[Update]:
    """Yield the updates of stored messages, oldest first, from before an undo only.

    What was sent already is left out, and so are the requests of this client, those with `is_whole` excepted.
    """
    state.is_replaying, state.shows_own = True, is_whole
    try:
        for message in messages:
            for _ in state.on_message(message.info):
                pass  # the answer to the client has the newest mode and model
            for part in message.parts:
                yield from state.on_part(part)
        state.finished |= state.ended
    finally:
        state.is_replaying = state.shows_own = False


def plan_of(todos: Sequence[JsonObject]) -> AgentPlanUpdate:
    """Return todos as a plan; the protocol has no canceled entries, they count as completed."""
    return AgentPlanUpdate(session_update="plan", entries=[_entry(one) for one in todos])


def _entry(todo: JsonObject) -> PlanEntry:
    status, priority = str(todo.get("status") or ""), str(todo.get("priority") or "")
    status = "completed" if status == "cancelled" else status
    return PlanEntry(
        content=str(todo.get("content") or ""),
        status=cast(PlanEntryStatus, status) if status in get_args(PlanEntryStatus) else "pending",
        priority=cast(PlanEntryPriority, priority) if priority in get_args(PlanEntryPriority) else "medium",
    )


def message(text: str) -> AgentMessageChunk:
    """Return a message of the program to the user."""
    return AgentMessageChunk(session_update="agent_message_chunk", content=TextContentBlock(type="text", text=text))


def thought(text: str) -> AgentThoughtChunk:
    """Return a message about the work of the agent."""
    return AgentThoughtChunk(session_update="agent_thought_chunk", content=TextContentBlock(type="text", text=text))


def moment(time_ms: int) -> str | None:
    """Return a time in milliseconds since 1970 as ISO 8601, None for one beyond the calendar."""
    try:
        return datetime.fromtimestamp(time_ms / 1000, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):  # a foreign record
        return None


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def _attachment(part: FilePart) -> TextContentBlock | ImageContentBlock | ResourceContentBlock:
    if image := image_block(part.mime, part.url):
        return image
    name = part.filename or part.url[:200].rpartition("/")[2] or part.mime
    if part.url.startswith(("file:", "http:", "https:")):
        return ResourceContentBlock(type="resource_link", uri=part.url, name=name, mime_type=part.mime)
    return TextContentBlock(type="text", text=f"[{name}]")
