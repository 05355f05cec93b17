"""Where a module declares its routes."""

import inspect
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Body, Request, Response
from fastapi.params import Body as BodyFacts
from fastapi.routing import APIRoute

from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.pydantic_types import has_record, pydantic_kind


class _BoundedRequest(Request):
    """A request whose body is nested no deeper than records may be."""

    async def json(self) -> Any:
        """Return the JSON of the body. Raises JsonError."""
        return load_json(await self.body())


class _Route(APIRoute):
    """A route whose parameters may be records, which FastAPI does not know: they are its body."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        vars(endpoint)["__signature__"] = _signature(endpoint)
        options["response_model"] = pydantic_kind(options.get("response_model"))
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_bounded(request: Request) -> Response:
            return await handle(_BoundedRequest(request.scope, request.receive))

        return handle_bounded


def _signature(endpoint: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of an endpoint in the types of pydantic and FastAPI."""
    signature = inspect.signature(endpoint)
    return signature.replace(parameters=[_parameter(one) for one in signature.parameters.values()])


def _parameter(one: inspect.Parameter) -> inspect.Parameter:
    kind = pydantic_kind(one.annotation)
    if has_record(kind) and not any(isinstance(said, BodyFacts) for said in get_args(kind)[1:]):
        kind = Annotated[kind, Body()]
    return one.replace(annotation=kind)


def new_router(tag: str, *, prefix: str = "") -> APIRouter:
    """Return an empty list of routes; a body is read as JSON also where the request names no content type."""
    return APIRouter(prefix=prefix, tags=[tag], strict_content_type=False, route_class=_Route)
