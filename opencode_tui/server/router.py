"""Where a module declares its routes."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from opencode_tui.schema.json_text import load_json


class _BoundedRequest(Request):
    """A request whose body is nested no deeper than records may be."""

    async def json(self) -> Any:
        """Return the JSON of the body. Raises JsonError."""
        return load_json(await self.body())


class _Route(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_bounded(request: Request) -> Response:
            return await handle(_BoundedRequest(request.scope, request.receive))

        return handle_bounded


def new_router(tag: str, *, prefix: str = "") -> APIRouter:
    """Return an empty list of routes; a body is read as JSON also where the request names no content type."""
    return APIRouter(prefix=prefix, tags=[tag], strict_content_type=False, route_class=_Route)
