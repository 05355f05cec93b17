"""MCP servers over pipes, and of the official SDK over HTTP, that stall, break off or send nonsense: calls fail in time."""

import asyncio
import re
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.config.settings.settings import McpLocalSettings, McpRemoteSettings
from opencode_tui.engine.mcp.lists import McpError
from opencode_tui.engine.mcp.server import NOT_ANSWERING
from opencode_tui.engine.mcp.servers import McpServers
from tests.faults.conftest import CANCEL_S, quickest
from tests.support.faults import pipe
from tests.support.faults.proxy import At, Fault, FaultProxy, Kind, never_accepting
from tests.support.mcp import sdk_server
from tests.support.mcp import server as small_server
from tests.support.mcp.world import server_world
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import opened
from tests.support.world.stopwatch import Stopwatch
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


SHORT_S = 0.3
"""Seconds for an answer that does not come."""

KINDS: tuple[Kind, ...] = ("stall", "drip", "half_close", "reset", "garbage")

LARGE = "x" * 4_000_000


@asynccontextmanager
async def served(environ: dict[str, str], folder: Path, entry: Any) -> AsyncGenerator[McpServers]:
    """Yield a folder's servers: one, `far`."""
    world = server_world(folder, environ)
    servers = McpServers({"far": entry}, world, clock=lambda: 1_000, publish=lambda event: None)
    try:
        yield servers
    finally:
        watch = Stopwatch()
        await servers.close()
        assert watch.seconds < 10


def behind_pipes(control: Path) -> McpLocalSettings:
    """Return a server whose pipes break as the file says."""
    program = [sys.executable, "-S", pipe.__file__, str(control), sys.executable, "-S", small_server.__file__]
    return McpLocalSettings(type="local", command=program)


async def echo(servers: McpServers, text: str = "hello", limit_s: float = 60) -> str:
    """Return the answer of the tool; a lost connection is made again at the next call."""
    result = await servers.call("far", "echo", {"text": text}, limit_s=limit_s)
    return str(result["content"][0]["text"])


async def failure_of(servers: McpServers) -> str:
    """Return the message of a call that fails, all lines but those of the server's output."""
    with pytest.raises(McpError) as failed:
        await echo(servers, limit_s=SHORT_S)
    return str(failed.value).partition(" Its last output:\n")[0]


async def time_of_cancellation(servers: McpServers, text: str = "hello") -> float:
    call = asyncio.create_task(echo(servers, text))
    await asyncio.sleep(0.1)
    assert not call.done()
    watch = Stopwatch()
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call
    return watch.seconds


async def recover(servers: McpServers) -> None:
    """Assert that calls succeed again, at the latest after a restart, as the message of a call without an answer advises."""
    try:
        servers.get("far").enable()
        await echo(servers, limit_s=5)
    except McpError:
        await servers.restart("far")
    assert await echo(servers) == "hello"


async def test_a_server_over_pipes_that_breaks_fails_its_calls_in_time_and_serves_the_next(
    environ: dict[str, str], tmp_path: Path
) -> None:
    control = tmp_path / "fault"
    async with served(environ, tmp_path, behind_pipes(control)) as servers:
        assert await echo(servers) == "hello"
        for kind in ("stall", "drip", "garbage", "deaf", "close", "exit"):
            control.write_text(kind)
            message = await failure_of(servers)
            assert "far" in message and "\n" not in message, kind
            assert re.search(r"; (set a longer|the next call|restart)", message), (kind, message)
            if kind in ("stall", "garbage", "deaf"):

                async def measure() -> float:
                    return await time_of_cancellation(servers)

                assert await quickest(measure) < CANCEL_S, kind
            control.unlink()
            await recover(servers)


async def test_a_server_over_pipes_that_stops_answering_is_named_until_it_answers(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opencode_tui.engine.mcp.server.PING_S", 0.2)
    control = tmp_path / "fault"
    async with served(environ, tmp_path, behind_pipes(control)) as servers:
        assert await echo(servers) == "hello"
        control.write_text("stall")
        assert "did not answer in time" in await failure_of(servers)
        async with asyncio.timeout(PATIENCE_S):
            while servers.status()[0].error is None:
                await asyncio.sleep(0.01)
        found = servers.status()[0]
        assert (found.state, found.error) == ("connected", NOT_ANSWERING)
        assert found.opencode_status()["status"] == "failed"
        control.unlink()
        async with asyncio.timeout(PATIENCE_S):
            while servers.status()[0].error is not None:
                await asyncio.sleep(0.01)
        assert await echo(servers) == "hello"


@pytest.mark.parametrize("kind", ["stall", "drip", "garbage", "close", "deaf"])
async def test_a_server_of_the_sdk_over_pipes_that_breaks_ends_its_waits_in_time(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    control = tmp_path / "fault"
    program = [sys.executable, "-S", pipe.__file__, str(control), sys.executable, sdk_server.__file__, "stdio"]
    entry = McpLocalSettings(type="local", command=program)
    async with served(environ, tmp_path, entry) as servers:
        assert await echo(servers) == "hello"
        control.write_text(kind)
        assert "far" in await failure_of(servers)
        control.unlink()
        await recover(servers)
    monkeypatch.setattr("opencode_tui.engine.mcp.server.START_S", 0.5)
    control.write_text(kind)
    async with served(environ, tmp_path, entry) as servers:
        assert "cannot be used: it " in await failure_of(servers)


async def test_a_call_that_the_server_does_not_read_is_canceled_at_once(
    environ: dict[str, str], tmp_path: Path
) -> None:
    control = tmp_path / "fault"
    async with served(environ, tmp_path, behind_pipes(control)) as servers:
        assert await echo(servers) == "hello"
        control.write_text("deaf")

        async def measure() -> float:
            return await time_of_cancellation(servers, LARGE)

        assert await quickest(measure) < CANCEL_S
        assert "did not answer in time" in await failure_of(servers)


async def test_a_server_over_pipes_that_does_not_start_has_a_deadline(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opencode_tui.engine.mcp.server.START_S", 0.5)
    control = tmp_path / "fault"
    control.write_text("stall")
    program = [sys.executable, "-S", pipe.__file__, str(control), sys.executable, "-S", small_server.__file__]
    async with served(environ, tmp_path, McpLocalSettings(type="local", command=program)) as servers:
        assert "it did not start within 0.5 s" in await failure_of(servers)
        assert servers.status()[0].error == "it did not start within 0.5 s"


@pytest.fixture(params=["streamable-http", "sse"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a server of the SDK."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = (tmp_path / "server.log").open("wb")
    process = subprocess.Popen(
        [sys.executable, sdk_server.__file__, request.param, str(port)],
        stdout=log,
        stderr=log,
        stdin=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/{'mcp' if request.param == 'streamable-http' else 'sse'}"
    finally:
        process.kill()
        process.wait()
        log.close()


async def test_a_server_over_http_that_breaks_fails_its_calls_in_time_and_serves_the_next(
    environ: dict[str, str], tmp_path: Path, address: str
) -> None:
    with FaultProxy(address) as proxy:
        async with served(environ, tmp_path, McpRemoteSettings(type="remote", url=proxy.url, oauth=False)) as servers:
            assert await echo(servers) == "hello"
            where: At = "stream" if address.endswith("/sse") else "headers"
            for fault in (*(Fault(kind, where) for kind in KINDS), Fault("stall", "first"), Fault("garbage", "first")):
                if where == "stream" and fault.at == "first":
                    continue  # answers come on the stream
                proxy.fault = fault
                message = await failure_of(servers)
                assert "far" in message and "\n" not in message, fault
                proxy.fault = None
                await recover(servers)
            proxy.fault = Fault("stall", where)

            async def measure() -> float:
                return await time_of_cancellation(servers)

            assert await quickest(measure) < CANCEL_S


async def test_a_server_over_http_that_does_not_start_has_a_deadline(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opencode_tui.engine.mcp.server.START_S", 0.5)
    with never_accepting() as nobody:
        async with served(
            environ, tmp_path, McpRemoteSettings(type="remote", url=f"{nobody}/mcp", oauth=False)
        ) as servers:
            assert "it did not start within 0.5 s" in await failure_of(servers)
            assert await quickest(lambda: time_of_cancellation(servers)) < CANCEL_S


async def test_a_search_for_tools_waits_for_a_server_that_does_not_start_until_its_deadline(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opencode_tui.engine.mcp.tools.WAIT_S", SHORT_S)
    settings = {"mcp": {"far": {"type": "local", "command": ["sleep", "3600"]}}, "permission": "allow"}
    call = Answer(calls=(Call("mcp_search", {"query": "echo"}),))
    async with opened(environ, tmp_path, call, Answer(text="went on"), settings=settings) as world:
        session = await world.prompt("look")
        [found] = await world.calls(session)
        assert found.state.status == "completed" and "far" in found.state.output
        assert await world.answer(session) == "went on"


FLOODS = {
    "words": "y\n",
    "empty lines": "\n",
    "one endless line": "y",
    "answers to nothing": '{"jsonrpc":"2.0","id":999,"result":{}}\n',
    "notifications": '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n',
    "requests": '{"jsonrpc":"2.0","id":7,"method":"roots/list"}\n',
    "questions": '{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"x","requestedSchema":{}}}\n',
}


@pytest.mark.parametrize("output", ["stdout", "stderr"])
@pytest.mark.parametrize("text", FLOODS.values(), ids=FLOODS)
async def test_a_server_that_floods_its_output_is_left_and_ended_at_once(
    environ: dict[str, str], tmp_path: Path, text: str, output: str
) -> None:
    command = [sys.executable, "-S", small_server.__file__]
    entry = McpLocalSettings(type="local", command=command, environment={"RAW": "1"})

    async def measure() -> float:
        async with served(environ, tmp_path, entry) as servers:
            await servers.connect("far")
            call = asyncio.create_task(servers.call("far", "flood", {"text": text, "output": output}))
            await asyncio.sleep(0.5)
            watch = Stopwatch()
            call.cancel()
            await asyncio.wait({call})
            await servers.disconnect("far")
            return watch.seconds

    assert await quickest(measure) < 2 * CANCEL_S  # the call, then the server
