"""The websearch tool against a real server that speaks both APIs."""

import json
from collections.abc import Iterator
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace

from opencode_tui.engine.tool.builtin.websearch import WebsearchTool
from opencode_tui.engine.tool.search_service import BRAVE, SERVICES, TAVILY, SearchService, find_service
from opencode_tui.schema.error import RejectedError, ToolError
from tests.support.world.pages import Pages, serve
from tests.support.world.tools import Workbench

PAGES = [
    {"title": "A <strong>B</strong> &amp; C", "url": "https://a.example/x", "description": "one\n<b>two</b>"},
    {"title": None, "url": "https://b.example", "content": "three"},
    {"title": "bad", "url": "javascript:alert(1)", "description": "never"},
    "no object",
]


class Search(Pages):
    seen: ClassVar[list[dict[str, Any]]] = []
    reply: ClassVar[tuple[int, bytes]] = (200, b"{}")

    def do_GET(self) -> None:
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        self._answer({"query": query, "key": self.headers["X-Subscription-Token"]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer({"query": body, "key": self.headers["Authorization"]})

    def _answer(self, seen: dict[str, Any]) -> None:
        Search.seen.append(seen)
        status, body = Search.reply
        self.answer(status, "application/json", body)


@pytest.fixture
def url() -> Iterator[str]:
    Search.seen.clear()
    with serve(Search) as address:
        yield f"{address}/search"


@pytest.fixture
def bench(tmp_path):
    return Workbench(tmp_path)


def tool(service: SearchService, url: str) -> WebsearchTool:
    return WebsearchTool(lambda: replace(service, url=url, key="secret-key-1"))


def reply(status: int, value: object) -> None:
    Search.reply = (status, value if isinstance(value, bytes) else json.dumps(value).encode())


async def test_brave_is_asked_as_its_api_says_and_its_results_are_plain(bench, url):
    reply(200, {"web": {"results": PAGES}})
    done = await bench.call(tool(BRAVE, url), query="what\n is", numResults=5)
    sent = {"q": "what is", "count": "5", "text_decorations": "false"}
    assert Search.seen == [{"query": sent, "key": "secret-key-1"}]
    assert done.output == (
        "1. A B & C\n   https://a.example/x\n   one two\n\n2. (no title)\n   https://b.example\n   three"
    )
    assert (done.title, done.metadata["count"]) == ("what is", 2)
    assert done.metadata["results"][0] == {"title": "A B & C", "url": "https://a.example/x"}
    assert [(ask.permission, ask.patterns, ask.always) for ask in bench.asked] == [("websearch", ["what is"], ["*"])]


async def test_tavily_is_asked_as_its_api_says(bench, url):
    reply(200, {"results": PAGES})
    done = await bench.call(tool(TAVILY, url), query="x")
    sent = {"query": "x", "max_results": 8, "search_depth": "basic"}
    assert Search.seen == [{"query": sent, "key": "Bearer secret-key-1"}]
    assert done.output.startswith("1. A B & C\n")


async def test_nothing_is_sent_when_the_user_refuses(bench, url):
    bench.refused.add("websearch")
    with pytest.raises(RejectedError):
        await bench.call(tool(BRAVE, url), query="x")
    assert Search.seen == []


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, {"detail": {"error": "Unauthorized: bad secret-key-1"}}, "auth login brave"),
        (403, {"error": {"detail": "no"}}, "auth login brave"),
        (429, {"error": {"message": "slow down"}}, "slow down"),
        (432, {"detail": {"error": "plan limit"}}, "search quota reached"),
        (500, b"<html>", "failed (HTTP 500)"),
        (302, b"", "failed (HTTP 302)"),
        (200, b"<html>", "sent no JSON object"),
        (200, b"[]", "sent no JSON object"),
        (200, b"[" * 100_000, "sent no JSON object"),
        (200, b"x" * (3 << 20), "more than 2 MB"),
    ],
)
async def test_a_failure_names_the_service_and_the_remedy(bench, url, status, body, words):
    reply(status, body)
    with pytest.raises(ToolError) as raised:
        await bench.call(tool(BRAVE, url), query="x")
    assert words in str(raised.value) and "Brave Search" in str(raised.value)
    assert "secret-key-1" not in str(raised.value)


@pytest.mark.parametrize("body", [{}, {"web": None}, {"web": {"results": {}}}, {"web": {"results": []}}])
async def test_no_results_are_said(bench, url, body):
    reply(200, body)
    assert (await bench.call(tool(BRAVE, url), query="x")).output == "No results."


async def test_a_service_that_cannot_be_reached_is_said(bench):
    with pytest.raises(ToolError, match="cannot be reached"):
        await bench.call(tool(BRAVE, "http://127.0.0.1:9/"), query="x")


async def test_without_a_key_the_commands_are_named(bench):
    with pytest.raises(ToolError, match=r"auth login brave.*auth login tavily"):
        await bench.call(WebsearchTool(lambda: None), query="x")


@pytest.mark.parametrize(
    ("environ", "stored", "chosen", "found"),
    [
        ({}, {}, None, None),
        ({"BRAVE_API_KEY": "b"}, {}, None, ("brave", "b")),
        ({"TAVILY_API_KEY": "t"}, {}, "auto", ("tavily", "t")),
        ({"TAVILY_API_KEY": "t"}, {"brave": "s"}, None, ("brave", "s")),
        ({"BRAVE_API_KEY": "b"}, {"tavily": "s"}, "tavily", ("tavily", "s")),
        ({"BRAVE_API_KEY": "b"}, {}, "tavily", None),
    ],
)
def test_the_first_service_with_a_key_is_used(environ, stored, chosen, found):
    service = find_service(environ, stored.get, chosen)
    assert (service and (service.id, service.key)) == found
    assert [one.key for one in SERVICES] == ["", ""]
