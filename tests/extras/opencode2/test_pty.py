"""OpenCode 2's terminals, over a real WebSocket; without `server.pty` there are none."""

import asyncio
import os

import pytest
from websockets.asyncio.client import connect

from tests.support.opencode2.client import Newer
from tests.support.world.server import PASSWORD
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


ENVIRON = {"PATH": os.environ["PATH"], "SHELL": "/bin/sh"}


async def test_a_terminal_is_started_written_to_and_removed(serve):
    async with serve(terminals=ENVIRON) as face:
        newer = Newer(face.http)
        async with newer.events() as events:
            made = (await newer.ask("POST", "/api/pty", {"command": "cat"}))["data"]
            path = f"/api/pty/{made['id']}"
            address = face.address.url.replace("http://", f"ws://opencode:{PASSWORD}@")
            async with connect(f"{address}{path}/connect", proxy=None) as socket:
                await socket.send("hello\n")
                text = ""
                async with asyncio.timeout(PATIENCE_S):
                    while "hello" not in text:
                        text += str(await socket.recv())
            changed = (await newer.ask("PUT", path, {"title": "t", "size": {"rows": 10, "cols": 20}}))["data"]
            listed = (await newer.ask("GET", "/api/pty"))["data"]
            refused = await newer.answer("POST", f"{path}/connect-token")
            await newer.ask("DELETE", path)
            gone = await newer.answer("DELETE", path)
            await events.until("pty.deleted")
    assert newer.problems == []
    assert changed["title"] == "t" and listed == [changed] and made["status"] == "running"
    assert (refused[0], gone[0]) == (403, 404)
