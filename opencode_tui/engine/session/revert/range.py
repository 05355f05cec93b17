"""Pure: which part of a conversation an undo is about.

Messages come in the order of the session, oldest first, and are compared by it. An undo begins at a request of the person's, or, in
an answer, at a part that has text or calls before it. Source: seed 000; reference, section 20.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from opencode_tui.schema.error import NoSuchMessageError, NothingToRevertError
from opencode_tui.schema.ids import spans_wrap
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import AnyPart, CompactionPart, PatchPart, StepStartPart, TextPart, ToolPart
from opencode_tui.schema.session.session import RevertState
from opencode_tui.schema.session.tool_state import ToolStatePending
from opencode_tui.schema.session.undo import UndoScope

Messages = Sequence[MessageWithParts]


class Boundary(Struct, frozen=True):
    """Where an undo begins: the place of its message, and the place of a part in it, None for the whole message."""

    message: int
    part: int | None = None


class ChildCall(Struct, frozen=True):
    """The work of a child session for one call: its messages that were made from `start` to `end` (ms)."""

    session_id: str
    start: int
    end: int | None


def find_boundary(messages: Messages, message_id: str, part_id: str | None = None) -> Boundary:
    """Return where an undo to a message, or to a part of it, begins.

    An answer stands for its request. A part counts only when text or a call stands before it in its message.

    Raises NoSuchMessageError.
    """
    at = _index(messages, message_id)
    if part_id is not None:
        parts = messages[at].parts
        part = next((index for index, part in enumerate(parts) if part.id == part_id), None)
        if part is None:
            raise NoSuchMessageError(
                f"message {message_id} has no part {part_id}; `opencode-tui export` shows its parts"
            )
        if any(isinstance(one, TextPart | ToolPart) for one in parts[:part]):
            return Boundary(at, part)
    return Boundary(request_of(messages, at))


def request_of(messages: Messages, at: int) -> int:
    """Return the place of the request that a message answers, its own when it is one or has none."""
    return next((index for index in range(at, -1, -1) if isinstance(messages[index].info, UserMessage)), at)


def stored_boundary(messages: Messages, revert: RevertState) -> Boundary | None:
    """Return where an undo in force begins, None when all that it hides is gone already.

    A message or part that is not there any more, by damage or by a cleanup that was cut short, is looked for by its id's place.
    """
    names = [message.info.id for message in messages]
    at = _place(names, revert.message_id)
    if at == len(names):
        return None
    if revert.part_id is None or names[at] != revert.message_id:
        return Boundary(at)
    return Boundary(at, _place([part.id for part in messages[at].parts], revert.part_id))


def last_turn(messages: Messages) -> str:
    """Return the id of the newest request that the person made, passing by what the program said in their name.

    Raises NothingToRevertError when there is none.
    """
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index].info, UserMessage) and _is_from_user(messages, index):
            return messages[index].info.id
    raise NothingToRevertError("there is nothing to undo: the session has no request any more")


def scope_of(messages: Messages, boundary: Boundary) -> UndoScope:
    """Return what goes, as it is told."""
    gone = hidden_messages(messages, boundary)
    first = messages[boundary.message]
    return UndoScope(
        message_id=first.info.id,
        part_id=None if boundary.part is None else _part_id(first, boundary.part),
        messages=[message.info.id for message in gone],
        requests=sum(isinstance(message.info, UserMessage) for message in gone),
        answers=sum(isinstance(message.info, AssistantMessage) for message in gone),
        parts=[] if boundary.part is None else [part.id for part in first.parts[boundary.part :]],
    )


def hidden_messages(messages: Messages, boundary: Boundary) -> list[MessageWithParts]:
    """Return the messages that go as a whole."""
    return list(messages[boundary.message + (boundary.part is not None) :])


def hidden_parts(messages: Messages, boundary: Boundary) -> list[AnyPart]:
    """Return all parts that go, in order."""
    first = messages[boundary.message].parts[boundary.part or 0 :]
    return [*first, *(part for message in messages[boundary.message + 1 :] for part in message.parts)]


def visible(messages: Messages, revert: RevertState | None) -> list[MessageWithParts]:
    """Return what stays of a conversation while an undo is in force: what the model is to be given."""
    boundary = None if revert is None else stored_boundary(messages, revert)
    if boundary is None:
        return list(messages)
    kept = list(messages[: boundary.message])
    if boundary.part is not None:
        first = messages[boundary.message]
        kept.append(with_parts(first.info, list(first.parts[: boundary.part])))
    return kept


def changes_of(parts: Sequence[AnyPart]) -> Iterator[PatchPart | ChildCall]:
    """Yield what changed files, in order: steps, and the calls for which a child session worked."""
    for part in parts:
        if isinstance(part, PatchPart):
            yield part
        elif isinstance(part, ToolPart) and (call := child_call(part)) is not None:
            yield call


def child_call(part: ToolPart) -> ChildCall | None:
    """Return the child session's work of a call, None for a call that started no agent."""
    state = part.state
    if part.tool != "task" or isinstance(state, ToolStatePending):
        return None
    session_id = (state.metadata or {}).get("sessionId")
    return ChildCall(session_id, state.time.start, state.time.end) if isinstance(session_id, str) else None


def work_of(call: ChildCall, messages: Messages) -> list[MessageWithParts]:
    """Return the messages of a child session that were made for a call."""
    end = call.end
    return [
        message
        for message in messages
        if message.info.time.created >= call.start and (end is None or message.info.time.created <= end)
    ]


def turns_of(messages: Messages) -> list[tuple[UserMessage, list[AnyPart]]]:
    """Return the requests in order, each with all parts from it on to the next one."""
    turns: list[tuple[UserMessage, list[AnyPart]]] = []
    for message in messages:
        if isinstance(message.info, UserMessage):
            turns.append((message.info, []))
        if turns:
            turns[-1][1].extend(message.parts)
    return turns


def _index(messages: Messages, message_id: str) -> int:
    for index, message in enumerate(messages):
        if message.info.id == message_id:
            return index
    raise NoSuchMessageError(f"the session has no message {message_id}; `opencode-tui export` shows its messages")


def _place(names: Sequence[str], name: str) -> int:
    """Return where a name stands, else where it would; at the end when names do not tell their order."""
    if name in names:
        return list(names).index(name)
    if spans_wrap([*names, name]):
        return len(names)
    return next((index for index, one in enumerate(names) if one > name), len(names))


def _is_from_user(messages: Messages, index: int) -> bool:
    """Tell whether the person made a request: by words, by asking for a summary, or by a command line of their own."""
    parts = messages[index].parts
    if any(isinstance(part, CompactionPart) for part in parts):
        return not any(isinstance(part, CompactionPart) and part.auto for part in parts)
    if any(not (isinstance(part, TextPart) and part.synthetic) for part in parts):
        return True
    answers = [one for one in messages[index + 1 :] if isinstance(one.info, AssistantMessage)]
    is_command_line = bool(answers) and not any(isinstance(part, StepStartPart) for part in answers[0].parts)
    return is_command_line and any(isinstance(part, ToolPart) for part in answers[0].parts)


def _part_id(message: MessageWithParts, part: int) -> str | None:
    return message.parts[part].id if part < len(message.parts) else None
