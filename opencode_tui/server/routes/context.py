"""The context of a session: what the next request carries, and old tool outputs left out of it or brought back."""

from fastapi import APIRouter, Response

from opencode_tui.schema.context import ContextView, PartChoice, PruneReport, RequestView
from opencode_tui.schema.header import OWN
from opencode_tui.server.answer import answer_record
from opencode_tui.server.request import FolderClient, SessionId

router = APIRouter(prefix=OWN, tags=["opencode-tui"])


@router.get("/session/{sessionID}/context", response_model=ContextView)
async def get_context(client: FolderClient, session_id: SessionId) -> Response:
    """Return what the next request would carry, item by item."""
    return answer_record(await client.context.items(session_id))


@router.get("/session/{sessionID}/request", response_model=RequestView)
async def get_request(client: FolderClient, session_id: SessionId) -> Response:
    """Return the next request as it would be sent, keys covered."""
    return answer_record(await client.context.request(session_id))


@router.post("/session/{sessionID}/prune", response_model=PruneReport)
async def prune_session(client: FolderClient, session_id: SessionId, choice: PartChoice | None = None) -> Response:
    """Leave the outputs of calls out of what the model is given: those that are named, or those that the rules choose."""
    choice = choice or PartChoice()
    return answer_record(await client.context.prune(session_id, choice.parts, dry_run=choice.dry_run))


@router.post("/session/{sessionID}/restore", response_model=PruneReport)
async def restore_session(client: FolderClient, session_id: SessionId, choice: PartChoice | None = None) -> Response:
    """Bring outputs back: those of the calls that are named, or all."""
    choice = choice or PartChoice()
    return answer_record(await client.context.restore(session_id, choice.parts, dry_run=choice.dry_run))
