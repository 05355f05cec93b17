"""State that follows the events of the folder: its sessions, what runs, what waits for an answer."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

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
from opencode_tui.schema.event.folder_event import BackgroundUpdated, LspUpdated
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session.listed import listed
from opencode_tui.schema.session.session import AnyStatus, IdleStatus
from opencode_tui.schema.session.stored_error import EndState, end_state
from opencode_tui.tui.state.session_map import SessionMap

if TYPE_CHECKING:
    from opencode_tui.schema.api.background import BackgroundCommand
    from opencode_tui.schema.api.language import LanguageServerState

Asking = PermissionRequest | QuestionRequest


class FolderState:
    """Kept current by `apply`; `load` reads everything again."""

    def __init__(self) -> None:
        self.sessions = SessionMap()
        self.statuses: dict[str, AnyStatus] = {}
        self.busy_since: dict[str, int] = {}
        """The time in ms since 1970 at which a session became busy."""
        self.asking: dict[str, Asking] = {}
        """Open questions by ID, oldest first."""
        self.ended: dict[str, EndState] = {}
        """The result of the last run of each session that ended while this screen was open."""
        self.last_run: dict[str, tuple[int, int]] = {}
        """The start and the end of that run, in ms since 1970."""
        self.background: dict[str, BackgroundCommand] = {}
        """The background commands of all sessions, by their ids."""
        self.languages: Sequence[LanguageServerState] = ()
        """The language servers that run or ran; read when one of them changes."""
        self.is_languages_changed = False
        self.branch: str | None = None

    async def load(self, client: Client, now: int) -> None:
        """Load the state; events that arrive meanwhile are applied afterwards."""
        self.sessions = SessionMap(await client.sessions.listed())
        self.statuses = dict(await client.prompts.status())
        self.busy_since = {session_id: self.busy_since.get(session_id, now) for session_id in self.statuses}
        pending: Sequence[Asking] = [*await client.permissions.pending(), *await client.questions.pending()]
        self.asking = {request.id: request for request in pending}
        self.background = {one.id: one for one in await client.background.list()}
        self.branch = await client.project.branch()

    def apply(self, event: Event, now: int) -> bool:
        """Apply an event; return whether it changed the state."""
        match event:
            case SessionCreated() | SessionUpdated():
                self.sessions[event.info.id] = listed(event.info)
            case SessionDeleted():
                self._remove(event.info.id)
            case SessionStatusChanged():
                self._apply_status(event.session_id, event.status, now)
            case SessionFailed() if event.session_id is not None:
                self.ended[event.session_id] = end_state(event.error)
            case PermissionAsked():
                self.asking[event.id] = event
            case QuestionAsked():
                self.asking[event.id] = QuestionRequest.model_validate(event.to_dict())
            case PermissionReplied() | QuestionReplied() | QuestionRejected():
                self.asking.pop(event.request_id, None)
            case BackgroundUpdated():
                self.background[event.info.id] = event.info
            case LspUpdated():
                self.is_languages_changed = True
            case BranchUpdated():
                self.branch = event.branch
            case _:
                return False
        return True

    def background_of(self, session_id: str | None) -> list["BackgroundCommand"]:
        """Return the background commands of a session's tree: those that run, then the newest that have ended."""
        top = session_id or ""
        while (info := self.sessions.get(top)) is not None and info.parent_id in self.sessions:
            top = info.parent_id
        found = [one for one in self.background.values() if one.session_id == top]
        return sorted(found, key=lambda one: (not one.is_running, -one.started))

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
        found, above = {session_id}, [session_id]
        while above:
            more = {one.id for one in self.sessions.below(above.pop()) if one.parent_id} - found
            found |= more
            above += more
        return found

    def _apply_status(self, session_id: str, status: AnyStatus, now: int) -> None:
        if isinstance(status, IdleStatus):
            if self.statuses.pop(session_id, None) is not None:
                self.ended.setdefault(session_id, "done")
                self.last_run[session_id] = (self.busy_since.get(session_id, now), now)
            self.busy_since.pop(session_id, None)
        else:
            self.statuses[session_id] = status
            self.busy_since.setdefault(session_id, now)
            self.ended.pop(session_id, None)

    def _remove(self, session_id: str) -> None:
        self.sessions.pop(session_id, None)
        self.statuses.pop(session_id, None)
        self.last_run.pop(session_id, None)
        self.background = {key: one for key, one in self.background.items() if one.session_id != session_id}
        self.asking = {key: one for key, one in self.asking.items() if one.session_id != session_id}
