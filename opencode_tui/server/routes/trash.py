"""Routes of the HTTP client for deleted sessions; OpenCode's API does not have them."""

from typing import Annotated

from fastapi import Path, Response

from opencode_tui.schema.api.trash import TrashChoice, TrashedSession
from opencode_tui.schema.http_headers import OWN
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.server.answer import answer_record, answer_records
from opencode_tui.server.request import FolderClient
from opencode_tui.server.router import new_router

router = new_router("opencode-tui", prefix=f"{OWN}/trash")

TrashedId = Annotated[str, Path(alias="trashID", pattern=r"^([0-9]{1,20}-)?ses_[0-9A-Za-z]{1,60}$")]
"""The ID of a session, or its name in the trash."""


@router.get("", response_model=list[TrashedSession])
async def list_trash(client: FolderClient) -> Response:
    """List the deleted sessions of all projects, the last deleted first."""
    return answer_records(await client.trash.list())


@router.post("/empty", response_model=list[TrashedSession])
async def empty_trash(client: FolderClient, choice: TrashChoice) -> Response:
    """Delete sessions of the trash permanently; returns those that were still there."""
    return answer_records(await client.trash.empty(choice.names))


@router.post("/{trashID}/restore", response_model=SessionInfo)
async def restore_from_trash(client: FolderClient, trashed_id: TrashedId) -> Response:
    """Restore a deleted session with its subagent sessions."""
    return answer_record(await client.trash.restore(trashed_id))
