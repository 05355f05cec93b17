"""What the released OpenCode 2 documents beside its preview: nothing of it was tried with its programs."""

from typing import Any

import httpx
import pytest

from opencode_tui import __version__
from tests.support.opencode2.client import Newer

pytestmark = pytest.mark.slow


async def ask(http: httpx.AsyncClient, method: str, path: str, status: int, body: object = None, **params: str) -> Any:
    sent: dict[str, Any] = {} if body is None else {"json": body}
    got = await http.request(method, path, params=params, **sent)
    assert got.status_code == status, got.text
    return got.json() if got.content else None


async def test_a_session_is_renamed_forked_asked_about_and_removed(serve, project):
    async with serve() as face:
        newer = Newer(face.http)
        session_id = await newer.session()
        home = f"/api/session/{session_id}"
        await newer.say(session_id, '<<tool write {"path": "new.txt", "content": "one"}>>')
        second = await newer.say(session_id, "second")
        info = await ask(face.http, "GET", "/api/info", 200)
        await ask(face.http, "PATCH", home, 204, {"title": "named"})
        refused = await ask(face.http, "PATCH", home, 400, {"permissions": [{"action": "*", "effect": "allow"}]})
        named = (await newer.ask("GET", home))["data"]["title"]
        await ask(face.http, "POST", f"{home}/rename", 204, {"title": "again"})
        part = (await ask(face.http, "POST", f"{home}/fork", 200, {"before": second["id"]}))["data"]
        whole = (await ask(face.http, "POST", f"{home}/fork", 200, {}))["data"]
        missing = await ask(face.http, "POST", f"{home}/fork", 404, {"before": "msg_none"})
        copied = [len(await newer.messages(one["id"])) for one in (part, whole)]
        asked = await ask(face.http, "POST", f"{home}/generate", 200, {"prompt": "aside"})
        await newer.ask("POST", f"{home}/revert/stage", {"messageID": second["id"]})
        await ask(face.http, "DELETE", f"{home}/revert", 204)
        title = (await newer.ask("GET", home))["data"]
        kept = len(await newer.messages(session_id))
        await ask(face.http, "DELETE", home, 204)
        await ask(face.http, "DELETE", home, 404)
    assert newer.problems == []
    assert info["version"] == __version__ and info["pid"] > 0 and info["urls"][0].startswith("http")
    assert refused["_tag"] == "InvalidRequestError" and missing["_tag"] == "MessageNotFoundError"
    assert (named, title["title"], title.get("revert")) == ("named", "again", None)
    assert copied == [kept - 2, kept]
    assert "aside" in asked["data"]["text"]


async def test_a_prompt_in_its_form_waits_in_the_inbox_and_is_steered_or_canceled(serve):
    async with serve() as face:
        newer = Newer(face.http)
        session_id = await newer.session()
        home = f"/api/session/{session_id}"
        async with newer.events() as events:
            running = (await ask(face.http, "POST", f"{home}/prompt", 200, {"text": "<<slow 50>> <<words 2000>>"}))[
                "data"
            ]
            await events.until("session.next.text.started")
            file = {"uri": "data:text/plain;base64,aGk=", "name": "a.txt"}
            body = {"text": "later", "delivery": "queue", "files": [file]}
            queued = (await ask(face.http, "POST", f"{home}/prompt", 200, body))["data"]
            other = (await ask(face.http, "POST", f"{home}/prompt", 200, {"text": "no", "delivery": "queue"}))["data"]
            listed = (await ask(face.http, "GET", f"{home}/inbox", 200))["data"]
            await ask(face.http, "DELETE", f"{home}/inbox/{other['id']}", 204)
            await ask(face.http, "DELETE", f"{home}/inbox/{other['id']}", 204)
            gone = await ask(face.http, "PATCH", f"{home}/inbox/{other['id']}", 409, {"delivery": "steer"})
            await ask(face.http, "PATCH", f"{home}/inbox/{queued['id']}", 204, {"delivery": "queue"})
            left = (await ask(face.http, "GET", f"{home}/inbox", 200))["data"]
            stopped = await ask(face.http, "POST", f"{home}/interrupt", 200, resume="false")
        await ask(face.http, "POST", f"/api/experimental{home.removeprefix('/api')}/wait", 204)
        idle = await ask(face.http, "POST", f"{home}/interrupt", 200, resume="false")
        await ask(face.http, "POST", f"{home}/shell", 204, {"command": "echo from-the-shell"})
        await ask(face.http, "POST", f"{home}/command", 404, {"name": "no-such-command"})
        shown = str(await newer.messages(session_id))
    assert newer.problems == []
    assert (running["type"], running["payload"], running["delivery"]) == (
        "user",
        {"text": "<<slow 50>> <<words 2000>>"},
        "steer",
    )
    assert listed == [queued, other] and left == [queued]
    source = {"type": "inline"}
    assert queued["payload"]["files"] == [{"data": "aGk=", "mime": "text/plain", "source": source, "name": "a.txt"}]
    assert gone["_tag"] == "ConflictError"
    assert (stopped, idle) == ({"interrupted": True}, {"interrupted": False})
    assert "from-the-shell" in shown
