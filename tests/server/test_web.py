"""The page of `opencode-tui web` over HTTP: its routes refuse requests without a login, of other pages, and by other names."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

import httpx
import psutil
import pytest
from starlette.routing import Route, WebSocketRoute
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin

from opencode_tui.client.client import Client
from opencode_tui.server.address import Address
from opencode_tui.server.guard import BrowserAccess, Credentials, Guard, Message, Receive, Scope, Send
from opencode_tui.server.throttle import Throttle
from opencode_tui.server.web import access as access_module
from opencode_tui.server.web import pages as pages_module
from opencode_tui.server.web import viewers as viewers_module
from opencode_tui.server.web.access import Access
from opencode_tui.server.web.pages import Pages, Web
from opencode_tui.server.web.viewers import ScreenModes
from tests.support.world.server import ALLOWED, PASSWORD, HttpFace, every_route, http_client
from tests.support.world.waiting import PATIENCE_S

LOGIN_PATHS = {"/", "/web", "/web/login", "/web/assets/login.js", "/web/assets/login.css", "/web/assets/icon.svg"}


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def face(serve, project, environ, clock) -> AsyncGenerator[HttpFace]:
    web = Web(Access(clock), str(project.path), environ)
    async with serve(web=web) as face:
        yield face


def browser(url: str) -> httpx.AsyncClient:
    """Return a browser that shows a page of the server."""
    return http_client(url, headers={"origin": url})


async def log_in(http: httpx.AsyncClient) -> str:
    """Return the key of a new login."""
    answer = await http.post("/web/login", json={"password": PASSWORD})
    assert answer.status_code == 200, answer.text
    return answer.json()["key"]


async def ticket_for(http: httpx.AsyncClient, key: str) -> str:
    return (await http.post("/web/ticket", json={"key": key})).json()["ticket"]


def joined(
    url: str, http: httpx.AsyncClient, ticket: str, *, origin: str | None = "", has_cookie: bool = True
) -> connect:
    """Return a socket as the page opens it, from the server's own origin where none is given."""
    cookie = "; ".join(f"{name}={value}" for name, value in http.cookies.items())
    address = f"{url.replace('http', 'ws', 1)}/web/socket?ticket={ticket}&columns=90&rows=30"
    given = Origin(url) if origin == "" else None if origin is None else Origin(origin)
    return connect(address, proxy=None, origin=given, additional_headers={"cookie": cookie} if has_cookie else {})


async def until(socket: ClientConnection, words: bytes) -> bytes:
    seen = b""
    async with asyncio.timeout(PATIENCE_S):
        while words not in seen:
            data = await socket.recv()
            seen += data if isinstance(data, bytes) else b""
    return seen


async def never() -> Client:
    raise AssertionError("no route is called")


def page_routes() -> list[tuple[str, str]]:
    """Return a request for each route of the page, one for each file."""
    web, credentials = Web(Access(), "/", {}), Credentials("x")
    pages = Pages(
        web,
        Address("127.0.0.1", 1),
        credentials=credentials,
        own=credentials,
        throttle=Throttle(),
        find_client=never,
    )
    found: list[tuple[str, str]] = []
    for route in pages.routes:
        assert isinstance(route, Route | WebSocketRoute), f"{route} is missing from the table of routes"
        names = pages_module.FILES if "{name}" in route.path else [""]
        methods = sorted(route.methods or ()) if isinstance(route, Route) else ["GET"]
        found += [(method, route.path.replace("{name}", name)) for method in methods for name in names]
    return found


@pytest.mark.slow
async def test_every_route_of_the_page_refuses_every_kind_of_threat(face: HttpFace) -> None:
    url = face.address.url
    foreign = {"origin": "http://evil.example"}
    threats: dict[str, tuple[int, dict[str, str], bool]] = {
        "no cookie": (401, {"origin": url}, False),
        "wrong cookie": (401, {"origin": url, "cookie": f"opencode_tui_{face.address.port}=nonsense"}, False),
        "the password of the API": (401, {"origin": url, "authorization": f"Bearer {PASSWORD}"}, False),
        "foreign page": (403, foreign, True),
        "page of another port of this machine": (403, {"origin": "http://127.0.0.1:1"}, True),
        "page of this machine by another name": (403, {"origin": url.replace("127.0.0.1", "localhost")}, True),
        "page of a file": (403, {"origin": "null"}, True),
        "foreign page that names no origin": (403, {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, True),
        "page of another port that names no origin": (403, {"sec-fetch-site": "same-site"}, True),
        "foreign frame": (
            403,
            {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
            True,
        ),
        "foreign name": (403, {"host": "evil.example", "origin": "http://evil.example"}, True),
    }
    let_in: list[object] = []
    routes = page_routes()
    async with browser(face.address.url) as http:
        await log_in(http)
        cookie = "; ".join(f"{name}={value}" for name, value in http.cookies.items())
        for threat, (status, headers, has_cookie) in threats.items():
            async with http_client(url) as other:
                given = {**headers, **({"cookie": cookie} if has_cookie else {})}
                for method, path in routes:
                    if status == 401 and (path in LOGIN_PATHS or (method, path) == ("POST", "/web/login")):
                        continue
                    answer = await other.request(
                        method, path, headers=given, content=b"{}" if method == "POST" else None
                    )
                    wanted = 303 if status == 401 and path in ("/web/", "/web/inbox") else status
                    if answer.status_code != wanted or "frame-ancestors 'none'" not in answer.headers.get(
                        "content-security-policy", "frame-ancestors 'none'" if threat == "foreign name" else ""
                    ):
                        let_in.append((threat, method, path, answer.status_code))
        allowed = [(await http.request(method, path)).status_code for method, path in routes if method == "GET"]
    assert let_in == [] and len(routes) > 20
    assert set(allowed) <= {200, 303, 404} and allowed.count(200) > 8  # 404: the socket, without an upgrade


async def test_a_link_from_another_site_leads_to_the_login_and_no_further(face: HttpFace) -> None:
    visit = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    async with http_client(face.address.url) as http:
        answer = await http.get("/", headers=visit, follow_redirects=True)
    assert answer.url.path == "/web/login" and answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store" and answer.headers["referrer-policy"] == "no-referrer"
    assert (
        answer.headers["x-content-type-options"] == "nosniff"
        and "unsafe" not in answer.headers["content-security-policy"]
    )


@pytest.mark.slow
async def test_the_cookie_opens_no_route_of_the_api(face: HttpFace) -> None:
    opened: list[object] = []
    routes = every_route()
    async with browser(face.address.url) as http:
        await log_in(http)
        [cookie] = http.cookies.jar
        assert (cookie.path, cookie.has_nonstandard_attr("HttpOnly"), cookie.get_nonstandard_attr("SameSite")) == (
            "/web", True, "strict",
        )  # fmt: skip
        given = {"cookie": f"{cookie.name}={cookie.value}"}
        for route in routes:
            for method in route.methods or ():
                answer = await http.request(method, route.path.replace("{", "").replace("}", ""), headers=given)
                if answer.status_code != 401:
                    opened.append((method, route.path, answer.status_code))
    assert opened == [] and len(routes) > 100


async def test_wrong_passwords_slow_down_at_the_login_and_at_the_api_but_not_the_running_pages(face: HttpFace) -> None:
    async with (
        browser(face.address.url) as http,
        http_client(face.address.url) as api,
    ):
        key = await log_in(http)
        codes = [(await http.post("/web/login", json={"password": f"no {one}"})).status_code for one in range(6)]
        right = await http.post("/web/login", json={"password": PASSWORD})
        by_api = await api.get("/session", auth=("opencode", PASSWORD))
        nameless = await api.get("/session")
        ticket = await http.post("/web/ticket", json={"key": key})
    assert codes == [401] * 5 + [429]
    assert (right.status_code, right.headers["retry-after"]) == (429, "1")
    assert (by_api.status_code, nameless.status_code, ticket.status_code) == (429, 401, 200)


def test_the_wait_grows_and_ends_with_the_right_password(clock: Clock) -> None:
    throttle = Throttle(clock)
    waits: list[float] = []
    for _ in range(15):
        throttle.record("a", is_right=False)
        waits.append(throttle.wait_s("a"))
        clock.now += waits[-1]
    assert waits == [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]
    assert throttle.wait_s("b") == 0
    throttle.record("a", is_right=True)
    throttle.record("a", is_right=False)
    assert throttle.wait_s("a") == 0


async def test_a_login_and_a_login_link_end(face: HttpFace, serve, project, environ, clock: Clock) -> None:
    async with browser(face.address.url) as http:
        key = await log_in(http)
        assert (await http.post("/web/ticket", json={"key": key})).status_code == 200
        assert (await http.post("/web/ticket", json={"key": key[:-1]})).status_code == 401
        clock.now += access_module.LOGIN_S
        assert (await http.post("/web/ticket", json={"key": key})).status_code == 401
        key = await log_in(http)
        assert (await http.post("/web/logout")).status_code == 200
        assert (await http.post("/web/ticket", json={"key": key})).status_code == 401
    access = Access(clock)
    link, late = access.create_link(), access.create_link()
    assert (access.consume_link(link), access.consume_link(link), access.consume_link("")) == (True, False, False)
    clock.now += access_module.LINK_S
    assert not access.consume_link(late)


async def test_behind_a_proxy_its_name_and_origin_are_those_of_the_settings(face: HttpFace) -> None:
    name = ALLOWED.removeprefix("https://")
    async with http_client(face.address.url) as http:
        answer = await http.post("/web/login", json={"password": PASSWORD}, headers={"host": name, "origin": ALLOWED})
        bare = await http.post(
            "/web/login", json={"password": PASSWORD}, headers={"host": name, "origin": f"http://{name}x"}
        )
    assert answer.status_code == 200 and "; Secure" in answer.headers["set-cookie"]
    assert bare.status_code == 403


def is_tui(process: psutil.Process) -> bool:
    """Return whether a child is the TUI: beside it the engine may just start or end a git."""
    with suppress(psutil.Error):
        return "opencode_tui" in process.cmdline()
    return False


@pytest.mark.slow
async def test_a_socket_needs_an_unused_ticket_of_its_login_and_the_origin_and_viewers_are_few(
    face: HttpFace, clock: Clock, monkeypatch, caplog
) -> None:
    async with browser(face.address.url) as http, browser(face.address.url) as other:
        key, others = await log_in(http), await log_in(other)
        late = await ticket_for(http, key)
        clock.now += access_module.TICKET_S
        foreign = await ticket_for(other, others)
        for ticket, origin, has_cookie, status in (
            ("", "", True, 401),
            (late, "", True, 401),
            (foreign, "", True, 401),
            (await ticket_for(http, key), "http://evil.example", True, 403),
            (await ticket_for(http, key), None, True, 403),
            (await ticket_for(http, key), "", False, 401),
        ):
            with pytest.raises(InvalidStatus) as refused:
                async with joined(face.address.url, http, ticket, origin=origin, has_cookie=has_cookie):
                    pass
            assert refused.value.response.status_code == status
        ticket = await ticket_for(http, key)
        monkeypatch.setattr(viewers_module, "VIEWER_LIMIT", 1)
        monkeypatch.setattr(viewers_module, "KEPT_S", 0.1)
        children = set(psutil.Process().children())
        async with joined(face.address.url, http, ticket) as socket:
            assert '"isResumed":false' in str(await socket.recv())
            with pytest.raises(InvalidStatus) as refused:
                async with joined(face.address.url, http, ticket):
                    pass
            assert refused.value.response.status_code == 401
            await until(socket, b"sandbox")
            [tui] = [one for one in set(psutil.Process().children()) - children if is_tui(one)]
            async with joined(face.address.url, http, await ticket_for(http, key)) as second:
                with pytest.raises(ConnectionClosed):
                    await until(second, b"nothing like this")
                assert second.close_code == viewers_module.FULL
            socket.transport.abort()  # as a network that fails
        async with asyncio.timeout(PATIENCE_S):
            while tui.is_running():
                await asyncio.sleep(0.02)
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


class Broken:
    def has(self, path: str) -> bool:
        return path == "/web/socket"

    def refuse(self, scope: Scope) -> None:
        return None

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("broken")


async def test_a_socket_that_fails_is_logged_with_its_path(caplog: pytest.LogCaptureFixture) -> None:
    pages = Broken()
    credentials = Credentials("x")
    guard = Guard(
        pages.app,
        address=Address("127.0.0.1", 1),
        credentials=credentials,
        browsers=BrowserAccess(pages.has, pages.refuse, pages.app, credentials, Throttle()),
    )

    async def send(_: Message) -> None: ...

    async def receive() -> Message:
        return {}

    await guard({"type": "websocket", "path": "/web/socket", "headers": [(b"host", b"127.0.0.1:1")]}, receive, send)
    [record] = caplog.records
    assert record.getMessage() == "WebSocket /web/socket failed"


def test_modes_are_restored_whole_after_sequences_that_came_in_pieces() -> None:
    output = b"\x1b[?1049h\x1b[?1000;1006hone\x1b]0;the title\x07\x1b[?25l\x1b[?2026h\x1b[?1000ltwo"
    for size in (1, 3, 1000):
        modes = ScreenModes()
        for at in range(0, len(output), size):
            modes.feed(output[at : at + size])
        assert modes.restore() == b"\x18\x1bc\x1b[?1049h\x1b[?1000l\x1b[?1006h\x1b[?25l\x1b]0;the title\x07"
