"""The server itself and its open folders: health, documentation, log, keys of providers, closing a folder."""

import asyncio
import logging
from typing import Any, Literal

from fastapi import Request, Response

from opencode_tui import __version__
from opencode_tui.schema.api.catalog import ApiKey
from opencode_tui.schema.record import Record, absent
from opencode_tui.server.answer import answer_record, answer_value, record_bytes
from opencode_tui.server.request import FolderClient, ProviderId, ServerServices
from opencode_tui.server.router import new_router

server_router = new_router("server")
logger = logging.getLogger("opencode_tui.client_log")

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}

LINE_LIMIT = 4_000
"""Characters of a client's line that are kept."""


class LogLine(Record):
    """A line of a client's log."""

    service: str
    level: Literal["debug", "info", "warn", "error"]
    message: str
    extra: dict[str, Any] | None = absent()


class Health(Record):
    """That the server is alive, and its version."""

    healthy: bool = True
    version: str = __version__


@server_router.get("/global/health", response_model=Health)
async def get_health() -> Response:
    """Return that the server is alive."""
    return answer_record(Health())


@server_router.get("/doc", include_in_schema=False)
async def get_documentation(request: Request) -> Response:
    """Return the routes as OpenAPI."""
    return answer_value(await asyncio.to_thread(request.app.openapi))


@server_router.post("/log", response_model=bool)
async def write_log(line: LogLine) -> Response:
    """Write a line into the server's log."""
    text = record_bytes(line).decode()[:LINE_LIMIT]  # JSON: whatever it holds stays on one line
    await asyncio.to_thread(logger.log, LEVELS[line.level], "a client says %s", text)
    return answer_value(True)


instance_router = new_router("instance")


@instance_router.put("/auth/{providerID}", response_model=bool)
async def store_key(client: FolderClient, provider_id: ProviderId, given: ApiKey) -> Response:
    """Store a provider's key; requests that start later use it."""
    await client.settings.store_key(provider_id, given.key)
    return answer_value(True)


@instance_router.delete("/auth/{providerID}", response_model=bool)
async def delete_key(client: FolderClient, provider_id: ProviderId) -> Response:
    """Delete a provider's key."""
    await client.settings.delete_key(provider_id)
    return answer_value(True)


@instance_router.post("/instance/dispose", response_model=bool)
async def dispose(client: FolderClient, services: ServerServices) -> Response:
    """Close the folder's instance; its next use reads settings, keys and trust again. Refused while something runs there."""
    await services.clients.dispose(str(client.directory))
    return answer_value(True)


@instance_router.post("/global/dispose", response_model=bool)
async def dispose_all(services: ServerServices) -> Response:
    """Close the instances of all folders in which nothing runs; 409 afterwards when something runs in one."""
    await services.clients.dispose_all()
    return answer_value(True)
