"""Whole sessions: list, create, read, change, compact, undo, delete, and their status."""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import pydantic
from fastapi import Query, Response
from pydantic import BaseModel, ConfigDict

from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.api.request import CreateSession, ForkSession, UpdateSession
from opencode_tui.schema.error import NoSuchMessageError, NothingToRevertError
from opencode_tui.schema.event.event import SessionIdle, SessionStatusChanged
from opencode_tui.schema.field import Field
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.record import Record, absent
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.session import IdleStatus, SessionInfo, SessionStatus, Todo
from opencode_tui.schema.session.undo import MessageName, PartName
from opencode_tui.server.answer import answer_record, answer_records, answer_value
from opencode_tui.server.frame import Frame
from opencode_tui.server.request import FolderClient, ServerServices, SessionId
from opencode_tui.server.router import new_router

router = new_router("session")


class SessionTimeChange(Record):
    """The time when the session was archived, in milliseconds since 1970."""

    archived: int | None = absent()


class SessionChange(Record):
    """The changes of a session."""

    title: str | None = absent()
    time: SessionTimeChange | None = absent()


class ForkBoundary(Record):
    """The first message that is not in the fork."""

    message_id: Annotated[str | None, Field(pattern=r"^msg_[0-9A-Za-z]{1,60}$")] = absent()


class SessionQuery(BaseModel):
    """A filter of sessions: `start` is the earliest `time.updated` in milliseconds, `search` a part of the title.

    With `directory` (the query, not the header) only those of that very folder.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    directory: str | None = None
    roots: bool = False
    start: float | None = None
    search: str | None = None
    limit: Annotated[int | None, pydantic.Field(ge=0)] = None

    def choose(self, sessions: Sequence[SessionInfo]) -> list[SessionInfo]:
        """Return the matching sessions, last changed first."""
        wanted = (self.search or "").casefold()
        folder = os.path.realpath(self.directory) if self.directory else None
        chosen = [
            info
            for info in sessions
            if not (self.roots and info.parent_id)
            and (self.start is None or info.time.updated >= self.start)
            and wanted in info.title.casefold()
            and folder in (None, info.directory)
        ]
        chosen.sort(key=lambda info: info.time.updated, reverse=True)
        return chosen[: self.limit]


@router.get("/session", response_model=list[SessionInfo])
async def list_sessions(client: FolderClient, query: Annotated[SessionQuery, Query()]) -> Response:
    """List the sessions of the folder's project, last changed first."""
    return answer_records(query.choose(await client.sessions.list()))


@router.post("/session", response_model=SessionInfo)
async def create_session(client: FolderClient, request: CreateSession | None = None) -> Response:
    """Create a session."""
    return answer_record(await client.sessions.create(request or CreateSession()))


@router.get("/session/status", response_model=dict[str, SessionStatus])
async def session_status(client: FolderClient) -> Response:
    """Return the status of running sessions; idle ones have no entry."""
    statuses = await client.prompts.status()
    return answer_value({session_id: status.to_dict() for session_id, status in statuses.items()})


@router.get("/session/{sessionID}", response_model=SessionInfo)
async def get_session(client: FolderClient, session_id: SessionId) -> Response:
    """Return one session."""
    return answer_record(await client.sessions.get(session_id))


@router.patch("/session/{sessionID}", response_model=SessionInfo)
async def update_session(client: FolderClient, session_id: SessionId, change: SessionChange | None = None) -> Response:
    """Rename or archive a session."""
    change = change or SessionChange()
    update = UpdateSession(title=change.title, archived=change.time.archived if change.time else None)
    return answer_record(await client.sessions.update(session_id, update))


@router.delete("/session/{sessionID}", response_model=bool)
async def remove_session(client: FolderClient, session_id: SessionId) -> Response:
    """Move a session to the trash, its children first."""
    await client.sessions.remove(session_id)
    return answer_value(True)


@router.get("/session/{sessionID}/children", response_model=list[SessionInfo])
async def list_children(client: FolderClient, session_id: SessionId) -> Response:
    """List the sessions that agents of this one work in."""
    return answer_records(await client.sessions.children(session_id))


@router.get("/session/{sessionID}/todo", response_model=list[Todo])
async def list_todos(client: FolderClient, session_id: SessionId) -> Response:
    """Return the todo list."""
    await client.sessions.get(session_id)
    return answer_records(await client.sessions.todos(session_id))


@router.get("/session/{sessionID}/diff", response_model=list[FileDiff])
async def list_diffs(
    client: FolderClient,
    session_id: SessionId,
    message_id: Annotated[str | None, Query(alias="messageID", pattern=r"^msg_[0-9A-Za-z]{1,60}$")] = None,
) -> Response:
    """Return what the session, or the turn of one user message, changed in files."""
    await client.sessions.get(session_id)
    return answer_records(await client.sessions.diff(session_id, message_id))


@router.post("/session/{sessionID}/fork", response_model=SessionInfo)
async def fork_session(client: FolderClient, session_id: SessionId, boundary: ForkBoundary | None = None) -> Response:
    """Make a session that begins with this one's messages up to one of them, or with all."""
    request = ForkSession(message_id=boundary.message_id if boundary else None)
    return answer_record(await client.sessions.fork(session_id, request))


@router.post("/session/{sessionID}/abort", response_model=bool)
async def abort_session(client: FolderClient, services: ServerServices, session_id: SessionId) -> Response:
    """Interrupt what runs in the session; for a session that is idle already the idle events are sent again."""
    await client.sessions.get(session_id)
    if not await client.prompts.abort(session_id) and session_id not in await client.prompts.status():
        idle = (SessionStatusChanged(session_id=session_id, status=IdleStatus()), SessionIdle(session_id=session_id))
        services.hub.publish([Frame.of(str(client.directory), event) for event in idle])
    return answer_value(True)


@router.post("/session/{sessionID}/share", response_model=SessionInfo)
async def share_session(client: FolderClient, session_id: SessionId) -> Response:
    """Publish a session on the share server of the settings, and keep it up to date."""
    return answer_record(await client.sharing.share(session_id))


@router.delete("/session/{sessionID}/share", response_model=SessionInfo)
async def unshare_session(client: FolderClient, session_id: SessionId) -> Response:
    """Remove a session from its share server."""
    return answer_record(await client.sharing.unshare(session_id))


class SummarizeInput(Record):
    """The model of the conversation; with `auto` the conversation continues afterwards."""

    provider_id: str
    model_id: str
    auto: bool = False


@router.post("/session/{sessionID}/summarize", response_model=bool)
async def summarize_session(client: FolderClient, session_id: SessionId, request: SummarizeInput) -> Response:
    """Replace the older messages by a summary; a model that the settings name for that has precedence."""
    await client.sessions.get(session_id)
    is_chosen = any(agent.name == "compaction" and agent.model for agent in await client.catalog.agents())
    given = ModelRef(provider_id=request.provider_id, model_id=request.model_id)
    options = CompactSession(model=None if is_chosen else given, auto=request.auto)
    await client.context.compact(session_id, options)
    return answer_value(True)


class RevertInput(Record):
    """The message, or the part of it, from which on is undone."""

    message_id: MessageName
    part_id: PartName | None = absent()


@router.post("/session/{sessionID}/revert", response_model=SessionInfo)
async def revert_session(client: FolderClient, session_id: SessionId, request: RevertInput) -> Response:
    """Undo everything from a message on; an unknown one changes nothing."""
    await client.sessions.get(session_id)
    with suppress(NoSuchMessageError):  # as OpenCode answers
        await client.undo.revert(session_id, request.message_id, request.part_id)
    return answer_record(await client.sessions.get(session_id))


@router.post("/session/{sessionID}/unrevert", response_model=SessionInfo)
async def unrevert_session(client: FolderClient, session_id: SessionId) -> Response:
    """Redo the active undo; without one nothing changes."""
    await client.sessions.get(session_id)
    with suppress(NothingToRevertError):  # as OpenCode answers
        await client.undo.unrevert(session_id)
    return answer_record(await client.sessions.get(session_id))
