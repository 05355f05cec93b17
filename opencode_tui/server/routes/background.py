"""Routes of the HTTP client for background commands; OpenCode's API does not have them."""

from typing import Annotated

from fastapi import Path, Query, Response

from opencode_tui.schema.api.background import BackgroundCommand, BackgroundText
from opencode_tui.schema.http_headers import OWN
from opencode_tui.server.answer import answer_record, answer_records
from opencode_tui.server.request import FolderClient
from opencode_tui.server.router import new_router

router = new_router("opencode-tui", prefix=f"{OWN}/background")

CommandId = Annotated[str, Path(alias="commandID", pattern=r"^bg[0-9]{1,9}$")]


@router.get("", response_model=list[BackgroundCommand])
async def list_background(
    client: FolderClient,
    session_id: Annotated[str | None, Query(alias="sessionID", pattern=r"^ses_[0-9A-Za-z]{1,60}$")] = None,
) -> Response:
    """List the background commands of a session and its subagents, or of all sessions of the folder."""
    return answer_records(await client.background.list(session_id))


@router.get("/{commandID}/output", response_model=BackgroundText)
async def read_background(
    client: FolderClient, command_id: CommandId, since: Annotated[int, Query(ge=0)] = 0
) -> Response:
    """Read the end of the output of a background command, from a position on."""
    return answer_record(await client.background.output(command_id, since))


@router.post("/end", response_model=list[BackgroundCommand])
async def end_background(client: FolderClient) -> Response:
    """End all background commands of the folder; return those that ran."""
    return answer_records(await client.background.end())


@router.post("/{commandID}/stop", response_model=BackgroundCommand)
async def stop_background(client: FolderClient, command_id: CommandId) -> Response:
    """End a background command with all its processes."""
    return answer_record(await client.background.stop(command_id))
