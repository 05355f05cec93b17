"""Compaction: `summarize` as OpenCode has it, and what its API lacks: a look before, a report after."""

from fastapi import APIRouter, Response

from opencode_tui.schema.compaction import CompactionReport, CompactSession
from opencode_tui.schema.header import OWN
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.record import Record
from opencode_tui.server.answer import answer_record, answer_value
from opencode_tui.server.request import FolderClient, SessionId

router = APIRouter(tags=["session"])
own_router = APIRouter(prefix=OWN, tags=["opencode-tui"])


class SummarizeInput(Record):
    """The model of the conversation; with `auto` the conversation goes on afterwards."""

    provider_id: str
    model_id: str
    auto: bool = False


@router.post("/session/{sessionID}/summarize", response_model=bool)
async def summarize_session(client: FolderClient, session_id: SessionId, request: SummarizeInput) -> Response:
    """Put a summary in the place of the older messages; a model that the settings name for that goes before the given one."""
    await client.sessions.get(session_id)
    is_chosen = any(agent.name == "compaction" and agent.model for agent in await client.catalog.agents())
    given = ModelRef(provider_id=request.provider_id, model_id=request.model_id)
    wish = CompactSession(model=None if is_chosen else given, auto=request.auto)
    await client.context.compact(session_id, wish)
    return answer_value(True)


@own_router.post("/session/{sessionID}/compact", response_model=CompactionReport)
async def compact_session(client: FolderClient, session_id: SessionId, wish: CompactSession | None = None) -> Response:
    """Do the same, or only look, and tell what came of it."""
    await client.sessions.get(session_id)
    return answer_record(await client.context.compact(session_id, wish or CompactSession()))
