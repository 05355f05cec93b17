"""The server about itself."""

import asyncio
import logging
from typing import Any, Literal

from fastapi import APIRouter, Request, Response

from opencode_tui import __version__
from opencode_tui.schema.record import Record, absent
from opencode_tui.server.answer import answer_record, answer_value, record_bytes

router = APIRouter(tags=["server"])
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
    """That the server lives, and its version."""

    healthy: bool = True
    version: str = __version__


@router.get("/global/health", response_model=Health)
async def get_health() -> Response:
    """Tell that the server lives."""
    return answer_record(Health())


@router.get("/doc", include_in_schema=False)
async def get_documentation(request: Request) -> Response:
    """Return the routes as OpenAPI."""
    return answer_value(await asyncio.to_thread(request.app.openapi))


@router.post("/log", response_model=bool)
async def write_log(line: LogLine) -> Response:
    """Write a line into the server's log."""
    text = record_bytes(line).decode()[:LINE_LIMIT]  # JSON: whatever it holds stays on one line
    await asyncio.to_thread(logger.log, LEVELS[line.level], "a client says %s", text)
    return answer_value(True)
