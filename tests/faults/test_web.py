"""Pages, searches, shares, lists and settings from servers that stall, break off or send a byte at a time."""

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace

from opencode_tui import network
from opencode_tui.config import well_known
from opencode_tui.engine import newest_version
from opencode_tui.engine.provider import local_servers, model_fetch, trial
from opencode_tui.engine.provider.chatgpt import service
from opencode_tui.engine.session.request import instruction
from opencode_tui.engine.share import server as share_server
from opencode_tui.engine.share import shares
from opencode_tui.engine.sign_in import openrouter
from opencode_tui.engine.tool.builtin import websearch
from opencode_tui.engine.tool.builtin.webfetch import WebfetchTool
from opencode_tui.engine.tool.search_service import BRAVE
from opencode_tui.extras.importing import export_file
from opencode_tui.schema.error import OpencodeError, ToolError
from opencode_tui.storage.paths import find_paths
from tests.faults.conftest import CANCEL_S, quickest
from tests.support.faults.proxy import Fault, FaultProxy
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import provider_config
from tests.support.share.server import recorded_server
from tests.support.world.cli import CommandLine
from tests.support.world.distribution import installed
from tests.support.world.engine import opened
from tests.support.world.in_process import in_process
from tests.support.world.pages import Pages, serve
from tests.support.world.stopwatch import Stopwatch
from tests.support.world.tools import Workbench
from tests.support.world.waiting import until

pytestmark = pytest.mark.slow


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


async def test_a_share_server_that_stalls_delays_no_turn_and_gets_the_changes_later(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "MAX_WAIT_S", SHORT_S)
    answers = (Answer(text="first answer"), Answer(text="second answer"))
    async with recorded_server(tmp_path) as server:
        with FaultProxy(server.url) as proxy:
            async with opened(environ, tmp_path, *answers, settings={"enterprise": {"url": proxy.url}}) as world:
                session = await world.prompt("first")
                shared = await world.client.sharing.share(session.id)
                proxy.fault = Fault("stall", "headers")
                with monkeypatch.context() as stalled:  # a busy machine needs longer for a request that succeeds
                    stalled.setattr(share_server, "REQUEST_S", SHORT_S)
                    await world.prompt("second", session=session)
                    assert await world.answer(session) == "second answer"
                    assert dict(await world.client.prompts.status()) == {}
                    await until(lambda: proxy.faults > 1)  # tried again
                proxy.fault = None
                assert shared.share is not None
                await server.until(shared.share.url, "second answer")


async def test_a_share_that_is_canceled_ends_at_once(environ: dict[str, str], tmp_path: Path) -> None:
    async with recorded_server(tmp_path) as server:
        with FaultProxy(server.url, Fault("stall", "headers")) as proxy:
            share = share_server.ShareServer(proxy.url)

            async def measure() -> float:
                before = proxy.faults
                task = asyncio.create_task(share.create("ses_1"))
                await until(lambda: proxy.faults > before)
                watch = Stopwatch()
                task.cancel()
                await asyncio.wait({task})
                assert task.cancelled()
                return watch.seconds

            assert await quickest(measure) < CANCEL_S
            await share.close()


def test_a_provider_that_stalls_in_doctor_is_listed_with_the_reason(
    site: str,
    monkeypatch: pytest.MonkeyPatch,
    environ: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for limit_s in (SHORT_S, 10 * SHORT_S, 30.0):  # until the machine is quick enough to send the request in time
        monkeypatch.setattr(trial, "LIMIT_S", limit_s)
        with FaultProxy(site, Fault("stall", "headers")) as proxy:
            line = CommandLine(tmp_path, environ, provider=provider_config(proxy.url))
            done = in_process(line, monkeypatch, capsys).run("doctor", "--online")
        if proxy.faults > 0:
            break
    assert proxy.faults > 0
    assert "✗ fake" in done.stdout and f"{limit_s:g} s" in done.stdout


async def test_a_share_server_that_stalls_does_not_keep_the_folder_from_closing(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "CLOSE_S", SHORT_S)
    answers = (Answer(text="first answer"), Answer(text="second answer"))
    async with recorded_server(tmp_path) as server:
        with FaultProxy(server.url) as proxy:
            settings = {"enterprise": {"url": proxy.url}}
            async with opened(environ, tmp_path, *answers, settings=settings) as world:
                session = await world.prompt("first")
                shared = await world.client.sharing.share(session.id)
                proxy.fault = Fault("stall", "headers")
                await world.prompt("second", session=session)
                # before the folder is closed: a busy machine sends nothing in the short time that closing has
                await until(lambda: proxy.faults > 0)
            proxy.fault = None
            async with opened(environ, tmp_path, settings=settings):
                assert shared.share is not None
                await server.until(shared.share.url, "second answer")


async def test_an_index_of_packages_that_stalls_is_no_newer_version(
    site: str, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newest_version, "LIMIT_S", SHORT_S)
    paths = find_paths(environ)
    with FaultProxy(site, Fault("stall", "headers")) as proxy:
        given = {**environ, "PIP_INDEX_URL": proxy.url, "PIP_CONFIG_FILE": os.devnull}
        found = installed(tmp_path / "site")
        assert await newest_version.find_newer(paths, given, lambda: newest_version.CHECK_EVERY_MS * 100, found) == ""
