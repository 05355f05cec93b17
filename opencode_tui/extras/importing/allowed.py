"""What an imported session brings: messages, and nothing that grants, starts or changes anything here.

Records of another program, of a file or of a stranger's share are copied field by field from these lists; a field that is not in
them is left out, also one that a later version adds. Every reader's messages come through `check_message`, every session's record
through `allowed_session`.
"""

import math
import re
from collections.abc import Callable, Iterator
from typing import TypeVar, cast

from opencode_tui.schema.api.project import ProjectInfo
from opencode_tui.schema.ids import Prefix, is_identifier
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.record import JsonObject, Record
from opencode_tui.schema.session.message import AnyMessage, UserMessage
from opencode_tui.schema.session.part import (
    AnyPart,
    PatchPart,
    SnapshotPart,
    StepFinishPart,
    StepStartPart,
    SubtaskPart,
    TextPart,
    ToolPart,
)
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.tool_state import ToolStatePending

AnyRecord = TypeVar("AnyRecord", bound=Record)

TITLE = 500
"""Characters of a title, which lists show in one row; titles of programs have up to 100."""

_SESSION = ("id", "version", "project_id", "directory", "parent_id", "title", "time", "summary")
_USER = ("id", "session_id", "role", "time", "agent", "model", "summary", "variant")
_PROJECT = ("id", "worktree", "vcs", "name", "icon", "time")
"""`commands` start programs in new worktrees, `sandboxes` are folders."""

_AGENTS = frozenset({"build", "plan", "general", "explore"})
"""Agents that a session may be continued with: another one of the user's could be allowed more."""

_SLUG = re.compile(r"[a-z0-9]{1,30}(?:-[a-z0-9]{1,30}){0,5}")

_OWN_MARKS = frozenset({"late", "announced", "until"})
"""Keys of a text's metadata that the program itself sets: what it announced to the model, which check failed."""

_MEANINGS = {
    "permission": "permission rules",
    "revert": "undos in progress",
    "share": "addresses of shares",
    "metadata": "settings of the session",
}


def allowed_session(info: SessionInfo) -> SessionInfo:
    """Return a session's record without its rules, its mode of approvals, its undo and its share."""
    kept = _only(info, _SESSION)
    if len(kept.title) > TITLE:
        kept = kept.changed(title=f"{kept.title[: TITLE - 1]}…")
    is_name = (
        info.slug is not None and _SLUG.fullmatch(info.slug) is not None
    )  # a worktree of a fork gets it as its name
    return kept.changed(slug=info.slug) if is_name else kept


def left_out_of(info: SessionInfo, *, own: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield what `allowed_session` leaves out, in words; `own` are keys of the metadata that are not worth a word."""
    for name, meaning in _MEANINGS.items():
        value = getattr(info, name)
        if value and not (name == "metadata" and set(cast(JsonObject, value)) <= own):
            yield meaning


def allowed_project(info: ProjectInfo) -> ProjectInfo:
    """Return a project's record without commands."""
    return _only(info, _PROJECT)


def allowed_message(info: AnyMessage) -> AnyMessage:
    """Return a message without a system prompt, switches of tools and a place in the queue. Raises ValueError for a wrong id."""
    _check_id(info.id, "msg")
    if isinstance(info, UserMessage):
        model = ModelRef(provider_id=info.model.provider_id, model_id=info.model.model_id)
        agent = info.agent if info.agent in _AGENTS else "build"
        return _only(info, _USER).changed(model=model, agent=agent)
    if info.parent_id:  # the oldest versions wrote none
        _check_id(info.parent_id, "msg")
    return _without_more(info).changed(cost=_amount(info.cost))


def allowed_part(part: AnyPart) -> AnyPart:
    """Return a part that starts nothing. Raises ValueError for a wrong id."""
    _check_id(part.id, "prt")
    match part:
        case SubtaskPart():  # the next run would start it
            text = f"The user ran this as a subtask of agent {part.agent}: {part.prompt}"
            return TextPart(id=part.id, session_id=part.session_id, message_id=part.message_id, text=text)
        case StepStartPart():
            return _only(part, ("id", "session_id", "message_id", "type", "snapshot"))
        case StepFinishPart():
            kept = _without_more(part)
            return kept if kept.cost == (cost := _amount(part.cost)) else kept.changed(cost=cost)
        case TextPart() if part.metadata and not _OWN_MARKS.isdisjoint(part.metadata):
            metadata = {key: value for key, value in part.metadata.items() if key not in _OWN_MARKS}
            return _without_more(part).changed(metadata=metadata or None)
        case _:
            return _without_more(part)


def without_states(part: AnyPart) -> AnyPart | None:
    """Return a part that names no recorded state of files; None for one that is nothing else.

    An id from a file could name a state that is recorded here, which an undo would then restore.
    """
    if isinstance(part, PatchPart | SnapshotPart):
        return None
    return part.changed(snapshot=None) if isinstance(part, StepStartPart | StepFinishPart) else part


def without_child(part: AnyPart, is_own: Callable[[object], bool]) -> AnyPart:
    """Return a part that names no session that was made here: an undo would undo its changes too."""
    if not isinstance(part, ToolPart) or isinstance(part.state, ToolStatePending):
        return part
    metadata = part.state.metadata or {}
    if "sessionId" not in metadata or not is_own(metadata["sessionId"]):
        return part
    kept = {key: value for key, value in metadata.items() if key != "sessionId"}
    return part.changed(state=part.state.changed(metadata=kept))


def _only(record: AnyRecord, names: tuple[str, ...]) -> AnyRecord:
    """Return a record with these fields of it, where they are set."""
    given = record.model_fields_set
    return type(record).trusted(**{name: getattr(record, name) for name in names if name in given})


def _without_more(record: AnyRecord) -> AnyRecord:
    """Return a record without fields that its class does not have."""
    return _only(record, tuple(type(record).model_fields)) if record.model_extra else record


def _check_id(text: str, prefix: Prefix) -> None:
    if not is_identifier(text, prefix):
        raise ValueError(f"{text[:100]!r} is not a valid id")


def _amount(cost: float) -> float:
    """Return a cost that counts against budgets; less than nothing would raise them."""
    return cost if math.isfinite(cost) and cost > 0 else 0.0
