"""Messages of a session: read them, send one. Requests of older clients and of other machines are adapted first."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote

from fastapi import Query, Response

from opencode_tui.schema.api.request import CommandInput, FileInput, PromptInput, PromptPart, ShellInput
from opencode_tui.schema.error import SessionError
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.record import Record, absent
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.part import Part
from opencode_tui.server.answer import LateAnswer, answer_record, answer_records, answer_value
from opencode_tui.server.request import FolderClient, MessageId, PartId, ServerServices, SessionId
from opencode_tui.server.router import new_router

router = new_router("message")


class InitInput(Record):
    """The id of the new request, and the model for the response."""

    message_id: str | None = absent()
    provider_id: str
    model_id: str


@router.get("/session/{sessionID}/message", response_model=list[MessageWithParts])
async def list_messages(
    client: FolderClient, session_id: SessionId, limit: Annotated[int | None, Query(ge=0)] = None
) -> Response:
    """Return the newest `limit` messages with their parts, oldest first."""
    await client.sessions.get(session_id)
    return answer_records(await client.messages.list(session_id, limit))


@router.get("/session/{sessionID}/message/{messageID}", response_model=MessageWithParts)
async def get_message(client: FolderClient, session_id: SessionId, message_id: MessageId) -> Response:
    """Return one message with its parts."""
    await client.sessions.get(session_id)
    return answer_record(await client.messages.get(session_id, message_id))


@router.post("/session/{sessionID}/message", response_model=MessageWithParts)
async def send_message(
    client: FolderClient, services: ServerServices, session_id: SessionId, request: PromptInput
) -> Response:
    """Send a request: the head of the answer is sent when it is stored, the body is the last message when the turn is over."""
    await client.sessions.get(session_id)
    turn = await services.turns.prompt(client, session_id, await _read(client, request))
    return LateAnswer(turn.answer(), turn.request_id)


@router.post("/session/{sessionID}/prompt_async", status_code=204, response_class=Response)
async def send_message_later(
    client: FolderClient, services: ServerServices, session_id: SessionId, request: PromptInput
) -> Response:
    """Send a request and wait only until it is stored."""
    await client.sessions.get(session_id)
    await services.turns.prompt(client, session_id, await _read(client, request))
    return Response(status_code=204)


@router.post("/session/{sessionID}/command", response_model=MessageWithParts)
async def send_command(
    client: FolderClient, services: ServerServices, session_id: SessionId, request: CommandInput
) -> Response:
    """Send the prompt that a slash command expands to; answers as for a message."""
    await client.sessions.get(session_id)
    turn = await services.turns.command(client, session_id, request)
    return LateAnswer(turn.answer(), turn.request_id)


@router.post("/session/{sessionID}/shell", response_model=MessageWithParts)
async def run_shell(
    client: FolderClient, services: ServerServices, session_id: SessionId, request: ShellInput
) -> Response:
    """Run a shell command of the user; answers with the message that holds its call when it has ended."""
    await client.sessions.get(session_id)
    turn = await services.turns.shell(client, session_id, request)
    return LateAnswer(turn.answer(), turn.request_id)


@router.post("/session/{sessionID}/init", response_model=bool)
async def send_init(
    client: FolderClient, services: ServerServices, session_id: SessionId, request: InitInput
) -> Response:
    """Write or update this project's AGENTS.md; answers when the turn is over."""
    await client.sessions.get(session_id)
    model = f"{request.provider_id}/{request.model_id}"
    command = CommandInput(command="init", message_id=request.message_id, model=model)
    turn = await services.turns.command(client, session_id, command)
    return LateAnswer(turn.success())


@router.patch("/session/{sessionID}/message/{messageID}/part/{partID}", response_model=Part)
async def update_part(
    client: FolderClient, session_id: SessionId, message_id: MessageId, part_id: PartId, part: Part
) -> Response:
    """Replace the part with this id; the ids inside must be those of the address."""
    if (part.session_id, part.message_id, part.id) != (session_id, message_id, part_id):
        raise SessionError(f"the part's ids are not those of the address {part_id}; send the part that was read there")
    await client.sessions.get(session_id)
    return answer_record(await client.messages.update_part(part))


@router.delete("/session/{sessionID}/message/{messageID}/part/{partID}", response_model=bool)
async def remove_part(client: FolderClient, session_id: SessionId, message_id: MessageId, part_id: PartId) -> Response:
    """Delete a part."""
    await client.sessions.get(session_id)
    await client.messages.remove_part(session_id, message_id, part_id)
    return answer_value(True)


async def _read(client: FolderClient, request: PromptInput) -> PromptInput:
    """Return a request with current names, and the paths of files on this server."""
    return await with_files_of(client.directory, in_present_names(request))


_PART = "prt"


def in_present_names(request: PromptInput) -> PromptInput:
    """Return the request with the names of older clients translated where the current names are missing.

    The Python package, the first SDKs and editors' plugins send the model as `providerID` and `modelID` next to the parts, the
    agent as `mode`, and parts with ids of their own (UUIDs). A model that is named is used or refused, never replaced.
    """
    older = request.model_extra or {}
    provider, model, mode = (older.get(name) for name in ("providerID", "modelID", "mode"))
    changes: dict[str, object] = {"parts": _with_our_ids(request.parts)}
    if request.model is None and isinstance(provider, str) and isinstance(model, str):
        changes["model"] = ModelRef(provider_id=provider, model_id=model)
    if request.agent is None and isinstance(mode, str):
        changes["agent"] = mode
    return request.changed(**changes)


def _with_our_ids(parts: Sequence[PromptPart]) -> list[PromptPart]:
    """Return the parts; an id without the prefix of part ids is replaced."""
    return [part if part.id is None or part.id.startswith(_PART) else part.changed(id=None) for part in parts]


_FILE = "file://"


async def with_files_of(folder: Path, request: PromptInput) -> PromptInput:
    """Return the request with the paths of files that exist in `folder` only; a file at the given address is kept.

    A client in another folder or on another machine names files by `@` relative to where it runs: OpenCode's screens before 1.2
    join the name that this server found with their own folder.
    """
    if not any(isinstance(part, FileInput) and part.source is not None for part in request.parts):
        return request
    return request.changed(parts=await asyncio.to_thread(_relocate_all, folder, request.parts))


def _relocate_all(folder: Path, parts: Sequence[PromptPart]) -> list[PromptPart]:
    return [_relocate(folder, part) if isinstance(part, FileInput) else part for part in parts]


def _relocate(folder: Path, part: FileInput) -> FileInput:
    given, mark, lines = part.url.removeprefix(_FILE).partition("?")
    named = part.source.path if part.source is not None else None
    if not named or not part.url.startswith(f"{_FILE}/") or os.path.exists(unquote(given)):
        return part
    path = os.path.normpath(folder / named)
    if not path.startswith(f"{folder}{os.sep}") or not os.path.exists(path):
        return part
    return part.changed(url=f"{Path(path).as_uri()}{mark}{lines}")
