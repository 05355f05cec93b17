"""Pages, searches, shares, lists and settings from servers that stall, break off or send a byte at a time."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace

from opencode_tui import network
from opencode_tui.config import well_known
from opencode_tui.engine.importing import export_file
from opencode_tui.engine.provider import local_servers, model_fetch
from opencode_tui.engine.provider.chatgpt import service
from opencode_tui.engine.session.request import instruction
from opencode_tui.engine.share import server as share_server
from opencode_tui.engine.sign_in import openrouter
from opencode_tui.engine.tool.builtin import websearch
from opencode_tui.engine.tool.builtin.webfetch import WebfetchTool
from opencode_tui.engine.tool.search_service import BRAVE
from opencode_tui.schema.error import OpencodeError, ToolError
from tests.support.faults.proxy import Fault, FaultProxy
from tests.support.world.pages import Pages, serve
from tests.support.world.tools import Workbench

SHORT_S = 0.4
"""Seconds that each of them has here."""

MUCH_S = 20
"""Seconds within which all end that have `SHORT_S`, on a machine with much work."""

FAULTS = (
    Fault("stall", "headers"),
    Fault("stall", "first"),
    Fault("drip", "headers", every_s=0.05),
    Fault("drip", "first", every_s=0.05),
    Fault("half_close", "first"),
    Fault("reset", "first"),
    Fault("garbage", "headers"),
    Fault("deaf"),
)


BODY = json.dumps({"text": "x" * 500}).encode()


class Site(Pages):
    """Answers with an object; `/hop/N` is a redirect to N - 1 after 0.2 s."""

    def do_GET(self) -> None:
        if self.path.startswith("/hop/"):
            time.sleep(0.2)
            self.answer(302, "application/json", BODY, {"Location": f"/hop/{int(self.path[5:]) - 1}"})
            return
        self.answer(200, "application/json", BODY)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.answer(200, "application/json", BODY)


@pytest.fixture
def site() -> Iterator[str]:
    with serve(Site) as url:
        yield f"{url}/"


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    (tmp_path / "project").mkdir()
    return Workbench(tmp_path / "project")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websearch, "_TIMEOUT_S", SHORT_S)
    monkeypatch.setattr(share_server, "REQUEST_S", SHORT_S)
    monkeypatch.setattr(model_fetch, "LIMIT_S", SHORT_S)
    monkeypatch.setattr(instruction, "FETCH_S", SHORT_S)
    monkeypatch.setattr(well_known, "FETCH_S", SHORT_S)
    monkeypatch.setattr(service, "_TIMEOUT_S", SHORT_S)
    monkeypatch.setattr(openrouter, "_TIMEOUT_S", SHORT_S)
    monkeypatch.setattr(export_file, "LIMIT_S", SHORT_S)


async def said(work: Awaitable[object]) -> str:
    """Return what a request says that fails."""
    try:
        result = await work
    except (OpencodeError, httpx.HTTPError, service.AnswerLostError, service.NotSentError) as error:
        return str(error) or type(error).__name__
    return str(result)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kind}-{fault.at}")
async def test_each_request_ends_in_time_with_one_line(
    bench: Workbench, site: str, short: None, tmp_path: Path, fault: Fault
) -> None:
    with FaultProxy(site, fault) as proxy:
        share = share_server.ShareServer(proxy.url)
        lists = model_fetch.ModelLists(cache=tmp_path, clock=lambda: 0)

        async def read_list() -> str:
            return "".join(await lists.refresh([model_fetch.ListSource(proxy.url)], is_forced=True))

        requests: dict[str, Callable[[], Awaitable[object]]] = {
            "webfetch": lambda: bench.call(WebfetchTool(), url=proxy.url, timeout=SHORT_S),
            "websearch": lambda: websearch._search(replace(BRAVE, url=proxy.url, key="k"), "query", 3),
            "share": lambda: share.create("ses_1"),
            "models": read_list,
            "instructions": lambda: instruction._fetch(proxy.url),
            "well-known": lambda: well_known.fetch(proxy.url),
            "blocking": lambda: asyncio.to_thread(network.fetch, "GET", proxy.url, limit_s=SHORT_S, most_bytes=9_999),
            "chatgpt": lambda: asyncio.to_thread(service.ask, proxy.url),
            "openrouter": lambda: asyncio.to_thread(openrouter._exchange, proxy.url, "code", "verifier"),
            "import": lambda: asyncio.to_thread(export_file._fetch, proxy.url),
        }
        async with asyncio.timeout(MUCH_S):
            found = dict(zip(requests, await asyncio.gather(*(said(one()) for one in requests.values())), strict=True))
        await share.close()
    assert found["instructions"] == "None"
    assert {name: text for name, text in found.items() if "\n" in text or not text} == {}
    assert "cannot be reached" in found["share"] and "cannot be used" in found["models"]
    assert "begin it again" in found["openrouter"] and "cannot read" in found["import"]
    assert "; " in found["webfetch"] and "; " in found["websearch"] and "; " in found["well-known"]


async def test_redirects_share_the_time_of_one_page(bench: Workbench, site: str) -> None:
    with pytest.raises(ToolError, match=r"took longer than 0\.7 s; try again with a longer `timeout`"):
        await bench.call(WebfetchTool(), url=f"{site}hop/9", timeout=0.7)


async def test_what_is_canceled_ends_at_once(bench: Workbench, site: str) -> None:
    with FaultProxy(site, Fault("stall", "first")) as proxy:
        began = float("inf")
        for _ in range(5):  # one of them is not delayed by other work of the machine
            task = asyncio.create_task(bench.call(WebfetchTool(), url=proxy.url))
            while proxy.faults == 0:
                await asyncio.sleep(0.01)
            start = time.monotonic()
            task.cancel()
            await asyncio.wait({task})
            began = min(began, time.monotonic() - start)
            assert task.cancelled()
        assert began < 0.3


@pytest.mark.parametrize(
    "fault", [Fault("stall", "headers"), Fault("drip", "first", every_s=0.05)], ids=["stall", "drip"]
)
async def test_a_local_server_without_an_answer_counts_as_absent(
    site: str, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    monkeypatch.setattr(local_servers, "_ANSWER_S", SHORT_S)
    with FaultProxy(site, fault) as proxy:
        servers = local_servers.LocalServers({}, ports={"ollama": proxy.port})
        async with asyncio.timeout(MUCH_S):
            assert await servers.refresh() == []
        assert proxy.faults > 0
