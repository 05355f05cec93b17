"""The routes that OpenCode's API does not have, each made from a row of the table of calls (`client/facets/call.py`)."""

import inspect
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Body, Path, Query, Response

from opencode_tui.client.client import Client
from opencode_tui.client.facets.call import Call, calls_of, records_in, struct_in
from opencode_tui.client.facets.table import facet_types
from opencode_tui.schema.http_headers import OWN
from opencode_tui.schema.record import JsonObject, Record, json_name
from opencode_tui.server.answer import answer_any
from opencode_tui.server.request import FORMS, WORD, FolderClient
from opencode_tui.server.router import new_router

Endpoint = Callable[..., Coroutine[Any, Any, Response]]


def own_routes() -> APIRouter:
    """Return the routes of all rows, in the order of the table."""
    router = new_router("opencode-tui")
    for name, facet in facet_types().items():
        for method, call in calls_of(facet).items():
            if call.path.startswith(f"{OWN}/"):
                _add(router, call, name, method)
    return router


def _add(router: APIRouter, call: Call, facet: str, method: str) -> None:
    path = call.path
    for name in call.path_names:
        path = path.replace(f"{{{name}}}", f"{{{json_name(name)}}}")
    result = (
        call.signature.return_annotation if struct_in(call.signature.return_annotation) is None else list[JsonObject]
    )
    router.add_api_route(
        path,
        _endpoint(call, facet, method),
        methods=[call.method],
        name=f"{facet}_{method}",
        description=inspect.getdoc(call.function),
        response_model=bool if result is None else dict[str, result] if call.field else result,
    )


def _endpoint(call: Call, facet: str, method: str) -> Endpoint:
    """Return what answers a row; for a session that does not exist it is the error that says so."""

    async def answer(client: Client, body: Record | None = None, **given: Any) -> Response:
        if "session_id" in call.path_names:
            await client.sessions.get(given["session_id"])
        if call.object_name is not None:
            given[call.object_name] = body
        elif call.body is not None:
            given |= {name: getattr(body, name) for name in call.body.model_fields}
        result = await getattr(getattr(client, facet), method)(**given)
        if call.signature.return_annotation is None:
            return answer_any(True)
        return answer_any(result if call.field is None else {call.field: result})

    vars(answer)["__signature__"] = inspect.Signature(_parameters(call))
    return answer


def _parameters(call: Call) -> list[inspect.Parameter]:
    """Return the parameters of a route: the client of its folder, those of its path and its query, and its body."""
    known = call.signature.parameters
    found = [_named("client", FolderClient)]
    found += [
        _named(name, Annotated[str, Path(alias=json_name(name), **FORMS.get(name, {"max_length": 200}))])
        for name in call.path_names
    ]
    for one in call.query:
        default = (
            None if one.default is inspect.Parameter.empty and type(None) in get_args(one.annotation) else one.default
        )
        form = FORMS.get(one.name, WORD if one.annotation in (str, str | None) else {})
        found.append(_named(one.name, Annotated[one.annotation, Query(alias=json_name(one.name), **form)], default))
    kind = call.body or (known[call.object_name].annotation if call.object_name else None)
    if kind is not None:
        found.append(_body(kind))
    return found


def _named(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _body(kind: Any) -> inspect.Parameter:
    """Return the parameter of a body, which can be left out if all its fields can."""
    record = records_in(kind)[0]
    if any(field.is_required() for field in record.model_fields.values()):
        return _named("body", record)
    return _named("body", Annotated[record, Body(default_factory=record)])
