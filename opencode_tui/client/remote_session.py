"""The facets of sessions over HTTP."""

import json
from collections.abc import Callable, Sequence

from opencode_tui.client.remote_error import described_error, failure_of
from opencode_tui.client.remote_events import RemoteEvents
from opencode_tui.client.remote_link import Link
from opencode_tui.schema.diff import FileDiff
from opencode_tui.schema.error import NotFoundError, OpencodeError
from opencode_tui.schema.fork import ForkPreview
from opencode_tui.schema.header import MESSAGE_HEADER, OWN
from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.message import AssistantMessage
from opencode_tui.schema.part import PART, AnyPart
from opencode_tui.schema.permission import PermissionRequest, Reply
from opencode_tui.schema.question import QuestionRequest
from opencode_tui.schema.record import JsonObject, Record
from opencode_tui.schema.request import (
    PROMPT_PARTS,
    CommandInput,
    CreateSession,
    ForkSession,
    PromptInput,
    PromptPart,
    ShellInput,
    UpdateSession,
)
from opencode_tui.schema.session import SessionInfo
from opencode_tui.schema.status import STATUSES, AnyStatus
from opencode_tui.schema.todo import Todo
from opencode_tui.schema.totals import SessionTotals

LAST_EVENTS_S = 1.0
"""Seconds that a turn's last events may come after its answer."""


class RemoteSessions:
    """Sessions of the server's folder."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def create(self, request: CreateSession) -> SessionInfo:
        """Make a session."""
        return await self._link.send("POST", "/session", SessionInfo, request)

    async def list(self) -> Sequence[SessionInfo]:
        """Return all, newest first."""
        return await self._link.records(f"{OWN}/session", SessionInfo)

    async def get(self, session_id: str) -> SessionInfo:
        """Return one."""
        return await self._link.get(f"/session/{session_id}", SessionInfo)

    async def latest(self) -> SessionInfo | None:
        """Return the one that was worked on last."""
        found = await self._link.value("GET", f"{OWN}/session/latest")
        return None if found is None else SessionInfo.model_validate(found)

    async def children(self, session_id: str) -> Sequence[SessionInfo]:
        """Return a session's children."""
        return await self._link.records(f"/session/{session_id}/children", SessionInfo)

    async def update(self, session_id: str, request: UpdateSession) -> SessionInfo:
        """Rename or archive."""
        time = {"time": {"archived": request.archived}} if request.archived is not None else {}
        title = {"title": request.title} if request.title is not None else {}
        return await self._link.send("PATCH", f"/session/{session_id}", SessionInfo, {**title, **time})

    async def remove(self, session_id: str) -> None:
        """Delete with all children."""
        await self._link.value("DELETE", f"/session/{session_id}")

    async def fork(self, session_id: str, request: ForkSession) -> SessionInfo:
        """Fork."""
        return await self._link.send("POST", f"{OWN}/session/{session_id}/fork", SessionInfo, request)

    async def preview_fork(self, session_id: str, request: ForkSession) -> ForkPreview:
        """Return what a fork would be."""
        return await self._link.send("POST", f"{OWN}/session/{session_id}/fork/preview", ForkPreview, request)

    async def settled(self, session_id: str) -> None:
        """Return when nothing is copied into or out of a session."""
        await self._link.value("POST", f"{OWN}/session/{session_id}/settled")

    async def totals(self, session_id: str) -> SessionTotals:
        """Return what a session and the sessions of its agents have used."""
        return await self._link.get(f"{OWN}/session/{session_id}/totals", SessionTotals)

    async def costs(self) -> dict[str, float]:
        """Return what each session has cost."""
        return await self._link.value("GET", f"{OWN}/session/cost")

    async def mend_all(self) -> int:
        """Close what killed processes left open."""
        return await self._link.value("POST", f"{OWN}/session/mend")

    async def todos(self, session_id: str) -> Sequence[Todo]:
        """Return the todo list."""
        return await self._link.records(f"/session/{session_id}/todo", Todo)

    async def diff(self, session_id: str, message_id: str | None = None) -> Sequence[FileDiff]:
        """Return what was changed in files."""
        return await self._link.records(f"/session/{session_id}/diff", FileDiff, {"messageID": message_id})


class RemoteMessages:
    """Messages of the server's sessions."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def list(self, session_id: str, limit: int | None = None) -> Sequence[MessageWithParts]:
        """Return the newest `limit` messages, oldest first."""
        return await self._link.records(f"/session/{session_id}/message", MessageWithParts, {"limit": limit})

    async def get(self, session_id: str, message_id: str) -> MessageWithParts:
        """Return one message."""
        return await self._link.get(f"/session/{session_id}/message/{message_id}", MessageWithParts)

    async def update_part(self, part: AnyPart) -> AnyPart:
        """Change one part."""
        path = f"/session/{part.session_id}/message/{part.message_id}/part/{part.id}"
        return PART.validate_json(await self._link.bytes("PATCH", path, body=part))

    async def remove_part(self, session_id: str, message_id: str, part_id: str) -> None:
        """Delete one part."""
        await self._link.value("DELETE", f"/session/{session_id}/message/{message_id}/part/{part_id}")


class RemotePrompts:
    """The server's prompt loop."""

    def __init__(self, link: Link, events: RemoteEvents) -> None:
        self._link = link
        self._events = events

    async def check(self, request: PromptInput) -> None:
        """Return when a request for a new session could be answered."""
        await self._link.value("POST", f"{OWN}/prompt/check", request)

    async def prompt(
        self, session_id: str, request: PromptInput, *, stored: Callable[[str], None] | None = None
    ) -> MessageWithParts:
        """Send a request and wait for its answer."""
        return await self._turn(f"/session/{session_id}/message", session_id, request, stored)

    async def command(
        self, session_id: str, given: CommandInput, *, stored: Callable[[str], None] | None = None
    ) -> MessageWithParts:
        """Send the prompt that a slash command stands for."""
        return await self._turn(f"/session/{session_id}/command", session_id, given, stored)

    async def shell(
        self, session_id: str, given: ShellInput, *, stored: Callable[[str], None] | None = None
    ) -> MessageWithParts:
        """Run a command line of the person's."""
        return await self._turn(f"/session/{session_id}/shell", session_id, given, stored)

    async def expand(self, text: str) -> Sequence[PromptPart]:
        """Return the parts of a prompt's text."""
        return PROMPT_PARTS.validate_json(await self._link.bytes("POST", f"{OWN}/prompt/expand", body={"text": text}))

    async def withdraw(self, session_id: str, message_id: str) -> bool:
        """Take a queued request back."""
        return await self._link.value("DELETE", f"{OWN}/session/{session_id}/queued/{message_id}")

    async def abort(self, session_id: str) -> bool:
        """Interrupt the session's run."""
        return await self._link.value("POST", f"{OWN}/session/{session_id}/abort")

    async def status(self) -> dict[str, AnyStatus]:
        """Return the sessions that are not idle."""
        return STATUSES.validate_json(await self._link.bytes("GET", "/session/status"))

    async def _turn(
        self, path: str, session_id: str, request: Record, stored: Callable[[str], None] | None
    ) -> MessageWithParts:
        """Send what begins a turn and return its last message; raises what made it fail.

        Its last events are waited for a moment, because in the process they always come before the answer.
        """
        self._events.expect_idle(session_id)
        async with self._link.stream("POST", path, request) as answer:
            message_id = answer.headers.get(MESSAGE_HEADER)
            if stored is not None and message_id:
                stored(message_id)
            body = await answer.aread()
        told = _answer_of(body)
        if not (isinstance(request, PromptInput) and request.no_reply):
            await self._events.idle(session_id, seconds=LAST_EVENTS_S)
        if isinstance(told.info, AssistantMessage) and told.info.error is not None:
            failure = failure_of(told.info.error)
            if failure is not None:
                raise failure
        return told


class RemotePermissions:
    """The server's permission questions."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def pending(self) -> Sequence[PermissionRequest]:
        """Return open questions."""
        return await self._link.records("/permission", PermissionRequest)

    async def reply(self, request_id: str, reply: Reply, message: str | None = None) -> bool:
        """Answer a question."""
        said = {"message": message} if message is not None else {}
        return await _was_open(self._link, f"/permission/{request_id}/reply", {"reply": reply, **said})


class RemoteQuestions:
    """The questions of the server's tools."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def pending(self) -> Sequence[QuestionRequest]:
        """Return open questions."""
        return await self._link.records("/question", QuestionRequest)

    async def reply(self, request_id: str, answers: Sequence[Sequence[str]]) -> bool:
        """Answer a question."""
        given = {"answers": [list(labels) for labels in answers]}
        return await _was_open(self._link, f"/question/{request_id}/reply", given)

    async def reject(self, request_id: str) -> bool:
        """Dismiss a question."""
        return await _was_open(self._link, f"/question/{request_id}/reject", {})


async def _was_open(link: Link, path: str, body: object) -> bool:
    try:
        await link.value("POST", path, body)
    except NotFoundError:
        return False
    return True


def _answer_of(body: bytes) -> MessageWithParts:
    """Return the last message of a turn; raises what the server told instead of one."""
    told: JsonObject | None = json.loads(body or b"null")
    if told is None:
        raise OpencodeError("the server closed the turn without its answer; the session holds what was done")
    if "info" not in told:
        raise described_error(told)
    return MessageWithParts.model_validate(told)
