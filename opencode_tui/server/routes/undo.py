"""Undo: revert and unrevert as OpenCode has them, and what its API lacks: a look before, a report after."""

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from opencode_tui.schema.error import NoSuchMessageError, NothingToRevertError
from opencode_tui.schema.header import OWN
from opencode_tui.schema.record import Record, absent
from opencode_tui.schema.session import SessionInfo
from opencode_tui.schema.undo import RevertPreview, RevertReport
from opencode_tui.server.answer import answer_record, answer_value
from opencode_tui.server.request import FolderClient, SessionId

router = APIRouter(tags=["session"])
own_router = APIRouter(prefix=OWN, tags=["opencode-tui"])

MessageName = Annotated[str, Field(pattern=r"^msg_[0-9A-Za-z]{1,60}$")]
PartName = Annotated[str, Field(pattern=r"^prt_[0-9A-Za-z]{1,60}$")]


class RevertInput(Record):
    """The message, or the part of it, from which on is undone."""

    message_id: MessageName
    part_id: PartName | None = absent()


class RevertChoice(Record):
    """The same; without a message the person's last turn."""

    message_id: MessageName | None = absent()
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
    """Bring back what the undo in force undid; without one nothing changes."""
    await client.sessions.get(session_id)
    with suppress(NothingToRevertError):  # as OpenCode answers
        await client.undo.unrevert(session_id)
    return answer_record(await client.sessions.get(session_id))


@own_router.post("/session/{sessionID}/recover", response_model=bool)
async def mend_session(client: FolderClient, session_id: SessionId) -> Response:
    """Close what a killed process left open in the session; true when that is done, an error while somebody works on it."""
    await client.undo.recover(session_id)
    return answer_value(True)


@own_router.post("/session/{sessionID}/revert/preview", response_model=RevertPreview)
async def preview_revert(client: FolderClient, session_id: SessionId, choice: RevertChoice | None = None) -> Response:
    """Return what an undo would do to messages and files; nothing is changed."""
    choice = choice or RevertChoice()
    return answer_record(await client.undo.preview(session_id, choice.message_id, choice.part_id))


@own_router.post("/session/{sessionID}/unrevert/preview", response_model=RevertPreview)
async def preview_unrevert(client: FolderClient, session_id: SessionId) -> Response:
    """Return what taking the undo back would do to files; nothing is changed."""
    return answer_record(await client.undo.preview_unrevert(session_id))


@own_router.post("/session/{sessionID}/revert", response_model=RevertReport)
async def revert_with_report(
    client: FolderClient, session_id: SessionId, choice: RevertChoice | None = None
) -> Response:
    """Undo, and return what was done."""
    choice = choice or RevertChoice()
    return answer_record(await client.undo.revert(session_id, choice.message_id, choice.part_id))


@own_router.post("/session/{sessionID}/unrevert", response_model=RevertReport)
async def unrevert_with_report(client: FolderClient, session_id: SessionId) -> Response:
    """Take the undo back, and return what was done."""
    return answer_record(await client.undo.unrevert(session_id))
