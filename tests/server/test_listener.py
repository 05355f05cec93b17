"""A client's queue: whole and in order for who reads, bounded for who does not."""

import asyncio
import json
from typing import Any

import pytest

from opencode_tui.server.event_hub import EventHub, Listener
from opencode_tui.server.frame import Frame, GrowthFrame


def structural(name: str, *, directory: str = "/p", closes: str | None = None, size: int = 0) -> Frame:
    line = json.dumps({"type": name, "fill": "x" * size}).encode()
    return Frame(directory, lambda: line, closes=closes)


def growth(text: str, delta: str) -> GrowthFrame:
    return GrowthFrame("/p", "prt_1", json.dumps({"text": text}).encode(), delta)


def parse(data: bytes) -> list[dict[str, Any]]:
    assert b"\r" not in data
    frames = data.decode().split("\n\n")
    assert frames.pop() == ""
    return [json.loads(frame.removeprefix("data: ")) for frame in frames]


async def test_growth_that_waits_is_merged_and_stands_before_the_update_that_closes_it():
    listener = Listener("/p")
    for frame in (structural("one"), growth("a", "a"), structural("two"), growth("ab", "b")):
        listener.enqueue(frame)
    listener.enqueue(structural("closing", closes="prt_1"))
    listener.enqueue(growth("new", "new"))
    events = parse(await listener.read())
    assert [event["type"] for event in events] == [
        "one", "message.part.updated", "two", "closing", "message.part.updated"
    ]  # fmt: skip
    assert [event["properties"] for event in events if "properties" in event] == [
        {"part": {"text": "ab"}, "delta": "ab"},
        {"part": {"text": "new"}, "delta": "new"},
    ]


async def test_who_does_not_read_is_cut_off_and_who_reads_loses_nothing(monkeypatch):
    monkeypatch.setattr("opencode_tui.server.event_hub.QUEUE_LIMIT", 10_000)
    idle, reading = Listener("/p"), Listener("/p")
    seen: list[str] = []
    for number in range(100):
        for listener in (idle, reading):
            listener.enqueue(structural(f"event {number}", size=1_000))
        seen += [str(event["type"]) for event in parse(await reading.read())]
    assert seen == [f"event {number}" for number in range(100)]
    assert await idle.read() == b""


async def test_what_waits_leaves_in_pieces_in_order_and_makes_room_as_it_goes(monkeypatch):
    monkeypatch.setattr("opencode_tui.server.event_hub.QUEUE_LIMIT", 10_000)
    monkeypatch.setattr("opencode_tui.server.event_hub.PIECE", 2_000)
    listener = Listener("/p")
    for number in range(8):
        listener.enqueue(structural(f"event {number}", size=1_000))
    pieces = [parse(await listener.read())]
    for number in range(8, 10):
        listener.enqueue(structural(f"event {number}", size=1_000))
    listener.close()
    while data := await listener.read():
        pieces.append(parse(data))
    assert [len(piece) for piece in pieces] == [2] * 5
    assert [event["type"] for piece in pieces for event in piece] == [f"event {number}" for number in range(10)]


async def test_one_event_larger_than_the_queue_still_arrives(monkeypatch):
    monkeypatch.setattr("opencode_tui.server.event_hub.QUEUE_LIMIT", 100)
    listener = Listener("/p")
    listener.enqueue(structural("large", size=1_000))
    assert len(parse(await listener.read())) == 1


async def test_growth_of_who_does_not_read_needs_the_room_of_one_frame():
    listener = Listener("/p")
    for number in range(1, 2_001):
        listener.enqueue(growth("x" * number, "x"))
    (event,) = parse(await listener.read())
    assert event["properties"] == {"part": {"text": "x" * 2_000}, "delta": "x" * 2_000}


async def test_a_listener_gets_its_folder_and_the_process_and_one_of_all_is_told_the_folder():
    here, everything = Listener("/p"), Listener(None)
    for frame in (structural("here"), structural("there", directory="/q"), structural("process", directory="")):
        here.enqueue(frame)
        everything.enqueue(frame)
    assert [event["type"] for event in parse(await here.read())] == ["here", "process"]
    assert [(event.get("directory"), event["payload"]["type"]) for event in parse(await everything.read())] == [
        ("/p", "here"), ("/q", "there"), (None, "process")
    ]  # fmt: skip


async def test_a_closed_hub_lets_what_waits_out_and_ends():
    hub = EventHub(now=lambda: 0.0)
    with hub.listen("/p") as listener:
        hub.close()
        first, second = await listener.read(), await listener.read()
    assert [event["type"] for event in parse(first)] == ["server.connected"]
    assert second == b""


@pytest.mark.parametrize("directory", ["/p", None])
async def test_the_hub_keeps_connections_alive_with_heartbeats(directory, monkeypatch):
    from opencode_tui.bus import Bus

    monkeypatch.setattr("opencode_tui.server.event_hub.HEARTBEAT_S", 0.05)
    hub, loop = EventHub(now=asyncio.get_running_loop().time), asyncio.get_running_loop()
    with Bus().subscribe() as events, hub.listen(directory) as listener:
        running = loop.create_task(hub.run(events))
        await listener.read()
        beats = [parse(await listener.read()) for _ in range(2)]
        running.cancel()
        await asyncio.wait({running})
    beat = {"type": "server.heartbeat", "properties": {}}
    assert beats == [[beat if directory else {"payload": beat}]] * 2
