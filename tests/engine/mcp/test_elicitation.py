"""Questions of MCP servers: which call they belong to, and what is answered where no user can be asked."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.mcp.elicitation import ask_user
from opencode_tui.schema.error import QuestionDismissedError, ToolError
from opencode_tui.schema.record import JsonObject
from tests.engine.mcp.conftest import World
from tests.engine.mcp.sign_in_world import oauth_server, remote_servers
from tests.support.world.waiting import until

Asked = list[tuple[str, str, int]]


def asker(own: str, asked: Asked, all_asked: asyncio.Event, count: int) -> Any:
    async def elicit(params: JsonObject, calls: int) -> JsonObject:
        asked.append((own, params["message"], calls))
        if len(asked) == count:
            all_asked.set()
        await all_asked.wait()  # all calls are in flight together
        return {"action": "accept", "content": {"name": own}}

    return elicit


@pytest.mark.slow
async def test_a_question_over_http_goes_to_the_call_that_it_belongs_to(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    names = [f"call {number}" for number in range(6)]
    asked: Asked = []
    all_asked = asyncio.Event()
    with oauth_server(is_open=True) as server:
        async with remote_servers(tmp_path, environ, [], one={"url": server.mcp}) as servers:
            askers = {name: asker(name, asked, all_asked, len(names)) for name in names}
            calls = [servers.call("one", "ask", {"text": name}, elicit=askers[name]) for name in names]
            results = [json.loads(one["content"][0]["text"]) for one in await asyncio.gather(*calls)]
    assert sorted(asked) == [(name, name, 1) for name in names]
    assert [one["content"]["name"] for one in results] == names


@pytest.mark.slow
async def test_a_question_over_pipes_goes_to_the_newest_call_and_says_so(world: World, tmp_path: Path) -> None:
    end = tmp_path / "end"
    asked: Asked = []
    both = asyncio.Event()
    async with world.servers(one={}) as servers:
        await servers.connect("one")
        older = asyncio.create_task(servers.call("one", "wait", {"path": str(end)}, elicit=asker("a", asked, both, 1)))
        await until((tmp_path / "end.begun").exists)
        await servers.call("one", "ask", {}, elicit=asker("b", asked, both, 1))
        older.cancel()
        both.clear()
        await servers.call("one", "ask", {}, elicit=asker("c", asked, both, 2))
        end.touch()
    assert asked == [("b", "Who?", 2), ("c", "Who?", 1)]
    texts: list[str] = []

    async def answer(questions: Any) -> Any:
        texts.extend(one.question for one in questions)
        raise QuestionDismissedError

    for calls in (1, 3):
        await ask_user("one", {"message": "Who?", "requestedSchema": {}}, answer, calls=calls)
    assert "calls" not in texts[0]
    assert "works on 3 calls" in texts[1]


def form(required: list[str] | None = None, **defaults: Any) -> JsonObject:
    fields = {
        name: {"type": "string", **({} if value is None else {"default": value})} for name, value in defaults.items()
    }
    return {"message": "m", "requestedSchema": {"type": "object", "properties": fields, "required": required or []}}


DECLINED = {"action": "decline"}
UNATTENDED = [
    (form(a="x"), {"a": "x"}),
    (form(["a"], a="x"), {"a": "x"}),
    (form(a="x", b=None), {"a": "x"}),
    (form(["b"], a="x", b=None), None),
    (form(["missing"], a="x"), None),
    (form(a=None), None),
    (form(), None),
    (form(a=False, b=0, c="", d=[]), {"a": False, "b": 0, "c": "", "d": []}),
    (form(a=["one", "two"], b=1.5), {"a": ["one", "two"], "b": 1.5}),
    ({"message": "m"}, None),
    ({"message": "m", "requestedSchema": None}, None),
    ({"message": "m", "mode": "url", "url": "https://example.com"}, None),
    ({**form(a="x"), "mode": "url", "url": "https://example.com"}, None),
    ({**form(a="x"), "mode": "form"}, {"a": "x"}),
    ({"message": "m", "requestedSchema": {"properties": {"a": True, "b": {"default": "x"}}}}, {"b": "x"}),
    ({"message": "m", "requestedSchema": {"properties": ["a"]}}, None),
]


@pytest.mark.parametrize(("params", "content"), UNATTENDED)
async def test_without_a_user_a_form_is_answered_only_with_complete_defaults_and_only_if_that_is_set(
    params: JsonObject, content: JsonObject | None
) -> None:
    async def nobody(questions: Any) -> Any:
        raise ToolError("no user is present")

    wanted = DECLINED if content is None else {"action": "accept", "content": content}
    for ask in (None, nobody):
        assert await ask_user("one", params, ask) == DECLINED
        assert await ask_user("one", params, ask, use_defaults=True) == wanted


async def test_a_user_who_is_there_is_asked_and_a_dismissed_question_is_not_answered_with_defaults() -> None:
    async def dismiss(questions: Any) -> Any:
        raise QuestionDismissedError

    assert await ask_user("one", form(a="x"), dismiss, use_defaults=True) == {"action": "cancel"}
