"""Which durable events of OpenCode 2 a record of ours stands for.

An entry is an event without its content: what kind, when, about which message and part. The content is read from the records when
the event is sent. Entries of messages and parts are derived (`entries_of`, `part_entries`): the same record always gives the same
ones, in the same order, and one that has grown gives those that it gave before and more. So a journal can be completed from
the records alone. Entries of choices and undos (`CHOICES`) are about no record; they have their content in `data`.
"""

from collections.abc import Iterator

from msgspec import Struct

from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AnyMessage, AssistantMessage
from opencode_tui.schema.session.part import AnyPart, CompactionPart, ReasoningPart, RetryPart, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError, ToolStatePending

PREFIX = "session.next."

ADMITTED, PROMPTED = "prompt.admitted", "prompted"
STEP_STARTED, STEP_ENDED, STEP_FAILED = "step.started", "step.ended", "step.failed"
TEXT_STARTED, TEXT_ENDED = "text.started", "text.ended"
REASONING_STARTED, REASONING_ENDED = "reasoning.started", "reasoning.ended"
INPUT_STARTED, INPUT_ENDED, CALLED = "tool.input.started", "tool.input.ended", "tool.called"
SUCCESS, FAILED = "tool.success", "tool.failed"
RETRIED, SYNTHETIC = "retried", "synthetic"
COMPACTION_STARTED, COMPACTION_ENDED = "compaction.started", "compaction.ended"
AGENT_SWITCHED, MODEL_SWITCHED = "agent.switched", "model.switched"
STAGED, CLEARED, COMMITTED = "revert.staged", "revert.cleared", "revert.committed"

CHOICES = frozenset((AGENT_SWITCHED, MODEL_SWITCHED, STAGED, CLEARED, COMMITTED))
"""Kinds that no record stands for."""

OLD_ID = "id"
"""The key in `data` of `prompted`: the ID under which a queued prompt was admitted."""


class Entry(Struct, frozen=True, array_like=True):
    """An event without its content; `time` is in ms since 1970."""

    kind: str
    time: int
    message: str = ""
    part: str = ""
    data: JsonObject | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What no other derived entry of a session has."""
        return (self.kind, self.message, self.part)

    @property
    def type(self) -> str:
        """The type of the event."""
        return PREFIX + self.kind


def is_summary(info: AnyMessage) -> bool:
    """Return whether a message is the summary of a compaction."""
    return isinstance(info, AssistantMessage) and bool(info.summary)


def asks_for_compaction(message: MessageWithParts) -> bool:
    """Return whether a message of the user stands for a compaction."""
    return any(isinstance(part, CompactionPart) for part in message.parts)


def written_text(parts: list[AnyPart]) -> str:
    """Return what the user wrote."""
    texts = (part for part in parts if isinstance(part, TextPart) and not (part.synthetic or part.ignored))
    return "\n".join(part.text for part in texts)


def is_synthetic(parts: list[AnyPart]) -> bool:
    """Return whether a message of the user has only texts of the program."""
    return bool(parts) and all(isinstance(part, TextPart) and bool(part.synthetic) for part in parts)


def entries_of(message: MessageWithParts, now: int | None = None) -> Iterator[Entry]:
    """Return the entries of a message as it is now, without `prompted`: that depends on what follows.

    `now` is the time of what has none of its own, by default that of the message.
    """
    info, created = message.info, message.info.time.created
    if not isinstance(info, AssistantMessage):
        if asks_for_compaction(message):
            yield Entry(COMPACTION_STARTED, created, info.id)
        elif is_synthetic(message.parts):
            yield Entry(SYNTHETIC, created, info.id)
        else:
            yield Entry(ADMITTED, created, info.id)
        return
    completed = info.time.completed
    if is_summary(info):
        if completed is not None and info.error is None:
            yield Entry(COMPACTION_ENDED, completed, info.parent_id, info.id)
        return
    if message.parts or completed is not None:
        yield Entry(STEP_STARTED, created, info.id)
    for part in message.parts:
        yield from part_entries(part, created if now is None else now, is_over=completed is not None)
    if completed is not None:
        yield Entry(STEP_ENDED if info.error is None else STEP_FAILED, completed, info.id)


def part_entries(part: AnyPart, now: int, *, is_over: bool = False) -> Iterator[Entry]:
    """Return the entries of a part of an answer; with `is_over` its message has ended, so that it does not grow any more."""
    match part:
        case TextPart() if not part.synthetic:
            start, end = (part.time.start, part.time.end) if part.time else (now, None)
            yield Entry(TEXT_STARTED, start, part.message_id, part.id)
            if end is not None or is_over:
                yield Entry(TEXT_ENDED, end or now, part.message_id, part.id)
        case ReasoningPart():
            yield Entry(REASONING_STARTED, part.time.start, part.message_id, part.id)
            if part.time.end is not None or is_over:
                yield Entry(REASONING_ENDED, part.time.end or now, part.message_id, part.id)
        case ToolPart():
            yield from _call_entries(part, now)
        case RetryPart():
            yield Entry(RETRIED, part.time.created, part.message_id, part.id)
        case _:
            pass


def _call_entries(part: ToolPart, now: int) -> Iterator[Entry]:
    state = part.state
    start = now if isinstance(state, ToolStatePending) else state.time.start
    yield Entry(INPUT_STARTED, start, part.message_id, part.id)
    if isinstance(state, ToolStatePending):
        return
    yield Entry(INPUT_ENDED, start, part.message_id, part.id)
    yield Entry(CALLED, start, part.message_id, part.id)
    if isinstance(state, ToolStateCompleted | ToolStateError):
        kind = SUCCESS if isinstance(state, ToolStateCompleted) else FAILED
        yield Entry(kind, state.time.end or now, part.message_id, part.id)
