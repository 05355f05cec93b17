"""What a client has the open screens do, and what it learns about the folder."""

import json

import pytest

from tests.support.share.server import recorded_server

CASES = [
    ("append-prompt", {"text": "typed"}, "tui.prompt.append", {"text": "typed"}),
    ("show-toast", {"message": "hi", "variant": "info"}, "tui.toast.show",
     {"message": "hi", "variant": "info", "duration": 5000.0}),
    ("execute-command", {"command": "agent_cycle"}, "tui.command.execute", {"command": "agent.cycle"}),
    ("open-help", None, "tui.command.execute", {"command": "help.show"}),
    ("publish", {"type": "tui.prompt.append", "properties": {"text": "x"}}, "tui.prompt.append", {"text": "x"}),
]  # fmt: skip


async def test_screens_are_told_by_events(serve):
    async with serve() as face, face.events() as events:
        for route, body, kind, properties in CASES:
            answer = await face.http.post(f"/tui/{route}", json=body)
            seen = await events.until(kind)
            assert (answer.json(), seen[-1]["properties"]) == (True, properties)


async def test_a_client_that_fetches_requests_gets_them_one_by_one(serve):
    async with serve() as face:
        async with face.http.stream("GET", "/tui/control/next") as waiting:
            for route, body, _, _ in CASES[:2]:
                await face.http.post(f"/tui/{route}", json=body)
            await face.http.post("/tui/open-help")
            first = json.loads(await waiting.aread())
        fetched = [first, *[(await face.http.get("/tui/control/next")).json() for _ in range(2)]]
        answered = (await face.http.post("/tui/control/response", json={"any": 1})).json()
    assert [one["path"] for one in fetched] == ["/tui/append-prompt", "/tui/show-toast", "/tui/open-help"]
    assert [one["body"] for one in fetched] == [CASES[0][1], CASES[1][1], None] and answered is True


async def test_a_server_that_ends_waits_for_no_fetch(serve):
    async with serve() as face, face.http.stream("GET", "/tui/control/next") as waiting:
        assert waiting.status_code == 200


async def test_only_a_session_that_exists_is_gone_to(serve):
    async with serve() as face, face.events() as events:
        session_id = await face.session()
        there = await face.http.post("/tui/select-session", json={"sessionID": session_id})
        nowhere = await face.http.post("/tui/select-session", json={"sessionID": "ses_none"})
        other = await face.http.post("/tui/select-session", json={"sessionID": "nonsense"})
        seen = await events.until("tui.session.select")
    assert other.status_code == 400
    assert (there.json(), nowhere.status_code, seen[-1]["properties"]) == (True, 404, {"sessionID": session_id})


async def test_only_events_of_the_screen_can_be_published_and_only_with_json(serve):
    bodies = [{"type": "session.deleted", "properties": {}}, {"type": "tui.toast.show", "properties": {}}]
    async with serve() as face:
        answers = [await face.http.post("/tui/publish", json=body) for body in bodies]
        async with face.events() as events:
            refused = [await face.http.post("/tui/open-help", content=text) for text in (b"{", b"\xff")]
            await face.http.post("/tui/append-prompt", json={"text": "x"})
            seen = await events.until("tui.prompt.append")
    assert [(answer.status_code, answer.json()["name"]) for answer in refused] == [(400, "BadRequest")] * 2
    assert "tui.command.execute" not in [event["type"] for event in seen]
    assert [(answer.status_code, answer.json()["success"]) for answer in answers] == [(400, False)] * 2


@pytest.mark.slow
async def test_tools_come_with_their_schemas_and_services_that_are_not_there_are_empty(serve):
    async with serve() as face:
        tools = (await face.http.get("/experimental/tool", params={"provider": "fake", "model": "fake-model"})).json()
        names = (await face.http.get("/experimental/tool/ids")).json()
        empty = [(await face.http.get(path)).json() for path in ("/mcp", "/experimental/resource", "/lsp")]
        formatters = (await face.http.get("/formatter")).json()
        auth = (await face.http.get("/provider/auth")).json()
        logged = await face.http.post("/log", json={"service": "x", "level": "info", "message": "m"})
    assert names == [tool["id"] for tool in tools] and {"bash", "read", "edit", "task"} <= set(names)
    assert all(tool["description"] and tool["parameters"]["type"] == "object" for tool in tools)
    assert {"ruff", "prettier"} < {one["name"] for one in formatters} and not any(one["enabled"] for one in formatters)
    assert empty == [{}, {}, []] and auth["openai"] == [{"type": "api", "label": "API key"}]
    assert logged.json() is True


async def test_sharing_without_a_server_is_refused_with_a_way_out(serve):
    async with serve() as face:
        session_id = await face.session()
        answers = [await face.http.request(method, f"/session/{session_id}/share") for method in ("POST", "DELETE")]
        status = (await face.http.get("/opencode-tui/share")).json()
    assert [answer.status_code for answer in answers] == [400, 200]
    assert "export" in answers[0].json()["data"]["message"] and "export" in status["obstacle"]


@pytest.mark.slow
async def test_a_session_is_shared_and_unshared_as_in_opencode(serve, tmp_path):
    async with recorded_server(tmp_path) as server, serve(settings={"enterprise": {"url": server.url}}) as face:
        session_id = await face.session()
        async with face.events() as events:
            shared = (await face.http.post(f"/session/{session_id}/share")).json()
            seen = (await events.until("session.updated"))[-1]["properties"]["info"]
        assert seen["share"] == shared["share"] and list(shared["share"]) == ["url"]
        assert [item["type"] for item in await server.data(shared["share"]["url"])] == ["session", "session_diff"]
        status = (await face.http.get("/opencode-tui/share")).json()
        assert status == {"server": server.url, "isKnown": True}
        assert "share" not in (await face.http.delete(f"/session/{session_id}/share")).json()
        assert await server.data(shared["share"]["url"]) == []
        assert (await face.http.post("/session/ses_none/share")).status_code == 404
