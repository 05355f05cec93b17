"""Fifty who listen to one server, five of whom never read: nobody who reads loses anything, and nothing waits for the five."""

import asyncio
import json
import socket
from collections.abc import Sequence
from typing import Any

import pytest

from opencode_tui.client.client import EventReader
from opencode_tui.schema.event.event import PartGrowth, PartProgress, to_wire
from opencode_tui.server.address import Listening
from opencode_tui.server.serving import open_socket
from tests.support.provider.model_script import Answer
from tests.support.world.server import PASSWORD, HttpFace
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


READING, IDLE = 45, 5
NARROW = 4_096
"""Bytes of the kernel's buffers of a connection, so that who does not read is felt at once."""

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Told = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every connection of the server a small buffer: it takes that of the socket that listens."""

    def opened(listening: Listening) -> socket.socket:
        listens = open_socket(listening)
        listens.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, NARROW)
        return listens

    monkeypatch.setattr("tests.support.world.server.open_socket", opened)


async def connect(face: HttpFace, *, limit: int) -> Stream:
    """Open an event stream and return it after its greeting; the client takes in no more than twice `limit` unread bytes."""
    own = socket.socket()
    own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, NARROW)
    own.setblocking(False)
    await asyncio.get_running_loop().sock_connect(own, (face.address.host, face.address.port))
    reader, writer = await asyncio.open_connection(sock=own, limit=limit)
    host = f"{face.address.host}:{face.address.port}"
    writer.write(f"GET /event HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {PASSWORD}\r\n\r\n".encode())
    await reader.readuntil(b"server.connected")
    return reader, writer


async def told(reader: asyncio.StreamReader, last: str) -> Told:
    """Return the events of a stream up to the first of this type; heartbeats, which come where it takes long, are left out."""
    seen: Told = []
    while not seen or seen[-1]["type"] != last:
        line = await reader.readline()
        assert line, "the stream has ended"
        if line.startswith(b"data: ") and (event := json.loads(line[6:]))["type"] != "server.heartbeat":
            seen.append(event)
    return seen


def structural(events: Told) -> Told:
    """Leave out what is merged: text that grows."""
    return [event for event in events if "delta" not in event["properties"]]


def happened(bus: EventReader, last: str) -> Told:
    """Return what the engine itself told up to the first event of this type, growth left out."""
    seen: Told = []
    while not seen or seen[-1]["type"] != last:
        envelope = bus.poll()
        assert envelope is not None, f"there was no {last}"
        if not isinstance(envelope.event, PartGrowth | PartProgress):
            seen.append(to_wire(envelope.event))
    return seen


async def leave(streams: Sequence[Stream]) -> None:
    for _, writer in streams:
        writer.transport.abort()


async def test_who_reads_is_told_all_of_a_fast_answer_while_five_do_not_read(serve, model):
    text = "".join(f"{number:05d} " for number in range(4_000))
    model.script(Answer(text=text, delta_size=6))
    async with serve() as face:
        session_id = await face.session(title="named")
        idle = [await connect(face, limit=NARROW) for _ in range(IDLE)]
        reading = [await connect(face, limit=1 << 24) for _ in range(READING)]
        with (await face.clients.at()).events() as bus:
            turn = asyncio.create_task(face.say(session_id, "much"))
            ends = [told(reader, "session.idle") for reader, _ in reading]
            heard, answer = await asyncio.wait_for(asyncio.gather(*ends), PATIENCE_S), await turn
            expected = happened(bus, "session.idle")
        await leave([*idle, *reading])
    assert answer.json()["parts"][1]["text"] == text.strip()
    assert len(heard) == READING and all(structural(events) == expected for events in heard)
    grown = ["".join(event["properties"].get("delta", "") for event in events) for events in heard]
    assert grown == [text] * READING


async def test_those_who_do_not_read_are_cut_off_before_they_fill_the_memory(serve, monkeypatch):
    monkeypatch.setattr("opencode_tui.server.event_hub.QUEUE_LIMIT", 300_000)
    title, changes = "x" * 20_000, 60
    async with serve() as face:
        session_id = await face.session()
        idle = [await connect(face, limit=NARROW) for _ in range(IDLE)]
        reading = [await connect(face, limit=1 << 24) for _ in range(READING)]
        ends = [asyncio.create_task(told(reader, "session.deleted")) for reader, _ in reading]
        for number in range(changes):
            await face.http.patch(f"/session/{session_id}", json={"title": f"{number} {title}"})
        await face.http.delete(f"/session/{session_id}")
        heard = await asyncio.wait_for(asyncio.gather(*ends), PATIENCE_S)
        rests = [await asyncio.wait_for(reader.read(), PATIENCE_S) for reader, _ in idle]
        await leave([*idle, *reading])
    numbers = [[event["properties"]["info"]["title"].split()[0] for event in events[:-1]] for events in heard]
    assert numbers == [[str(number) for number in range(changes)]] * READING
    assert len(rests) == IDLE and all(len(rest) < changes * len(title) / 2 for rest in rests)
