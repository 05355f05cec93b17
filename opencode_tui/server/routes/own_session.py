"""What OpenCode's API lacks about sessions and prompts."""

from fastapi import APIRouter, Response

from opencode_tui.schema.fork import ForkPreview
from opencode_tui.schema.header import OWN
from opencode_tui.schema.record import Record
from opencode_tui.schema.request import PROMPT_PARTS, ForkSession, PromptInput, PromptPart
from opencode_tui.schema.session import SessionInfo
from opencode_tui.schema.totals import SessionTotals
from opencode_tui.server.answer import JSON_TYPE, answer_record, answer_records, answer_value
from opencode_tui.server.request import FolderClient, MessageId, SessionId

router = APIRouter(prefix=OWN, tags=["opencode-tui"])


class PromptText(Record):
    """A prompt as it was typed."""

    text: str


@router.get("/session", response_model=list[SessionInfo])
async def list_sessions_newest_first(client: FolderClient) -> Response:
    """List the sessions of the folder's project, the newest first."""
    return answer_records(await client.sessions.list())


@router.get("/session/latest", response_model=SessionInfo | None)
async def get_latest_session(client: FolderClient) -> Response:
    """Return the session that was worked on last, null when there is none."""
    latest = await client.sessions.latest()
    return answer_value(None) if latest is None else answer_record(latest)


@router.get("/session/cost", response_model=dict[str, float])
async def get_costs(client: FolderClient) -> Response:
    """Return what each session of the folder's project has cost by itself in USD, by its id; free ones are left out."""
    return answer_value(await client.sessions.costs())


@router.post("/session/recover", response_model=int)
async def mend_sessions(client: FolderClient) -> Response:
    """Close what killed processes left open; returns how many messages that were."""
    return answer_value(await client.sessions.recover_all())


@router.post("/session/{sessionID}/fork", response_model=SessionInfo)
async def fork_elsewhere(client: FolderClient, session_id: SessionId, request: ForkSession) -> Response:
    """Fork a session, in a git worktree of its own if that is wished."""
    return answer_record(await client.sessions.fork(session_id, request))


@router.post("/session/{sessionID}/fork/preview", response_model=ForkPreview)
async def preview_fork(client: FolderClient, session_id: SessionId, request: ForkSession) -> Response:
    """Return what a fork would be called, take over, and where it would work; makes nothing."""
    return answer_record(await client.sessions.preview_fork(session_id, request))


@router.post("/session/{sessionID}/copied", response_model=bool)
async def wait_for_copies(client: FolderClient, session_id: SessionId) -> Response:
    """Answer when a fork has been copied whole and no fork of it needs its records any more."""
    await client.sessions.get(session_id)
    await client.sessions.wait_copied(session_id)
    return answer_value(True)


@router.get("/session/{sessionID}/totals", response_model=SessionTotals)
async def get_totals(client: FolderClient, session_id: SessionId) -> Response:
    """Return what a session and the sessions of its agents have used."""
    return answer_record(await client.sessions.totals(session_id))


@router.post("/session/{sessionID}/abort", response_model=bool)
async def abort_run(client: FolderClient, session_id: SessionId) -> Response:
    """Interrupt what runs in the session; tells whether anything did."""
    await client.sessions.get(session_id)
    return answer_value(await client.prompts.abort(session_id))


@router.delete("/session/{sessionID}/queued/{messageID}", response_model=bool)
async def withdraw_request(client: FolderClient, session_id: SessionId, message_id: MessageId) -> Response:
    """Take a request back that waits for the turn before it; tells whether it still could be."""
    await client.sessions.get(session_id)
    return answer_value(await client.prompts.withdraw(session_id, message_id))


@router.post("/prompt/check", response_model=bool)
async def check_prompt(client: FolderClient, request: PromptInput) -> Response:
    """Tell that a request for a new session could be answered; an error says why not."""
    await client.prompts.check(request)
    return answer_value(True)


@router.post("/prompt/expand", response_model=list[PromptPart])
async def expand_prompt(client: FolderClient, typed: PromptText) -> Response:
    """Return the parts of a prompt's text: itself, the files that it names with `@`, the agents."""
    parts = list(await client.prompts.expand(typed.text))
    return Response(PROMPT_PARTS.dump_json(parts, by_alias=True), media_type=JSON_TYPE)
