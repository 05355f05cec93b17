"""One engine for several clients of a folder: who has it, and what happens when it ends."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from opencode_tui.cli.engine_access import serve_terminals
from opencode_tui.client import join, shared, thread
from opencode_tui.client.client import Client, EventReader
from opencode_tui.client.join import engine_key, join_engine
from opencode_tui.client.local import LocalClients
from opencode_tui.client.shared import SharedClient, open_shared
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.error import ConfigError, LinkLostError, OpencodeError
from opencode_tui.schema.event.event import BusLagged, SessionIdle
from opencode_tui.schema.event.screen_event import ScreenToastShown
from opencode_tui.schema.model import ModelRef
from opencode_tui.storage.engine_claim import EngineClaim, live_engines, short_path
from opencode_tui.storage.paths import Paths, find_paths
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.cli import CommandLine
from tests.support.world.waiting import PATIENCE_S, suspend, until

MODEL = ModelRef(provider_id="fake", model_id="fake-model")


def request(text: str) -> PromptInput:
    return PromptInput(model=MODEL, parts=[TextInput(text=text)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def variables(environ: dict[str, str], model: ModelServer) -> dict[str, str]:
    return {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps({"provider": model.config()})}


@asynccontextmanager
async def opened(variables: Mapping[str, str], folder: Path) -> AsyncGenerator[Client]:
    async with open_shared(variables, folder, serve=serve_terminals) as client:
        yield client


async def texts(client: Client, session_id: str) -> list[str]:
    messages = await client.messages.list(session_id)
    return [part.text for message in messages for part in message.parts if part.type == "text"]


async def next_reason(events: EventReader) -> str:
    """Wait for a sentence about the engine."""
    async for envelope in events:
        match envelope.event:
            case BusLagged(reason=reason) if reason:
                return reason
            case ScreenToastShown(message=message):
                return message
            case _:
                pass
    raise AssertionError("the events have ended")


async def test_the_first_has_the_engine_and_counts_the_others(variables: dict[str, str], folder: Path):
    async with opened(variables, folder) as first:
        assert (first.ends_runs, first.terminals) == (True, 0)
        async with opened(variables, folder) as second:
            assert (second.ends_runs, second.terminals, first.terminals) == (False, 0, 1)
            assert second.directory == first.directory == folder
            with second.events() as events:
                assert f"(process {os.getpid()})" in await next_reason(events)


async def test_each_gets_the_events_of_the_others_turns(variables: dict[str, str], folder: Path):
    async with opened(variables, folder) as first, opened(variables, folder) as second:
        for sender, watcher in ((first, second), (second, first)):
            session = await sender.sessions.create(CreateSession())
            with watcher.events() as events:
                await sender.prompts.prompt(session.id, request("hello"))
                async for envelope in events:
                    if isinstance(envelope.event, SessionIdle):
                        break
            assert await texts(watcher, session.id) == ["hello", "Echo: hello"]


async def test_when_the_first_ends_the_next_one_has_the_engine(variables: dict[str, str], folder: Path):
    async with AsyncExitStack() as stack, AsyncExitStack() as first_stack:
        first = await first_stack.enter_async_context(opened(variables, folder))
        second = await stack.enter_async_context(opened(variables, folder))
        third = await stack.enter_async_context(opened(variables, folder))
        session = await first.sessions.create(CreateSession())
        with second.events() as events, third.events() as others:
            for reader in (events, others):
                assert "Shared live" in await next_reason(reader)
            await first_stack.aclose()
            reasons = await asyncio.gather(next_reason(events), next_reason(others))
        assert sorted(reasons) == [
            f"The other terminal closed. Now shared with process {os.getpid()}.",
            "The other terminal closed. This one took over.",
        ]
        assert sorted([second.ends_runs, third.ends_runs]) == [False, True]
        await second.prompts.prompt(session.id, request("go on"))
        assert await texts(third, session.id) == ["go on", "Echo: go on"]


async def test_calls_wait_for_the_next_engine(variables: dict[str, str], folder: Path):
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(opened(variables, folder))
        async with opened(variables, folder) as second:
            closing = asyncio.create_task(stack.aclose())
            while not closing.done():
                assert await second.sessions.list() == []
            await closing
            assert await second.sessions.list() == []


@dataclass
class Relay:
    """Between an engine and its terminals: closes the connections on which a request begins as `loses` says."""

    target: str
    loses: bytes = b""
    lost: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, requests = await asyncio.open_unix_connection(self.target)
        back = asyncio.create_task(self._pass_on(answers, writer))
        while data := await reader.read(65_536):
            if self.loses and data.startswith(self.loses):
                self.lost += 1
                break
            requests.write(data)
        for side in (requests, writer):
            side.close()
        await back

    async def _pass_on(self, answers: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await answers.read(65_536):
            writer.write(data)
        writer.close()


async def test_a_read_that_is_lost_while_the_engine_goes_on_is_sent_again(
    variables: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shared, "_AGAIN_S", 0.05)
    async with opened(variables, folder) as first:
        assert isinstance(first, SharedClient) and first._claim is not None and first._record is not None
        path = f"{first._record.socket}.relay"
        with short_path(first._record.socket) as target, short_path(path) as short:
            relay = Relay(target)
            async with await asyncio.start_unix_server(relay.serve, short):
                first._claim.publish(replace(first._record, socket=path))
                async with opened(variables, folder) as second:
                    made = await second.sessions.create(CreateSession())
                    relay.loses = b"GET /opencode-tui/session"
                    reading = asyncio.create_task(second.sessions.list())
                    await until(lambda: relay.lost >= 2)
                    relay.loses = b""
                    assert [one.id for one in await reading] == [made.id]
                    assert (second.ends_runs, first.terminals) == (False, 1)
                    relay.loses = b"POST "
                    with pytest.raises(LinkLostError):  # it may have been done
                        await second.sessions.create(CreateSession())


@pytest.mark.slow
async def test_a_folder_that_one_opens_again_is_open_for_all(variables: dict[str, str], folder: Path):
    async with opened(variables, folder) as first, opened(variables, folder) as second:
        (folder / "opencode.json").write_text('{"agent": {"helper": {"description": "new", "mode": "primary"}}}')
        for client in (first, second):
            await client.reopen()
            for other in (first, second):
                assert "helper" in {agent.name for agent in await other.catalog.agents()}
                session = await other.sessions.create(CreateSession())
                await other.prompts.prompt(session.id, request("hello"))


@pytest.mark.slow
async def test_twelve_that_start_at_once_have_one_engine(variables: dict[str, str], folder: Path):
    async with AsyncExitStack() as stack:
        clients = await asyncio.gather(*(stack.enter_async_context(opened(variables, folder)) for _ in range(12)))
        assert sum(client.ends_runs for client in clients) == 1
        sessions = await asyncio.gather(*(client.sessions.create(CreateSession()) for client in clients))
        for client in clients:
            assert {one.id for one in await client.sessions.list()} == {one.id for one in sessions}


async def test_what_keeps_the_first_engine_from_opening_is_raised(environ: dict[str, str], folder: Path):
    variables = {**environ, "OPENCODE_CONFIG_CONTENT": '{"model": 3}'}
    for _ in range(2):
        with pytest.raises(ConfigError, match="model"):
            async with opened(variables, folder):
                pass


@pytest.mark.parametrize(
    "other",
    [{"OPENCODE_DISABLE_PRUNE": "1"}, {"ANTHROPIC_API_KEY": "k"}, {"XDG_CONFIG_HOME": "/nowhere"}],
    ids=["setting", "key", "folder-of-settings"],
)
def test_who_has_other_settings_has_another_engine(other: dict[str, str], environ: dict[str, str], folder: Path):
    def key(variables: dict[str, str]) -> str:
        return engine_key(find_paths(variables), folder, variables)

    assert key({**environ, "TMUX_PANE": "%1", "OPENCODE_SERVER_PASSWORD": "p"}) == key(environ)
    assert key({**environ, **other}) != key(environ)


SILENT = """
import os, sys, time
from opencode_tui.storage.engine_claim import *
from opencode_tui.storage.paths import find_paths
from opencode_tui.storage.process_identity import current_process
paths = find_paths(os.environ)
claim = EngineClaim(paths, sys.argv[1])
while not claim.try_acquire():
    time.sleep(0.01)
opened, path = open_terminal_socket(paths, "silent")
if sys.argv[2] == "responds later":
    claim.publish(EngineRecord(current_process(), "/src", path, "secret"))
print("ready", flush=True)
time.sleep(600)
"""


@asynccontextmanager
async def silent(
    variables: Mapping[str, str], folder: Path, paths: Paths, state: str = "responds later"
) -> AsyncGenerator[subprocess.Popen[str]]:
    """Yield a process that has the claim, and whose socket says nothing; in the state "opens" it has no record yet."""
    words = [sys.executable, "-c", SILENT, engine_key(paths, folder, variables), state]
    with subprocess.Popen(
        words, env={**variables, "PYTHONPATH": os.getcwd()}, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


@pytest.mark.slow
async def test_one_that_is_suspended_is_named_and_not_waited_for(variables: dict[str, str], folder: Path, paths: Paths):
    async with silent(variables, folder, paths) as process:
        suspend(process)
        async with opened(variables, folder) as client:
            assert client.ends_runs
            with client.events() as events:
                reason = await next_reason(events)
            assert reason == f"Process {process.pid} has this folder open and is suspended: not shared live."
            session = await client.sessions.create(CreateSession())
            await client.prompts.prompt(session.id, request("hello"))
        async with join_engine(variables, folder) as joined:
            assert joined is None


@pytest.mark.slow
async def test_one_that_is_alive_and_does_not_respond_is_named_and_waited_for_until_it_dies(
    variables: dict[str, str], folder: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
):
    for module in (shared, join):  # several attempts to connect
        monkeypatch.setattr(module, "PATIENCE_S", 0.2)
    named: list[int | None] = []

    async def opens() -> bool:
        async with open_shared(variables, folder, serve=serve_terminals, waits=named.append) as client:
            return client.ends_runs

    async def joins() -> bool:
        async with join_engine(variables, folder, waits=named.append) as client:
            return client is not None

    async with silent(variables, folder, paths) as process:
        opening, joining, left = (asyncio.create_task(one()) for one in (opens, joins, opens))
        await until(lambda: len(named) == 3)
        assert named == [process.pid] * 3
        left.cancel()  # as by ctrl+c
        await asyncio.wait({left})
        assert not opening.done() and not joining.done()
        process.kill()
        assert not await joining or await opening  # there is none, or already that of the other one
        assert await opening


@pytest.mark.slow
async def test_one_that_is_alive_and_never_responds_ends_the_wait_with_what_to_do(
    variables: dict[str, str], folder: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
):
    for module in (shared, join):
        monkeypatch.setattr(module, "PATIENCE_S", 0.1)
        monkeypatch.setattr(module, "WAIT_S", 0.3)
    async with silent(variables, folder, paths) as process:
        remedy = rf"the engine of .*work \(process {process.pid}\) did not answer .*`kill {process.pid}`"
        with pytest.raises(OpencodeError, match=remedy):
            async with opened(variables, folder):
                pass
        with pytest.raises(OpencodeError, match=remedy):
            async with join_engine(variables, folder):
                pass
        assert process.poll() is None
        assert [record.process.pid for record in live_engines(paths)] == [process.pid]


@pytest.mark.slow
async def test_a_screen_that_has_had_an_engine_waits_on_for_one_that_never_responds(
    variables: dict[str, str], folder: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shared, "PATIENCE_S", 0.1)
    monkeypatch.setattr(shared, "WAIT_S", 0.0)
    screen = SharedClient(variables, folder, serve_terminals)
    async with silent(variables, folder, paths) as process:
        (screen._previous,) = live_engines(paths)
        keeping = asyncio.create_task(screen.keep())
        done, _ = await asyncio.wait({keeping}, timeout=1)  # ten looks, each after the limit
        assert not done
        process.kill()
        process.wait()
        client = await asyncio.wait_for(screen.after(None), PATIENCE_S)
        assert (await client.sessions.list()) == []
        screen.leave()
        await keeping


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/locks"), reason="the system does not say who holds a lock")
async def test_one_that_never_ends_to_open_is_named_although_it_has_no_record(
    variables: dict[str, str], folder: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shared, "WAIT_S", 0.1)
    async with silent(variables, folder, paths, "opens") as process:
        with pytest.raises(OpencodeError, match=rf"\(process {process.pid}\) did not answer .*`kill {process.pid}`"):
            async with opened(variables, folder):
                pass


@pytest.mark.slow
async def test_a_terminal_goes_on_once_the_process_ends_that_kept_the_next_engine_from_it(
    variables: dict[str, str], folder: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
):
    has_lost = threading.Event()

    def acquire_late(_claim: EngineClaim) -> bool:
        return not has_lost.wait(PATIENCE_S)

    async with AsyncExitStack() as first:
        await first.enter_async_context(opened(variables, folder))
        async with opened(variables, folder) as second:
            for module in (shared, join):
                monkeypatch.setattr(module, "PATIENCE_S", 0.1)
                monkeypatch.setattr(module, "WAIT_S", 0.3)
            with second.events() as events:
                assert "Shared live" in await next_reason(events)
                with monkeypatch.context() as patched:
                    patched.setattr(EngineClaim, "try_acquire", acquire_late)
                    await first.aclose()
                    async with silent(variables, folder, paths) as process:
                        patched.undo()
                        has_lost.set()
                        remedy = rf"\(process {process.pid}\) did not answer .*`kill {process.pid}`"
                        said = await next_reason(events)
                        assert re.search(remedy, said), said
                        for _ in range(2):
                            with pytest.raises(LinkLostError, match=remedy):
                                await second.sessions.list()
                assert await next_reason(events) == "The other terminal closed. This one took over."
            assert await second.sessions.list() == [] and second.ends_runs


class LosingClient:
    """A client whose engine ends before it has a call."""

    def __init__(self) -> None:
        self.sessions = self

    async def list(self) -> None:
        raise LinkLostError("the engine is ending", is_repeatable=True)


@pytest.mark.parametrize("follow", [True, False], ids=["each-is-lost", "none-follows"])
async def test_a_call_that_every_engine_loses_ends_with_what_to_do(
    variables: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch, follow: bool
):
    monkeypatch.setattr(shared, "WAIT_S", 0.1)

    async def after(_self: SharedClient, client: Client | None) -> LosingClient:
        await asyncio.sleep(0)
        if client is not None and not follow:
            await asyncio.Event().wait()
        return LosingClient()

    monkeypatch.setattr(SharedClient, "after", after)
    client = cast("Client", SharedClient(variables, folder, serve_terminals))
    with pytest.raises(LinkLostError, match=r"did not open the engine of .*work within .* try again") as caught:
        async with asyncio.timeout(PATIENCE_S):
            await client.sessions.list()
    assert str(caught.value.__cause__) == "the engine is ending"


@pytest.mark.slow
async def test_an_engine_that_ends_late_releases_the_folder_although_its_process_lives(
    variables: dict[str, str], folder: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(thread, "CLOSE_LIMIT_S", 0.1)
    go_on = threading.Event()

    @asynccontextmanager
    async def serve_and_hang(
        clients: LocalClients, listening: socket.socket, secret: str, counted: Callable[[], None]
    ) -> AsyncGenerator[Callable[[], int]]:
        async with serve_terminals(clients, listening, secret, counted) as count:
            yield count
        await asyncio.to_thread(go_on.wait, PATIENCE_S)

    with pytest.raises(OpencodeError, match="did not stop within"):
        async with open_shared(variables, folder, serve=serve_and_hang), opened(variables, folder):
            pass
    monkeypatch.undo()
    assert [record.process.pid for record in live_engines(paths)] == [os.getpid()]
    named: list[int | None] = []

    async def opens() -> bool:
        async with open_shared(variables, folder, serve=serve_terminals, waits=named.append) as client:
            return client.ends_runs

    opening = asyncio.create_task(opens())
    await until(lambda: bool(named))
    assert named == [os.getpid()] and not opening.done()
    go_on.set()
    assert await opening


@pytest.mark.slow
async def test_one_that_is_suspended_while_it_leaves_its_terminal_or_later_is_shared_when_it_goes_on(
    variables: dict[str, str], folder: Path, paths: Paths
):
    line = CommandLine(folder, variables)
    with ScreenTerminal(["-m", "opencode_tui"], folder=folder, environ=line.variables()) as terminal:
        terminal.sees("fake-model")
        (path,) = paths.terminals.glob("*.json")
        alive = json.loads(path.read_text())
        named: list[int | None] = []
        for count, state in ((2, "leaving"), (4, "detached")):
            path.write_text(json.dumps({**alive, state: True}))
            suspend(terminal.process)
            async with AsyncExitStack() as stack:
                others = (
                    stack.enter_async_context(
                        open_shared({**line.variables()}, folder, serve=serve_terminals, waits=named.append)
                    ),
                    stack.enter_async_context(join_engine(line.variables(), folder, waits=named.append)),
                )
                opening = asyncio.gather(*others)
                await until(lambda count=count: len(named) == count)
                terminal.process.send_signal(signal.SIGCONT)
                first, second = await opening
                assert second is not None and not first.ends_runs
                assert named == [terminal.process.pid] * count
                assert await first.sessions.list() == await second.sessions.list() == []


@pytest.mark.slow
async def test_that_the_terminal_with_the_engine_is_suspended_is_reported(variables: dict[str, str], folder: Path):
    line = CommandLine(folder, variables)
    with ScreenTerminal(["-m", "opencode_tui"], folder=folder, environ=line.variables()) as terminal:
        terminal.sees("fake-model")
        async with opened({**line.variables()}, folder) as client:
            with client.events() as events:
                assert "Shared live" in await next_reason(events)
                suspend(terminal.process)
                assert f"process {terminal.process.pid}) is suspended" in await next_reason(events)
                listing = asyncio.create_task(client.sessions.list())
                terminal.process.send_signal(signal.SIGCONT)
                assert await listing == []


@pytest.mark.slow
async def test_nobody_waits_for_a_record_that_a_killed_process_left(
    variables: dict[str, str], folder: Path, paths: Paths
):
    line = CommandLine(folder, variables)
    with ScreenTerminal(["-m", "opencode_tui"], folder=folder, environ=line.variables()) as terminal:
        terminal.sees("fake-model")
        terminal.process.kill()
        terminal.process.wait()
    (left,) = paths.terminals.glob("*.json")
    async with join_engine(variables, folder) as joined:
        assert joined is None
    async with opened(variables, folder) as client:
        assert client.ends_runs
        assert json.loads(left.read_text())["pid"] == os.getpid()
    assert not left.exists()
    assert list(paths.terminals.glob("*.sock")) == []


async def reason_of(client: Client) -> str:
    """Return what a client that has just connected says about the engine."""
    with client.events() as events:
        return await next_reason(events)


async def test_a_left_engine_finishes_what_runs_and_what_waits_in_the_queue_and_then_ends(
    variables: dict[str, str], folder: Path, model: ModelServer
):
    may_end = threading.Event()
    model.script(Answer(text="first HELD", holds=(("HELD", may_end),)))
    async with open_shared(variables, folder, serve=serve_terminals) as client:
        assert isinstance(client, shared.SharedClient) and client.can_detach
        session = await client.sessions.create(CreateSession())
        calls = [asyncio.create_task(client.prompts.prompt(session.id, request("one")))]
        await until(lambda: model.requests)
        queued = request("two").changed(delivery="queue")
        calls.append(asyncio.create_task(client.prompts.prompt(session.id, queued)))
        await until_stored(client, session.id, "two")
        client.detach()
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        staying = asyncio.create_task(client.stay(0))
        await until(lambda: [one.is_detached for one in live_engines(find_paths(variables))] == [True])
        async with opened(variables, folder) as other:
            assert await reason_of(other) == f"Shared live with the engine in the background (process {os.getpid()})."
            may_end.set()
            await until_stored(other, session.id, "Echo: two")
            assert not staying.done()  # the other terminal needs it
        await asyncio.wait_for(staying, PATIENCE_S)
        assert await texts(client, session.id) == ["one", "first HELD", "two", "Echo: two"]
    assert len(model.requests) == 2


async def test_a_call_that_is_not_left_is_canceled_with_its_caller(
    variables: dict[str, str], folder: Path, model: ModelServer
):
    may_end = threading.Event()
    model.script(Answer(text="first HELD", holds=(("HELD", may_end),)))
    async with opened(variables, folder) as client:
        session = await client.sessions.create(CreateSession())
        first = asyncio.create_task(client.prompts.prompt(session.id, request("one")))
        await until(lambda: model.requests)
        queued = request("two").changed(delivery="queue")
        second = asyncio.create_task(client.prompts.prompt(session.id, queued))
        await until_stored(client, session.id, "two")
        second.cancel()
        await asyncio.wait({second})
        may_end.set()
        await first
        assert await texts(client, session.id) == ["one", "first HELD", "two"]


async def until_stored(client: Client, session_id: str, text: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while text not in await texts(client, session_id):
            await asyncio.sleep(0.01)


@pytest.mark.slow
def test_looking_for_an_engine_where_there_is_none_loads_no_client(variables: dict[str, str], folder: Path):
    code = (
        "import asyncio, os, pathlib, sys\n"
        "from opencode_tui.client.join import join_engine\n"
        "async def look():\n"
        "    async with join_engine(os.environ, pathlib.Path.cwd()) as joined:\n"
        "        assert joined is None\n"
        "asyncio.run(look())\n"
        "print(*(name for name in sys.modules if name.startswith('opencode_tui.client.')))"
    )
    line = CommandLine(folder, variables)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=line.variables(), check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["opencode_tui.client.join"]
