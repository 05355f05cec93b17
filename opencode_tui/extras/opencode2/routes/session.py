"""Sessions, prompts, messages and undo."""

import asyncio
import mimetypes
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Literal

from fastapi import Query, Response
from pydantic import BaseModel, ConfigDict, Field

from opencode_tui.client.client import Client
from opencode_tui.extras.opencode2 import entries as kinds
from opencode_tui.extras.opencode2.cursors import Order, page, read_cursor
from opencode_tui.extras.opencode2.entries import Entry
from opencode_tui.extras.opencode2.errors import AnswerError, invalid, no_message
from opencode_tui.extras.opencode2.feed import Feed
from opencode_tui.extras.opencode2.journal import Journal
from opencode_tui.extras.opencode2.messages import message_values, prompt_value
from opencode_tui.extras.opencode2.requests import staged_value
from opencode_tui.extras.opencode2.schema.location import LocationRef, ModelName
from opencode_tui.extras.opencode2.schema.message import CompactionValue, MessageValue
from opencode_tui.extras.opencode2.schema.released import FlatPrompt
from opencode_tui.extras.opencode2.schema.session import (
    Admitted,
    AgentChoice,
    CacheCount,
    GivenFile,
    GivenPrompt,
    ModelChoice,
    NewSession,
    PromptRequest,
    SessionTimes,
    SessionValue,
    StageRequest,
    TokenCount,
)
from opencode_tui.extras.opencode2.scope import (
    EventFeed,
    MessageName,
    Session,
    SessionScope,
    answer_data,
    done,
)
from opencode_tui.extras.opencode2.waiting import waiting_value
from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.api.request import AgentInput, CreateSession, FileInput, PromptInput, PromptPart, TextInput
from opencode_tui.schema.error import BusyError, NoSuchMessageError, NothingToRevertError
from opencode_tui.schema.ids import Identifier, is_identifier, system_clock
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import is_waiting
from opencode_tui.schema.session.part import AgentSource, FilePartSource, SourceText
from opencode_tui.schema.session.session import IdleStatus, SessionInfo
from opencode_tui.server.answer import answer_value
from opencode_tui.server.request import ServerServices, Services
from opencode_tui.server.router import new_router
from opencode_tui.server.turns import SUCCEEDED, Turn

router = new_router("opencode2-session", prefix="/api/session")

_PAGE = 50
_POLL_S = 0.25
_IDS = Identifier()
Limit = Annotated[int, Query(ge=1, le=1_000)]


class SessionFilter(BaseModel):
    """Which sessions are listed: by folder, project, a part of the title; `cursor` is a page of an earlier answer."""

    model_config = ConfigDict(extra="allow", frozen=True)

    workspace: Annotated[str | None, Field(pattern=r"^wrk")] = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = _PAGE
    order: Order | None = None
    search: str | None = None
    directory: str | None = None
    project: str | None = None
    subpath: str | None = None
    cursor: str | None = None

    @property
    def given(self) -> dict[str, str]:
        """The filters that a cursor keeps."""
        names = ("directory", "project", "search", "subpath", "workspace")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


@router.get("")
async def list_sessions(
    services: ServerServices, feed: EventFeed, query: Annotated[SessionFilter, Query()]
) -> Response:
    """List sessions of all projects, newest first."""
    edge = None if query.cursor is None else read_cursor(query.cursor)
    filters, order = (query.given, query.order or "desc") if edge is None else (edge.filters, edge.order)
    client = await services.clients.at()
    found = [info for info in await client.sessions.everywhere() if _matches(info, filters)]
    found.sort(key=lambda info: (info.time.created, info.id), reverse=order == "desc")
    shown, edges = page(found, lambda info: info.id, query.limit, edge, order, filters)
    values = [await session_value(client, feed, info) for info in shown]
    return answer_data(values, cursor=edges)


def _matches(info: SessionInfo, filters: dict[str, str]) -> bool:
    return (
        "workspace" not in filters
        and filters.get("search", "").casefold() in info.title.casefold()
        and filters.get("directory", info.directory) == info.directory
        and filters.get("project", info.project_id) == info.project_id
        and not filters.get("subpath")
    )


@router.post("")
async def create_session(services: ServerServices, feed: EventFeed, request: NewSession | None = None) -> Response:
    """Create a session, or return that which has the given id."""
    wanted = request or NewSession()
    client = await services.clients.at(None if wanted.location is None else wanted.location.directory)
    if wanted.id is not None and not is_identifier(wanted.id, "ses"):
        raise invalid("a session's id is ses_ and letters and digits; send another, or none", field="id")
    known = {info.id: info for info in await client.sessions.everywhere()} if wanted.id is not None else {}
    info = known.get(wanted.id or "") or await client.sessions.create(CreateSession(id=wanted.id))
    if info.id not in known:
        for entry in _choices(wanted.agent, wanted.model):
            await feed.choose(client, info.id, entry)
    return answer_data(await session_value(client, feed, info))


def _choices(agent: str | None, model: ModelName | None) -> list[Entry]:
    now = system_clock()
    found: list[Entry] = []
    if agent is not None:
        found.append(Entry(kinds.AGENT_SWITCHED, now, _IDS.ascending("msg"), data={"agent": agent}))
    if model is not None:
        found.append(Entry(kinds.MODEL_SWITCHED, now, _IDS.ascending("msg"), data={"model": model.to_dict()}))
    return found


async def session_value(client: Client, feed: Feed, info: SessionInfo) -> SessionValue:
    """Return a session as OpenCode 2 has it."""
    totals = await feed.totals(client, info)
    journal = await feed.known(info.id)
    agent, model = journal.last(kinds.AGENT_SWITCHED), journal.last(kinds.MODEL_SWITCHED)
    return SessionValue(
        id=info.id,
        parent_id=info.parent_id,
        project_id=info.project_id,
        agent=None if agent is None else (agent.data or {})["agent"],
        model=None if model is None else ModelName.model_validate((model.data or {})["model"]),
        cost=totals.cost,
        tokens=TokenCount(input=totals.input, output=totals.output, cache=CacheCount(read=totals.cached)),
        time=SessionTimes(created=info.time.created, updated=info.time.updated, archived=info.time.archived or None),
        title=info.title,
        location=LocationRef(directory=info.directory),
        revert=await staged_value(client, info),
    )


@router.get("/active")
async def list_active(services: ServerServices) -> Response:
    """Return the sessions that run."""
    statuses = await (await services.clients.at()).prompts.status()
    running = {name: {"type": "running"} for name, status in statuses.items() if not isinstance(status, IdleStatus)}
    return answer_data(running)


@router.get("/{sessionID}")
async def get_session(feed: EventFeed, session: Session) -> Response:
    """Return one session."""
    return answer_data(await session_value(session.client, feed, session.info))


@router.post("/{sessionID}/agent", status_code=204)
async def switch_agent(feed: EventFeed, session: Session, choice: AgentChoice) -> Response:
    """Use another agent from the next prompt on."""
    for entry in _choices(choice.agent, None):
        await feed.choose(session.client, session.id, entry)
    return done()


@router.post("/{sessionID}/model", status_code=204)
async def switch_model(feed: EventFeed, session: Session, choice: ModelChoice) -> Response:
    """Use another model from the next prompt on."""
    for entry in _choices(None, choice.model):
        await feed.choose(session.client, session.id, entry)
    return done()


@router.post("/{sessionID}/prompt")
async def send_prompt(
    services: ServerServices, feed: EventFeed, session: Session, given: PromptRequest | FlatPrompt
) -> Response:
    """Store a prompt, and answer when it is stored; one in the form of the released version gets an answer in that form."""
    if isinstance(given, PromptRequest):
        return answer_data(await _store_prompt(services, feed, session, given))
    admitted = await _store_prompt(services, feed, session, given.request())
    message = await find_message(session, feed.peek(session.id).stored_id(admitted.id))
    if message is None:
        raise AnswerError(409, "ConflictError", f"{admitted.id} was removed meanwhile", resource=admitted.id)
    return answer_data(waiting_value(feed.peek(session.id), message))


async def _store_prompt(services: Services, feed: Feed, session: SessionScope, request: PromptRequest) -> Admitted:
    client = session.client
    journal = await feed.journal(client, session.id)
    if request.id is not None:
        if not is_identifier(request.id, "msg"):
            raise invalid("a message's id is msg_ and letters and digits; send another, or none", field="id")
        if (known := await find_message(session, journal.stored_id(request.id))) is not None:
            return await _known_prompt(feed, session, request, known)
    try:
        turn = await services.turns.prompt(client, session.id, _prompt(journal, request))
    except BusyError as error:
        raise AnswerError(409, "ConflictError", str(error), resource=session.id) from None
    assert turn.request_id is not None
    services.turns.follow(_send_left(services, client, journal, turn))
    return await _admitted(feed, session, turn.request_id, request.delivery or "steer")


async def _send_left(services: Services, client: Client, journal: Journal, turn: Turn) -> None:
    """Send the queued prompts that an interruption, or the end of a server, left over: each in a turn of its own."""
    if await turn.success() != SUCCEEDED:
        return
    tried: set[str] = set()
    while left := [one for one in journal.waiting if not services.turns.awaits(one) and one not in tried]:
        tried.add(left[0])
        message = await find_message(SessionScope(client, await client.sessions.get(journal.session_id)), left[0])
        if message is None or not is_waiting(message.info):
            continue
        await client.prompts.send_now(journal.session_id, left[0])
        while journal.session_id in await client.prompts.status():
            await journal.wait(len(journal.entries), _POLL_S)


async def _known_prompt(feed: Feed, session: SessionScope, request: PromptRequest, known: MessageWithParts) -> Admitted:
    assert request.id is not None
    if prompt_value(known.parts).text != request.prompt.text:
        text = f"another message has the id {request.id}; send another id, or none"
        raise AnswerError(409, "ConflictError", text, resource=request.id)
    return await _admitted(feed, session, known.info.id, request.delivery or "steer")


async def _admitted(
    feed: Feed, session: SessionScope, message_id: str, delivery: Literal["steer", "queue"]
) -> Admitted:
    try:
        seq, entry, message = await feed.admitted(session.client, session.id, message_id)
    except NoSuchMessageError as error:
        raise AnswerError(409, "ConflictError", str(error), resource=message_id) from None
    return Admitted(
        admitted_seq=seq,
        id=message_id,
        session_id=session.id,
        prompt=prompt_value(message.parts),
        delivery=delivery,
        time_created=entry.time,
    )


def _prompt(journal: Journal, request: PromptRequest) -> PromptInput:
    agent, chosen = journal.last(kinds.AGENT_SWITCHED), journal.last(kinds.MODEL_SWITCHED)
    model = None if chosen is None else ModelName.model_validate((chosen.data or {})["model"])
    return PromptInput(
        message_id=request.id,
        agent=None if agent is None else (agent.data or {})["agent"],
        model=None if model is None else ModelRef(provider_id=model.provider_id, model_id=model.id),
        variant=None if model is None or model.variant == "default" else model.variant,
        no_reply=True if request.resume is False else None,
        delivery=request.delivery,
        parts=_parts(request.prompt),
    )


def _parts(prompt: GivenPrompt) -> list[PromptPart]:
    parts: list[PromptPart] = [TextInput(text=prompt.text), *file_inputs(prompt.files or [])]
    for agent in prompt.agents or []:
        given = agent.source
        place = None if given is None else AgentSource(value=given.text, start=int(given.start), end=int(given.end))
        parts.append(AgentInput(name=agent.name, source=place))
    return parts


def file_inputs(files: Sequence[GivenFile]) -> list[FileInput]:
    """Return the files of a prompt as the engine reads them."""
    found: list[FileInput] = []
    for file in files:
        mime = mimetypes.guess_type(file.uri.partition("?")[0])[0] or "text/plain"
        if file.uri.startswith("data:"):
            mime = file.uri[5:].partition(",")[0].partition(";")[0] or "text/plain"
        source = None
        if file.source is not None:
            start, end = int(file.source.start), int(file.source.end)
            text = SourceText(value=file.source.text, start=start, end=end)
            source = FilePartSource(type="file", path=file.uri, text=text)
        found.append(FileInput(mime=mime, url=file.uri, filename=file.name, source=source))
    return found


async def find_message(session: SessionScope, message_id: str) -> MessageWithParts | None:
    """Return a stored message, None where there is none."""
    try:
        return await session.client.messages.get(session.id, message_id)
    except NoSuchMessageError:
        return None


@router.post("/{sessionID}/compact", status_code=204)
async def compact_session(session: Session) -> Response:
    """Replace the older messages by a summary; answers when that is written."""
    await session.client.context.compact(session.id, CompactSession())
    return done()


@router.post("/{sessionID}/wait", status_code=204)
async def wait_for_session(services: ServerServices, feed: EventFeed, session: Session) -> Response:
    """Answer when the session is idle."""
    journal = await feed.journal(session.client, session.id)
    while services.turns.has(session.id) or session.id in await session.client.prompts.status():
        await journal.wait(len(journal.entries), _POLL_S)
    return done()


@router.post("/{sessionID}/interrupt", status_code=204)
async def interrupt_session(session: Session, resume: bool | None = None) -> Response:
    """Interrupt what runs; an idle session stays as it is. With `resume`, of the released version, say whether something ran."""
    is_interrupted = await session.client.prompts.abort(session.id)
    return done() if resume is None else answer_value({"interrupted": is_interrupted})


@router.post("/{sessionID}/revert/stage")
async def stage_revert(feed: EventFeed, session: Session, request: StageRequest) -> Response:
    """Undo everything from a message on; it can be cleared until the session continues, or until it is committed."""
    client = session.client
    journal = await feed.journal(client, session.id)
    only = "conversation" if request.files is False else None
    try:
        await client.undo.revert(session.id, journal.stored_id(request.message_id), only=only)
    except NoSuchMessageError:
        raise no_message(session.id, request.message_id) from None
    info = await client.sessions.get(session.id)
    await feed.journal(client, session.id)
    return answer_data(await staged_value(client, info))


@router.post("/{sessionID}/revert/clear", status_code=204)
async def clear_revert(feed: EventFeed, session: Session) -> Response:
    """Redo what was undone; without an undo nothing changes."""
    with suppress(NothingToRevertError):
        await session.client.undo.unrevert(session.id)
    await feed.journal(session.client, session.id)
    return done()


@router.post("/{sessionID}/revert/commit", status_code=204)
async def commit_revert(feed: EventFeed, session: Session) -> Response:
    """Remove what was undone; without an undo nothing changes."""
    await session.client.undo.commit(session.id)
    await feed.journal(session.client, session.id)
    return done()


@router.get("/{sessionID}/message")
async def list_messages(
    feed: EventFeed, session: Session, limit: Limit = _PAGE, order: Order | None = None, cursor: str | None = None
) -> Response:
    """List the messages, newest first."""
    edge = None if cursor is None else read_cursor(cursor)
    order = order or "desc" if edge is None else edge.order
    values = await _values(feed, session)
    if order == "desc":
        values.reverse()
    shown, edges = page(values, lambda value: value.id, limit, edge, order, {})
    return answer_data(shown, cursor=edges)


@router.get("/{sessionID}/message/{messageID}")
async def get_message(feed: EventFeed, session: Session, message_id: MessageName) -> Response:
    """Return one message."""
    found = next((value for value in await _values(feed, session) if value.id == message_id), None)
    if found is None:
        raise no_message(session.id, message_id)
    return answer_data(found)


@router.get("/{sessionID}/context")
async def list_context(feed: EventFeed, session: Session) -> Response:
    """Return the messages that the next request is made of: from the last summary on, without what is undone."""
    values: Sequence[MessageValue] = await _values(feed, session)
    if session.info.revert is not None:
        known = (await feed.journal(session.client, session.id)).ids
        boundary = session.info.revert.message_id
        undone = known.get(boundary, boundary)
        values = values[: next((at for at, value in enumerate(values) if value.id == undone), len(values))]
    begins = [at for at, value in enumerate(values) if isinstance(value, CompactionValue) and value.summary]
    return answer_data(values[begins[-1] if begins else 0 :])


async def _values(feed: Feed, session: SessionScope) -> list[MessageValue]:
    """Return the messages of a session, oldest first, without prompts that no step has read."""
    journal = await feed.journal(session.client, session.id)
    messages = await session.client.messages.list(session.id)
    choices = [entry for entry in journal.entries if entry.kind in (kinds.AGENT_SWITCHED, kinds.MODEL_SWITCHED)]
    return await asyncio.to_thread(message_values, messages, choices, journal.ids, journal.waiting)
