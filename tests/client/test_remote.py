"""The client over HTTP by itself: who may enter, and what happens when the connection breaks."""

import asyncio
import json

import pytest

from opencode_tui.client.local import open_clients
from opencode_tui.client.remote import open_remote
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.event.event import BusLagged
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


async def test_another_folder_is_opened_by_name(project, environ, tmp_path):
    other = tmp_path / "ander ör"
    other.mkdir()
    async with (
        served(project.path, environ) as face,
        open_remote(face.address.url, password=PASSWORD, directory=str(other)) as client,
    ):
        assert client.directory == other


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
