"""No route can be reached without the password, from a foreign page, or by a foreign name: made from the route table."""

import asyncio

import httpx
import pytest

from tests.support.world.server import ALLOWED, PASSWORD, HttpFace, every_route, http_client
from tests.support.world.waiting import PATIENCE_S

RIGHT = httpx.BasicAuth("opencode", PASSWORD)
THREATS = {
    "no password": (401, None, {}),
    "wrong password": (401, httpx.BasicAuth("opencode", PASSWORD + "r"), {}),
    "half of the password": (401, httpx.BasicAuth("opencode", PASSWORD[:-1]), {}),
    "empty password": (401, httpx.BasicAuth("opencode", ""), {}),
    "empty token": (401, None, {"authorization": "Bearer"}),
    "wrong user": (401, httpx.BasicAuth("root", PASSWORD), {}),
    "wrong token": (401, None, {"authorization": "Bearer nonsense"}),
    "broken credentials": (401, None, {"authorization": "Basic ?"}),
    "foreign page": (403, RIGHT, {"origin": "http://evil.example"}),
    "page of the same port elsewhere": (403, RIGHT, {"origin": "http://localhost.evil.example"}),
    "page of a file": (403, RIGHT, {"origin": "null"}),
    "foreign page that names no origin": (403, RIGHT, {"sec-fetch-site": "cross-site"}),
    "foreign name": (403, RIGHT, {"host": "evil.example"}),
    "foreign name with a name of ours before it": (403, RIGHT, {"host": "127.0.0.1.evil.example:{port}"}),
    "name without the port": (403, RIGHT, {"host": "127.0.0.1"}),
    "form": (403, RIGHT, {"content-type": "application/x-www-form-urlencoded"}),
    "form with files": (403, RIGHT, {"content-type": "multipart/form-data; boundary=x"}),
    "plain text": (403, RIGHT, {"content-type": "Text/Plain; charset=utf-8"}),
}


FOREIGN = [name for name, (status, _, headers) in THREATS.items() if status == 403 and "content-type" not in headers]
"""What not even a preflight may come from."""

ON_EVERY_ROUTE = {
    "both-answers": ("no password", "foreign page"),
    "each-kind": ("no password", "wrong token", "foreign page", "foreign name", "form"),
}
"""What comes to every route. The others come to every eighth, each to different ones."""

WELL_FORMED = {
    "trashID": "ses_1",
    "requestID": "per_1",
    "permissionID": "per_1",
    "providerID": "openai",
    "projectID": "global",
    "commandID": "bg1",
    "ptyID": "pty_1",
    "serverID": "pyright",
    "signInID": "0" * 16,
    "accountID": "0" * 12,
    "name": "files",
}


async def requests_to_all(face: HttpFace) -> list[tuple[str, str]]:
    """Return a request for each route that would reach what there is: a session, its answer, a part of it."""
    session_id = await face.session(title="untouched")
    message = (await face.say(session_id, "hello")).json()
    async with asyncio.timeout(PATIENCE_S):
        while "summary" not in (await face.http.get(f"/session/{session_id}")).json():  # it may come after the answer
            await asyncio.sleep(0.01)
    ids = {
        **WELL_FORMED,
        "sessionID": session_id,
        "messageID": message["info"]["id"],
        "partID": message["parts"][-1]["id"],
    }
    return [(method, route.path.format(**ids)) for route in every_route() for method in sorted(route.methods or ())]


async def state(face: HttpFace) -> object:
    """Return what requests that were let in would change."""
    sessions = (await face.http.get("/session")).json()
    return sessions, [await face.messages(session["id"]) for session in sessions]


@pytest.mark.slow
@pytest.mark.parametrize("on_every_route", ON_EVERY_ROUTE.values(), ids=ON_EVERY_ROUTE)
async def test_every_route_refuses_every_kind_of_threat_and_does_nothing_of_it(serve, paths, on_every_route):
    let_in: list[object] = []
    async with serve() as face:
        routes = [*await requests_to_all(face), ("GET", "/no/such/route"), ("HEAD", "/session")]
        before = await state(face)
        for number, (threat, (status, auth, headers)) in enumerate(THREATS.items()):
            named = {name: value.format(port=face.address.port) for name, value in headers.items()}
            asked = routes if threat in on_every_route else routes[number % 8 :: 8]
            asked = [*asked, ("OPTIONS", "/session")] if threat in FOREIGN else asked
            async with http_client(face.address.url, auth=auth) as http:
                for method, path in asked:
                    answer = await http.request(method, path, headers=named, content=b"{}" if method != "GET" else None)
                    if answer.status_code != status:
                        let_in.append((threat, method, path, answer.status_code))
        after = await state(face)
    assert let_in == [] and len(routes) > 100
    assert after == before and not paths.auth.exists()


async def test_the_right_password_opens_by_basic_and_by_bearer(serve):
    async with serve() as face, http_client(face.address.url) as http:
        basic = await http.get("/session", auth=RIGHT)
        bearer = await http.get("/session", headers={"authorization": f"bearer {PASSWORD}"})
    assert (basic.status_code, bearer.status_code) == (200, 200)


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1", ALLOWED])
async def test_pages_of_this_machine_may_read_and_ask_before(serve, origin):
    async with serve() as face:
        answer = await face.http.get("/session", headers={"origin": origin})
        async with http_client(face.address.url) as anybody:
            preflight = await anybody.options("/session", headers={"origin": origin})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, origin)
    assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (204, origin)
    assert "POST" in preflight.headers["access-control-allow-methods"]


async def test_a_refused_page_gets_no_grant(serve):
    async with serve() as face:
        answer = await face.http.get("/session", headers={"origin": "http://evil.example"})
    assert "access-control-allow-origin" not in answer.headers


async def test_a_body_over_the_limit_is_refused_announced_or_not(serve, monkeypatch):
    monkeypatch.setattr("opencode_tui.server.guard.BODY_LIMIT", 1_000)

    async def pieces():
        yield b'{"title":"'
        for _ in range(100):
            yield b"x" * 100
        yield b'"}'

    async with serve() as face:
        announced = await face.http.post("/session", json={"title": "x" * 2_000})
        growing = await face.http.post("/session", content=pieces())
        alive = await face.http.get("/session")
    assert (announced.status_code, growing.status_code, alive.json()) == (413, 413, [])
