"""The table of calls: every method of every facet is a row, and every row has its route."""

import re

import pytest
from fastapi.routing import APIRoute

from opencode_tui.client.facets.call import calls_of
from opencode_tui.client.facets.table import facet_types
from opencode_tui.server.app import ROUTERS
from tests.support.rows import each

FACETS = facet_types()
CALLS = {f"{facet}.{name}": call for facet, protocol in FACETS.items() for name, call in calls_of(protocol).items()}
ROUTES = {
    (method, re.sub(r"\{.*?\}", "{}", route.path))
    for router in ROUTERS
    for route in router.routes
    if isinstance(route, APIRoute)
    for method in route.methods or ()
}


@each(("name", "protocol"), FACETS.items(), ids=FACETS)
def test_every_method_of_a_facet_is_a_row(name, protocol):
    methods = [method for method in vars(protocol) if not method.startswith("_")]
    assert methods and list(calls_of(protocol)) == methods, name


@each("call", CALLS.values(), ids=CALLS)
def test_every_row_has_its_route(call):
    assert (call.method, re.sub(r"\{.*?\}", "{}", call.path)) in ROUTES


@each("call", CALLS.values(), ids=CALLS)
def test_a_row_names_only_its_own_arguments(call):
    known = set(call.signature.parameters)
    assert {name.split(".")[0] for name in call.path_names} <= known
    assert call.body is None or set(call.body.model_fields) - {"type"} <= known


def test_an_argument_in_a_path_stays_one_part_of_it():
    [call] = [call for call in CALLS.values() if (call.method, call.path) == ("DELETE", "/session/{session_id}")]
    assert call.path_of({"session_id": "../a?b#c d"}) == "/session/..%2Fa%3Fb%23c%20d"


@pytest.mark.slow
async def test_a_session_that_does_not_exist_is_an_error_of_every_route_about_one(serve):
    rows = [call for call in CALLS.values() if call.path.startswith("/opencode-tui/session/{session_id}")]
    absent = {"session_id": "ses_000000000000doesnotexist00", "message_id": "msg_1"}
    asked = [call.path_of(absent) for call in rows]
    async with serve() as face:
        answers = [
            await face.http.request(
                call.method,
                path,
                json={"approvals": "ask", "command": "true", "text": "why", "ids": ["msg_1"]}
                if call.method in ("POST", "PUT", "PATCH")
                else None,
                params={"messageID": "msg_1"} if call.method == "GET" else None,
            )
            for call, path in zip(rows, asked, strict=True)
        ]
    assert len(answers) > 10
    assert [answer.status_code for answer in answers] == [404] * len(rows)
