"""The client over HTTP by itself: who may enter, and what happens when the connection breaks."""

import asyncio
import json

import pytest

from opencode_tui.bus import Bus
from opencode_tui.client.local import open_clients
from opencode_tui.client.remote import open_remote
from opencode_tui.client.remote_events import RemoteEvents
from opencode_tui.client.remote_link import open_link
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.event.event import BusLagged, SessionIdle
from opencode_tui.server.address import Listening
from opencode_tui.server.guard import Credentials
from opencode_tui.server.serving import open_socket, serving
from tests.support.world.server import PASSWORD, served
from tests.support.world.waiting import PATIENCE_S


async def test_a_wrong_password_is_named(project, environ):
    async with served(project.path, environ) as face:
        with pytest.raises(OpencodeError, match="OPENCODE_SERVER_PASSWORD"):
            async with open_remote(face.address.url, password="wrong"):
                pass


@pytest.mark.parametrize("url", ["nonsense", "ftp://x", "http://", "http://127.0.0.1:1"])
async def test_an_address_without_a_server_is_named(url):
    with pytest.raises(OpencodeError, match=r"address|running"):
        async with open_remote(url):
            pass


@pytest.mark.parametrize(
    "url",
    [
        "http://me:s3cret@127.0.0.1:1",
        "http://me:s3cret@127.0.0.1:1/path",
        "http://s3cret@127.0.0.1:1",
        "http://me:s3%20cret@127.0.0.1:1",
        "http://me:s3cret@[127",
        "http://me:s3cret@127.0.0.1:port",
        "http://me:s3cret/x@127.0.0.1:1",
        "ftp://me:s3cret@127.0.0.1:1",
        "me:s3cret@127.0.0.1:1",
        "//me:s3cret@127.0.0.1:1",
    ],
)
async def test_no_message_has_the_password_of_an_address(url):
    with pytest.raises(OpencodeError) as raised:
        async with open_remote(url):
            pass
    assert "s3" not in str(raised.value) and "me:" not in str(raised.value)


@pytest.mark.parametrize("separate", [None, PASSWORD])
async def test_the_password_of_an_address_opens_a_server_and_is_not_reported(project, environ, caplog, separate):
    caplog.set_level("DEBUG")
    async with served(project.path, environ) as face:
        address = face.address.url.removeprefix("http://")
        written = PASSWORD if separate is None else "an0ther"
        async with open_remote(f"http://opencode:{written}@{address}", password=separate) as client:
            assert client.directory == project.path
            events = client.events()
        with pytest.raises(OpencodeError, match="refuses this password"):
            async with open_remote(f"http://opencode:wr0ng@{address}"):
                pass
    said = [caplog.text, *(str(one) for one in iter(events.poll, None))]
    assert [one for one in ("wr0ng", "an0ther", PASSWORD) if one in "".join(said)] == []


async def test_another_folder_is_opened_by_name(project, environ, tmp_path):
    other = tmp_path / "ander ör"
    other.mkdir()
    async with (
        served(project.path, environ) as face,
        open_remote(face.address.url, password=PASSWORD, directory=str(other)) as client,
    ):
        assert client.directory == other


ODD_LINES = (
    "[]",
    "5",
    "null",
    '"text"',
    "{",
    "",
    "[" * 100_000,
    '{"type":"session.idle","properties":5}',
    '{"type":"session.idle","properties":["a"]}',
    '{"type":"session.idle","properties":{"sessionID":7}}',
    '{"type":["session.idle"],"properties":{}}',
    '{"type":"from.the.future","properties":{"a":1}}',
    '{"properties":{}}',
)


async def test_a_line_of_the_stream_that_is_no_event_ends_nothing():
    lines = ['{"type":"server.connected","properties":{}}', *ODD_LINES]
    lines.append('{"type":"session.idle","properties":{"sessionID":"ses_1"}}')

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        writer.writelines(f"data: {line}\n\n".encode() for line in lines)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server, asyncio.timeout(PATIENCE_S):
        port = server.sockets[0].getsockname()[1]
        async with open_link(f"http://127.0.0.1:{port}", password=None, username="", directory=None) as link:
            bus = Bus()
            with bus.subscribe() as events:
                await RemoteEvents(link, bus, tries_again=False).run()
                found = [one.event for one in iter(events.poll, None)]
    assert [type(one) for one in found] == [SessionIdle]


async def test_a_stream_that_broke_is_opened_again_and_readers_are_told(project, environ):
    listening = Listening("127.0.0.1", 0, frozenset())
    async with open_clients({**environ, "OPENCODE_CONFIG_CONTENT": json.dumps({})}, project.path) as clients:
        async with serving(
            clients, open_socket(listening), listening=listening, credentials=Credentials(PASSWORD)
        ) as first:
            remote = open_remote(first.url, password=PASSWORD)
            client = await remote.__aenter__()
            events = client.events()
        again = Listening("127.0.0.1", first.port, frozenset())
        async with serving(clients, open_socket(again), listening=again, credentials=Credentials(PASSWORD)):
            async with asyncio.timeout(PATIENCE_S):
                async for envelope in events:
                    if isinstance(envelope.event, BusLagged):
                        break
            assert await client.sessions.latest() is None
            await remote.__aexit__(None, None, None)
