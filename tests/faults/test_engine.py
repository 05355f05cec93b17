"""An engine in another process that is stopped: its clients say so, their calls end in time, and all goes on when it is back."""

import asyncio
import signal
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from opencode_tui.client import remote_link
from opencode_tui.client.remote import RemoteClient, open_remote
from opencode_tui.schema.api.request import CreateSession
from opencode_tui.schema.error import LinkLostError
from opencode_tui.schema.event.screen_event import ScreenToastShown
from tests.faults.conftest import CANCEL_S, quickest
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.stopwatch import Stopwatch
from tests.support.world.waiting import suspend, until

pytestmark = pytest.mark.slow


PASSWORD = "of-the-test"
SHORT_S = 0.4


@dataclass
class Attached:
    """A client, the process of its server, and what the client said."""

    client: RemoteClient
    process: "subprocess.Popen[bytes]"
    url: str
    said: list[str] = field(default_factory=list[str])

    async def follow(self) -> None:
        """Collect the messages; runs until it is canceled."""
        with self.client.events() as events:
            async for envelope in events:
                if isinstance(envelope.event, ScreenToastShown):
                    self.said.append(envelope.event.message)

    def stop(self) -> None:
        """Stop the server, and return when it is."""
        suspend(self.process)

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)


@asynccontextmanager
async def attached(environ: dict[str, str], folder: Path) -> AsyncGenerator[Attached]:
    """Start a server and connect to it; on leaving the server is killed."""
    folder.mkdir(exist_ok=True)
    with ModelServer() as server:
        line = CommandLine(folder, {**environ, "OPENCODE_SERVER_PASSWORD": PASSWORD}, provider=server.config())
        process = line.start("serve", "--port", "0")
        try:
            assert process.stdout is not None
            url = (await asyncio.to_thread(process.stdout.readline)).decode().split()[-1]
            async with open_remote(url, password=PASSWORD) as client:
                found = Attached(client, process, url)
                following = asyncio.create_task(found.follow())
                yield found
                following.cancel()
        finally:
            kill_session(process)
            line.kill_survivors()


async def test_a_server_that_is_stopped_is_named_and_so_is_that_it_goes_on(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with attached(environ, tmp_path / "work") as world:
        assert list(await world.client.sessions.list()) == []
        world.stop()
        asking = asyncio.create_task(world.client.sessions.create(CreateSession()))
        await until(lambda: bool(world.said))
        assert world.said[0] == f"{world.url} does not respond. What you send waits for it; quitting works."
        assert not asking.done()
        world.go_on()
        await until(lambda: len(world.said) > 1)
        assert world.said[1] == f"{world.url} responds again."
        made = await asking
        assert [one.id for one in await world.client.sessions.list()] == [made.id]


async def test_a_call_that_a_server_does_not_answer_ends_after_its_time(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with attached(environ, tmp_path / "work") as world:
        assert list(await world.client.sessions.list()) == []
        http = world.client._link._http
        assert http.timeout.read == remote_link.ANSWER_S
        monkeypatch.setattr(http, "timeout", SHORT_S)
        world.stop()
        with pytest.raises(LinkLostError, match="no connection to"):
            await world.client.sessions.list()
        world.go_on()
        monkeypatch.undo()
        assert list(await world.client.sessions.list()) == []


async def test_a_call_to_a_server_that_is_stopped_is_canceled_at_once(environ: dict[str, str], tmp_path: Path) -> None:
    async with attached(environ, tmp_path / "work") as world:
        world.stop()

        async def measured() -> float:
            asking = asyncio.create_task(world.client.sessions.list())
            await until(lambda: world.client._link._unanswered > 0)
            watch = Stopwatch()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            return watch.seconds

        assert await quickest(measured) < CANCEL_S
