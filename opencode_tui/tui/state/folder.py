"""State of the folder: its sessions, their status, and open questions."""

from collections.abc import Sequence
from typing import Literal

from opencode_tui.client.client import Client
from opencode_tui.schema.api.question import QuestionRequest
from opencode_tui.schema.event.event import (
    BranchUpdated,
    Event,
    PermissionAsked,
    PermissionReplied,
    QuestionAsked,
    QuestionRejected,
    QuestionReplied,
    SessionCreated,
    SessionDeleted,
    SessionFailed,
    SessionStatusChanged,
    SessionUpdated,
)
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import FINISH_CONTINUES, AssistantMessage
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.session import AnyStatus, IdleStatus, SessionInfo

Asking = PermissionRequest | QuestionRequest


class FolderState:
    """Kept current by `apply`; `load` reads everything again."""

    def __init__(self) -> None:
        self.sessions: dict[str, SessionInfo] = {}
        self.statuses: dict[str, AnyStatus] = {}
        self.busy_since: dict[str, int] = {}
        """The time in ms since 1970 at which a session became busy."""
        self.asking: dict[str, Asking] = {}
        """Open questions by ID, oldest first."""
        self.ended: dict[str, Literal["done", "failed"]] = {}
        """The result of the last run of each session that ended while this screen was open."""
        self.branch: str | None = None

    async def load(self, client: Client, now: int) -> None:
        """Load the state; events that arrive meanwhile are applied afterwards."""
        self.sessions = {info.id: info for info in await client.sessions.list()}
        self.statuses = dict(await client.prompts.status())
        self.busy_since = {session_id: self.busy_since.get(session_id, now) for session_id in self.statuses}
        pending: Sequence[Asking] = [*await client.permissions.pending(), *await client.questions.pending()]
        self.asking = {request.id: request for request in pending}
        self.branch = await client.project.branch()

    def apply(self, event: Event, now: int) -> bool:
        """Apply an event; return whether it changed the state."""
        match event:
            case SessionCreated() | SessionUpdated():
                self.sessions[event.info.id] = event.info
            case SessionDeleted():
                self._remove(event.info.id)
            case SessionStatusChanged():
                self._apply_status(event.session_id, event.status, now)
            case SessionFailed() if event.session_id is not None:
                is_stop = event.error.name == "MessageAbortedError"
                self.ended[event.session_id] = "done" if is_stop else "failed"
            case PermissionAsked():
                self.asking[event.id] = event
            case QuestionAsked():
                self.asking[event.id] = QuestionRequest.model_validate(event.to_dict())
            case PermissionReplied() | QuestionReplied() | QuestionRejected():
                self.asking.pop(event.request_id, None)
            case BranchUpdated():
                self.branch = event.branch
            case _:
                return False
        return True

    def status(self, session_id: str) -> AnyStatus:
        """Return the status of a session."""
        return self.statuses.get(session_id, IdleStatus())

    def is_busy(self, session_id: str) -> bool:
        """Return whether the session is running or waiting to retry."""
        return not isinstance(self.status(session_id), IdleStatus)

    def waits(self, session_id: str) -> Asking | None:
        """Return the oldest open question of a session."""
        return next((request for request in self.asking.values() if request.session_id == session_id), None)

    def family(self, session_id: str) -> set[str]:
        """Return a session and all its subagent sessions."""
        found = {session_id}
        grown = True
        while grown:
            more = {one.id for one in self.sessions.values() if one.parent_id in found} - found
            found |= more
            grown = bool(more)
        return found

    def _apply_status(self, session_id: str, status: AnyStatus, now: int) -> None:
        if isinstance(status, IdleStatus):
            if self.statuses.pop(session_id, None) is not None:
                self.ended.setdefault(session_id, "done")
            self.busy_since.pop(session_id, None)
        else:
            self.statuses[session_id] = status
            self.busy_since.setdefault(session_id, now)
            self.ended.pop(session_id, None)

    def _remove(self, session_id: str) -> None:
        self.sessions.pop(session_id, None)
        self.statuses.pop(session_id, None)
        self.asking = {key: one for key, one in self.asking.items() if one.session_id != session_id}


# Pure: whether a history looks unfinished although this engine does not run the session.

OPEN_CALLS = ("pending", "running")


def is_left_open(messages: Sequence[MessageWithParts]) -> bool:
    """Return whether an answer or a call never ended, or the last request has no complete response."""
    if not messages:
        return False
    last = messages[-1].info
    if not isinstance(last, AssistantMessage) or last.finish in FINISH_CONTINUES:
        return True
    return any(_is_open(message) for message in messages)


def _is_open(message: MessageWithParts) -> bool:
    if not isinstance(message.info, AssistantMessage):
        return False
    calls = (part for part in message.parts if isinstance(part, ToolPart))
    return message.info.time.completed is None or any(part.state.status in OPEN_CALLS for part in calls)
