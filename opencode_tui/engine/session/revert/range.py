"""Pure: the range of a conversation that an undo hides.

Messages come in the order of the session, oldest first, and are compared by it. An undo starts at a request of the user, or, in
an answer, at a part with text or calls before it. Source: docs/internals/snapshots.md#conversation.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from opencode_tui.engine.session.repair import UNSEEN
from opencode_tui.schema.error import NoSuchMessageError, NothingToRevertError
from opencode_tui.schema.ids import spans_wrap
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage, is_waiting
from opencode_tui.schema.session.part import AnyPart, CompactionPart, PatchPart, StepStartPart, TextPart, ToolPart
from opencode_tui.schema.session.session import RevertState
from opencode_tui.schema.session.tool_state import WORK, ToolStateCompleted, ToolStatePending
from opencode_tui.schema.tools import row_of

if TYPE_CHECKING:
    from opencode_tui.schema.session.undo import UndoScope

Messages = Sequence[MessageWithParts]


class Boundary(Struct, frozen=True):
    """The start of an undo: the index of its message, and the index of a part in it, None for the whole message."""

    message: int
    part: int | None = None


class ChildCall(Struct, frozen=True):
    """The work of a child session for one call: its messages behind `after`, up to `last`, by their positions.

    `after` is empty where the work begins with the first message. Without `last` the work is one request with all that answers it:
    in the background it outlives the call. Older records have no `after`: only `start` and `end` (ms) say what the call did.
    """

    session_id: str
    start: int
    end: int | None
    is_background: bool = False
    after: str | None = None
    last: str | None = None


class UncoveredCall(Struct, frozen=True):
    """The files (absolute paths) that a call changed without a snapshot, and the reason; no files: it is not known which ones."""

    files: list[str]
    reason: str


def find_boundary(messages: Messages, message_id: str, part_id: str | None = None) -> Boundary:
    """Return the start of an undo to a message, or to a part of it.

    An answer counts as its request. A part counts only when text or a call precedes it in its message.

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
    """Return the index of the request that a message answers, its own index for a request or a message without one."""
    return next((index for index in range(at, -1, -1) if isinstance(messages[index].info, UserMessage)), at)


def stored_boundary(messages: Messages, revert: RevertState) -> Boundary | None:
    """Return the start of an active undo, None when everything that it hides is already deleted.

    The position of a message or part that no longer exists (damage, interrupted cleanup) is found by the order of ids.
    """
    names = [message.info.id for message in messages]
    at = _place(names, revert.message_id)
    if at == len(names):
        return None
    if revert.part_id is None or names[at] != revert.message_id:
        return Boundary(at)
    return Boundary(at, _place([part.id for part in messages[at].parts], revert.part_id))


def last_turn(messages: Messages) -> str:
    """Return the id of the newest request of the user, skipping synthetic ones.

    Raises NothingToRevertError when there is none.
    """
    for index in range(len(messages) - 1, -1, -1):
        info = messages[index].info
        if isinstance(info, UserMessage) and not is_waiting(info) and _is_from_user(messages, index):
            return messages[index].info.id
    raise NothingToRevertError("there is nothing to undo: the session has no user message")


def scope_of(messages: Messages, boundary: Boundary) -> "UndoScope":
    """Return the scope of an undo for its report."""
    from opencode_tui.schema.session.undo import UndoScope  # every run uses the rest of this module

    gone = hidden_messages(messages, boundary)
    first, start = messages[boundary.message], len(messages) - len(gone)
    users = [
        at
        for at in range(start, len(messages))
        if isinstance(messages[at].info, UserMessage)
        and not any(isinstance(part, CompactionPart) for part in messages[at].parts)
    ]
    return UndoScope(
        message_id=first.info.id,
        part_id=None if boundary.part is None else _part_id(first, boundary.part),
        messages=[message.info.id for message in gone],
        requests=sum(_is_from_user(messages, at) for at in users),
        answers=sum(isinstance(message.info, AssistantMessage) for message in gone),
        parts=[] if boundary.part is None else [part.id for part in first.parts[boundary.part :]],
    )


def hidden_messages(messages: Messages, boundary: Boundary) -> list[MessageWithParts]:
    """Return the messages that are hidden as a whole."""
    return list(messages[boundary.message + (boundary.part is not None) :])


def hidden_parts(messages: Messages, boundary: Boundary) -> list[AnyPart]:
    """Return all hidden parts, in order."""
    first = messages[boundary.message].parts[boundary.part or 0 :]
    return [*first, *(part for message in messages[boundary.message + 1 :] for part in message.parts)]


def visible(messages: Messages, revert: RevertState | None) -> list[MessageWithParts]:
    """Return the messages and parts that an active undo does not hide: what is sent to the model."""
    boundary = None if revert is None else stored_boundary(messages, revert)
    if boundary is None:
        return list(messages)
    kept = list(messages[: boundary.message])
    if boundary.part is not None:
        first = messages[boundary.message]
        kept.append(with_parts(first.info, list(first.parts[: boundary.part])))
    return kept


def changes_of(parts: Sequence[AnyPart]) -> Iterator[PatchPart | ChildCall | UncoveredCall]:
    """Yield what changed files, in order: patches of steps, calls that started a child session, and calls without a snapshot."""
    for part in parts:
        if isinstance(part, PatchPart):
            yield part
        elif isinstance(part, ToolPart) and (call := child_call(part) or _uncovered_call(part)) is not None:
            yield call


def child_call(part: ToolPart) -> ChildCall | None:
    """Return the child session's work of a call, None for a call without one."""
    state = part.state
    if row_of(part.tool).result != "agent" or isinstance(state, ToolStatePending):
        return None
    metadata = state.metadata or {}
    session_id, is_background = metadata.get("sessionId"), "background" in metadata
    if not isinstance(session_id, str):
        return None
    work = metadata.get(WORK)
    work = cast("dict[str, object]", work) if isinstance(work, dict) else {}
    after, last = (one if isinstance(one, str) else None for one in (work.get("after"), work.get("last")))
    return ChildCall(session_id, state.time.start, state.time.end, is_background, after, last)


def _uncovered_call(part: ToolPart) -> UncoveredCall | None:
    """Return the files of a call for which no snapshot was made; none where it is not known which ones it changed."""
    state = part.state
    reason: object = None if isinstance(state, ToolStatePending) else (state.metadata or {}).get("unprotected")
    if reason is None:
        return None
    files = _edited_files(state.metadata or {}) if isinstance(state, ToolStateCompleted) else []
    if files:
        return UncoveredCall(files, str(reason))
    # A file tool that failed changed nothing, and what an interrupted call changed is listed in a patch.
    if not row_of(part.tool).may_change_unseen or reason == UNSEEN:
        return None
    return UncoveredCall([], f"what {part.tool} changed was not recorded: {reason}")


def _edited_files(metadata: Mapping[str, Any]) -> list[str]:
    patched: list[dict[str, object]] = metadata.get("files") or []
    edited: dict[str, object] = metadata.get("filediff") or {}
    given = [edited.get("file"), *(file.get(key) for file in patched for key in ("filePath", "movePath"))]
    return [path for path in given if isinstance(path, str)]


def work_of(call: ChildCall, messages: Messages) -> list[MessageWithParts]:
    """Return the messages of a child session that belong to a call."""
    if call.after is None:
        return _work_by_time(call, messages)
    names = [message.info.id for message in messages]
    start = _place_behind(names, call.after) if call.after else 0
    if call.last is not None:
        return list(messages[start : _place_behind(names, call.last)])
    requests = [at for at in _requests(messages) if at >= start]
    return list(messages[start : requests[1] if len(requests) > 1 else None])


def _work_by_time(call: ChildCall, messages: Messages) -> list[MessageWithParts]:
    """Return the requests that were made during a call, with all that answers them; the first one only where its end is unknown.

    The clock may have been set while the agent worked, so that only the times of requests are compared, and not with an end that
    is before the start.
    """
    requests = _requests(messages)
    own = [at for at in requests if messages[at].info.time.created >= call.start]
    if call.is_background or (call.end is not None and call.end < call.start):
        own = own[:1]
    elif call.end is not None:
        own = [at for at in own if messages[at].info.time.created <= call.end]
    ends = {at: end for at, end in zip(requests, [*requests[1:], len(messages)], strict=False)}
    return [message for at in own for message in messages[at : ends[at]]]


def _requests(messages: Messages) -> list[int]:
    """Return the indexes of the user's requests."""
    return [
        at for at in range(len(messages)) if isinstance(messages[at].info, UserMessage) and _is_from_user(messages, at)
    ]


def turns_of(messages: Messages) -> list[tuple[UserMessage, list[AnyPart]]]:
    """Return the requests in order, each with all parts from it on to the next one.

    One that waits is no turn yet, and may be withdrawn at any moment.
    """
    turns: list[tuple[UserMessage, list[AnyPart]]] = []
    for message in messages:
        if is_waiting(message.info):
            continue
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
    """Return the index of a name, or its insertion index; the length when names do not give the order."""
    if name in names:
        return list(names).index(name)
    if spans_wrap([*names, name]):
        return len(names)
    return next((index for index, one in enumerate(names) if one > name), len(names))


def _place_behind(names: Sequence[str], name: str) -> int:
    """Return the index behind a name, which may be gone."""
    return _place(names, name) + (name in names)


def _is_from_user(messages: Messages, index: int) -> bool:
    """Return whether a request is the user's: a text, a request for a summary, or a command line."""
    parts = messages[index].parts
    if any(isinstance(part, CompactionPart) for part in parts):
        return not any(isinstance(part, CompactionPart) and part.auto for part in parts)
    if any(not (isinstance(part, PatchPart) or (isinstance(part, TextPart) and part.synthetic)) for part in parts):
        return True
    answers = [one for one in messages[index + 1 :] if isinstance(one.info, AssistantMessage)]
    is_command_line = bool(answers) and not any(isinstance(part, StepStartPart) for part in answers[0].parts)
    return is_command_line and any(isinstance(part, ToolPart) for part in answers[0].parts)


def _part_id(message: MessageWithParts, part: int) -> str | None:
    return message.parts[part].id if part < len(message.parts) else None
