"""The server about itself."""

import asyncio

from fastapi import APIRouter, Request, Response

from opencode_tui import __version__
from opencode_tui.schema.record import Record
from opencode_tui.server.answer import answer_record, answer_value

router = APIRouter(tags=["server"])


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
