"""The small page for phones: what it lists, answers and stops, over HTTP; and in a browser of the size of a phone."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from opencode_tui.server.web.access import Access
from opencode_tui.server.web.pages import Web
from tests.conftest import isolated_environment
from tests.server.test_web import browser, log_in, ticket_for
from tests.support.browser.chromium import ABSENT, PROGRAM, Chromium, Page
from tests.support.browser.web import PASSWORD, web_server
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.repo import make_repo
from tests.support.world.server import http_client
from tests.support.world.waiting import PATIENCE_S, wait_until

ASKS = {"edit": "ask", "bash": {"*": "allow", "rm *": "ask"}}
EDIT = '<<tool write {"filePath": "new.txt", "content": "one\\ntwo\\n"}>>'
SIZE_LIMIT = 60 * 1024
AXE = os.environ.get("OPENCODE_TUI_AXE", "")
"""The file axe.min.js of the package axe-core of npm."""


@pytest.fixture
def allowed(environ: dict[str, str]) -> dict[str, str]:
    environ["OPENCODE_PERMISSION"] = json.dumps(ASKS)
    return environ


async def rows_of(http: httpx.AsyncClient) -> list[dict[str, Any]]:
    return (await http.get("/web/inbox/list")).json()["rows"]


async def test_the_list_has_the_question_and_an_answer_needs_a_ticket_that_was_not_used(
    serve, project, allowed
) -> None:
    async with serve(web=Web(Access(), str(project.path), allowed)) as face, browser(face.address.url) as http:
        key = await log_in(http)
        session = await face.session(title="A <b>bold</b> title")
        sent = asyncio.create_task(face.say(session, f"write {EDIT}"))
        await _until(_waits, http)
        [row] = await rows_of(http)
        [asked] = row["waiting"]
        assert (row["title"], row["state"], row["can_stop"]) == ("A <b>bold</b> title", "asks", True)
        assert "new.txt" in asked["subject"] and "+one" in asked["diff"]
        assert [one["act"] for one in asked["buttons"]] == ["once", "reject"]

        wrong = {"act": "once", "id": asked["id"]}
        ticket = await ticket_for(http, key)
        for given in ({**wrong, "ticket": ""}, {**wrong, "ticket": key}, {**wrong, "ticket": "x" * 40}):
            assert (await http.post("/web/inbox/act", json=given)).status_code == 401
        async with http_client(face.address.url) as other:
            cookie = {"cookie": "; ".join(f"{name}={value}" for name, value in http.cookies.items())}
            foreign = await other.post("/web/inbox/act", json={**wrong, "ticket": ticket}, headers=cookie)
            assert foreign.status_code == 403  # no origin: not a page of this server
        assert not (project.path / "new.txt").exists()

        first, again = [await http.post("/web/inbox/act", json={**wrong, "ticket": ticket}) for _ in range(2)]
        assert (first.status_code, first.json(), again.status_code) == (200, True, 401)
        assert (await sent).status_code == 200
        assert (project.path / "new.txt").read_text() == "one\ntwo\n"
        assert "+one" in (await http.get("/web/inbox/changes", params={"session": session})).json()
        gone = await http.post("/web/inbox/act", json={**wrong, "ticket": await ticket_for(http, key)})
        assert gone.json() is False


async def _until(is_so: Callable[[httpx.AsyncClient], Awaitable[bool]], http: httpx.AsyncClient) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await is_so(http):
            await asyncio.sleep(0.02)


async def _waits(http: httpx.AsyncClient) -> bool:
    return any(row["waiting"] for row in await rows_of(http))


@pytest.mark.slow
async def test_a_session_is_stopped_and_a_question_of_a_tool_is_answered(serve, project, environ) -> None:
    ask = {"questions": [{"question": "Which?", "header": "h", "options": [{"label": "A", "description": "a"}]}]}
    async with serve(web=Web(Access(), str(project.path), environ)) as face, browser(face.address.url) as http:
        key = await log_in(http)

        async def act(**what: object) -> httpx.Response:
            return await http.post("/web/inbox/act", json={**what, "ticket": await ticket_for(http, key)})

        session = await face.session(title="asks")
        sent = asyncio.create_task(face.say(session, f"ask <<tool question {json.dumps(ask)}>>"))
        await _until(_waits, http)
        [row] = await rows_of(http)
        [asked] = row["waiting"]
        assert asked["asks"] == [
            {"text": "Which?", "options": [{"label": "A", "description": "a"}], "is_multiple": False}
        ]
        assert (await act(act="answer", id=asked["id"], answers=[["A"]])).json() is True
        assert (await sent).status_code == 200

        slow = asyncio.create_task(face.say(session, "count <<slow 400>> <<words 200>>"))
        await _until(_writes, http)  # a turn that is stopped before it has an answer is not one that ended
        assert (await act(act="stop", id=session)).json() is True
        await slow
        await _until(_rests, http)
        await _until(_has_ended, http)
        listing = (await http.get("/web/inbox/list")).json()
        [ended] = listing["ended"]
        assert (ended["id"], ended["can_stop"], ended["waiting"]) == (session, False, [])
        assert (
            await http.post("/web/inbox/act", json={"act": "look", "until": listing["until"], "ticket": ""})
        ).is_error
        assert (await act(act="look", until=listing["until"])).json() is True
        assert (await http.get("/web/inbox/list")).json()["ended"] == []
        assert (await act(act="stop", id=session)).status_code == 404
        assert (await act(act="remove", id=session)).status_code == 400


async def _has_ended(http: httpx.AsyncClient) -> bool:
    return bool((await http.get("/web/inbox/list")).json()["ended"])


async def _rests(http: httpx.AsyncClient) -> bool:
    return not await rows_of(http)


async def _writes(http: httpx.AsyncClient) -> bool:
    """Return whether a session shows text of the slow answer; before, it shows the prompt, or the answer before it."""
    return any("word1" in row["line"] and "<<slow" not in row["line"] for row in await rows_of(http))


def test_the_page_is_small_and_has_no_inline_script_or_style() -> None:
    folder = Path(__file__).parents[2] / "opencode_tui" / "server" / "web" / "assets"
    files = [folder / name for name in ("inbox.html", "inbox.js", "inbox.css", "icon.svg")]
    assert sum(path.stat().st_size for path in files) <= SIZE_LIMIT
    html = files[0].read_text()
    assert "<style" not in html and " style=" not in html and " on" not in html.replace(" on this", "")
    assert html.count("<script") == html.count('<script src="/web/assets/')


@pytest.mark.slow
@pytest.mark.skipif(PROGRAM is None, reason=ABSENT)
def test_on_a_phone_a_question_is_answered_with_one_tap_and_the_page_is_usable_by_keyboard(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "project")
    repo.commit("begin", **{"a.py": "x = 1\n"})
    with ModelServer() as model, Chromium(tmp_path / "browser") as chromium:
        settings = {"model": "fake/fake-model", "permission": ASKS}
        line = CommandLine(repo.path, isolated_environment(tmp_path / "home"), model.config(), settings)
        with web_server(line) as server:
            base = server.url.rstrip("/")
            send = _sender(base)
            send(f"write {EDIT}")
            page = chromium.open(f"{base}/web/inbox", width=360, height=740)
            page.wait(lambda: page.value("document.getElementById('password') !== null"))
            page.value(f"password.value = {json.dumps(PASSWORD)}; document.querySelector('button').click()")
            page.wait(lambda: page.value("document.querySelector('article.asks button.main') !== null"))
            assert page.value("document.documentElement.scrollWidth") <= 360  # nothing is cut at the side
            shown = "[...document.querySelectorAll('button, summary')].filter(one => one.checkVisibility())"
            sizes = page.value(f"{shown}.map(one => one.offsetHeight)")
            assert min(sizes) >= 44
            _no_serious_finding(page)
            if picture := os.environ.get("OPENCODE_TUI_PICTURE"):
                page.picture(Path(picture))
            _tap(page, "article.asks button.main")
            wait_until(lambda: (repo.path / "new.txt").exists())

            send('remove <<tool bash {"command": "rm a.py", "description": "x"}>>')
            page.wait(
                lambda: page.value("(document.querySelector('article.asks pre') ?? {}).textContent === 'rm a.py'")
            )
            page.value("document.querySelector('article.asks .buttons button:last-child').focus()")
            page.call(
                "Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r"
            )
            page.call("Input.dispatchKeyEvent", type="keyUp", key="Enter", code="Enter", windowsVirtualKeyCode=13)
            page.wait(lambda: page.value("document.querySelector('article.asks') === null"))
            assert (repo.path / "a.py").exists()

            page.wait(lambda: page.value("document.querySelectorAll('#ended-list article.done').length === 2"))
            assert page.value("document.getElementById('seen').offsetHeight") >= 44
            assert page.value("document.documentElement.scrollWidth") <= 360
            _no_serious_finding(page)
            _tap(page, "#seen")
            page.wait(lambda: page.value("document.getElementById('ended').hidden"))
            assert [one for one in page.requests if not one.startswith(base)] == [] and page.reports == []


def _sender(base: str):
    """Return what sends a prompt in a new session and does not wait for the answer."""

    def send(text: str) -> None:
        with httpx.Client(base_url=base, auth=("opencode", PASSWORD), trust_env=False, timeout=PATIENCE_S) as http:
            session = http.post("/session", json={"title": text.split("<<")[0]}).json()["id"]
            body = {"parts": [{"type": "text", "text": text}]}
            assert http.post(f"/session/{session}/prompt_async", json=body).status_code == 204

    return send


def _tap(page: Page, selector: str) -> None:
    """Touch the middle of an element, where the page is scrolled to it."""
    page.value(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
    script = (
        f"(one => [one.left + one.width / 2, one.top + one.height / 2])(document.querySelector({json.dumps(selector)})"
    )
    x, y = page.value(f"{script}.getBoundingClientRect())")
    page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    for kind in ("mousePressed", "mouseReleased"):  # what a browser sends after a tap
        page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def _no_serious_finding(page: Page) -> None:
    """Let axe-core look at the page, where OPENCODE_TUI_AXE names its file."""
    if not AXE:
        return
    page.value(Path(AXE).read_text(encoding="utf-8") + "; 1")
    found = page.value("axe.run().then(one => one.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html)]))")
    assert [one for one in found if one[0] in ("serious", "critical")] == [], found
