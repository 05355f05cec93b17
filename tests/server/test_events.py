"""What a client of the event stream sees of a turn, in which order. Source: docs/internals/http.md#events."""

import asyncio
import json
from collections.abc import Mapping
from itertools import groupby
from urllib.parse import quote

import httpx
import pytest

from opencode_tui.server.event_hub import EventHub
from opencode_tui.server.frame import Frame
from opencode_tui.server.routes.event import EventStream
from tests.support.provider.model_script import Answer, Call
from tests.support.world.server import PASSWORD
from tests.support.world.waiting import PATIENCE_S


def word(event: dict) -> str:
    """Return what an event says in a word or two."""
    properties = event["properties"]
    match event["type"]:
        case "message.updated":
            info = properties["info"]
            done = " done" if info["time"].get("completed") else " finished" if info.get("finish") else ""
            return f"{info['role']}{done}"
        case "message.part.updated":
            part = properties["part"]
            state = f" {part['state']['status']}" if part["type"] == "tool" else ""
            return f"{part['type']}{state}{' +' if 'delta' in properties else ''}"
        case "session.status":
            return properties["status"]["type"]
        case kind:
            return kind


def words(events: list[dict]) -> list[str]:
    """Return the words of events, equal neighbours once, without the summary, which comes beside the turn or after it.

    A step that is slow on a busy machine has more: what it waits for. That is left out.
    """
    busy = next((at for at, event in enumerate(events) if word(event) == "busy"), len(events))
    told = [event for at, event in enumerate(events) if at < busy or not is_summary(event)]
    return [said for said, _ in groupby(map(word, without_waits(told)))]


def without_waits(events: list[dict]) -> list[dict]:
    """Return the events without those that name a wait, and without those that tell its end."""
    told: list[dict] = []
    is_named = False
    for event in events:
        if word(event) == "busy":
            was_named, is_named = is_named, "wait" in event["properties"]["status"]
            if was_named or is_named:
                continue
        told.append(event)
    return told


def is_summary(event: dict) -> bool:
    """Tell whether an event of a turn that runs tells what it came to: counts, changes, the request's title."""
    return word(event) in ("user", "session.updated", "session.diff")


@pytest.mark.slow
async def test_a_text_turn_is_told_in_the_order_that_clients_know(serve, model):
    model.script(Answer(reasoning="let me see", text="hello you there"))
    async with serve() as face, face.events() as events:
        session_id = await face.session(title="named")
        answer = (await face.say(session_id, "hi")).json()
        seen = await events.until("session.idle")
    assert words(seen) == [
        "server.connected", "session.created", "session.updated",
        "user", "text", "session.updated", "busy",
        "assistant", "step-start",
        "reasoning", "reasoning +", "reasoning",
        "text", "text +", "text",
        "step-finish", "assistant finished", "assistant done",
        "busy", "idle", "session.idle",
    ]  # fmt: skip
    updates = [event["properties"] for event in seen if word(event) in ("text", "text +")][1:]
    assert "".join(update.get("delta", "") for update in updates) == "hello you there"
    assert updates[-1]["part"] == answer["parts"][2]


@pytest.mark.slow
async def test_a_tool_turn_tells_each_state_and_a_message_for_each_step(serve, model, project):
    target = str(project.path / "new.txt")
    model.script(Answer(calls=(Call("write", {"filePath": target, "content": "x\n"}),)), Answer(text="done"))
    async with serve() as face, face.events() as events:
        session_id = await face.session(title="named")
        await face.say(session_id, "write it")
        seen = await events.until("session.idle")
    assert words(seen)[words(seen).index("step-start") :] == [
        "step-start", "tool pending", "tool running", "step-start", "patch", "file.edited",
        "file.watcher.updated", "tool completed",
        "step-finish", "assistant finished", "assistant done", "busy",
        "assistant", "step-start", "text", "text +", "text", "step-finish", "assistant finished", "assistant done",
        "busy", "idle", "session.idle",
    ]  # fmt: skip


def test_the_start_and_the_end_of_a_wait_are_no_part_of_the_order():
    busy = {"type": "session.status", "properties": {"status": {"type": "busy"}}}
    waits = {"type": "session.status", "properties": {"status": {"type": "busy", "wait": {"on": "git", "since": 1}}}}
    idle = {"type": "session.status", "properties": {"status": {"type": "idle"}}}
    other = {"type": "session.diff", "properties": {}}
    assert without_waits([busy, other, waits, waits, busy, other, busy, idle]) == [busy, other, other, busy, idle]


@pytest.mark.slow
async def test_changes_by_tools_are_told_but_for_ignored_files(serve, model, project):
    patch = "*** Begin Patch\n*** Delete File: a.py\n*** Add File: dist/out.js\n+x\n*** End Patch"
    calls = (
        Call("apply_patch", {"patchText": patch}),
        Call("write", {"filePath": str(project.path / "b.py"), "content": "x\n"}),
    )
    model.script(Answer(calls=calls), Answer(text="done"))
    async with serve(settings={"watcher": {"ignore": ["dist/*"]}}) as face, face.events() as events:
        session_id = await face.session(title="named")
        await face.say(session_id, "change them")
        seen = await events.until("session.idle")
    told = [one["properties"] for one in seen if one["type"] == "file.watcher.updated"]
    edited = {one["properties"]["file"] for one in seen if one["type"] == "file.edited"}
    assert sorted((one["file"], one["event"]) for one in told) == [
        (str(project.path / "a.py"), "unlink"),
        (str(project.path / "b.py"), "add"),
    ]
    assert str(project.path / "dist/out.js") in edited


async def test_frames_are_single_lines_between_line_feeds_without_event_names(serve):
    async with serve() as face, face.http.stream("GET", "/event", timeout=PATIENCE_S) as answer:
        await face.session(title="line\nbreak \u2028 é")
        raw = b""
        async for piece in answer.aiter_raw():
            raw += piece
            if b"session.updated" in raw and raw.endswith(b"\n\n"):
                break
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert raw.startswith(b'data: {"type":"server.connected","properties":{}}\n\n')
    frames = raw.split(b"\n\n")[:-1]
    assert len(frames) > 1 and b"\r" not in raw
    assert all(frame.startswith(b"data: {") and b"\n" not in frame for frame in frames)


async def test_a_listener_hears_its_folder_and_the_global_one_hears_all_with_the_folder_named(serve, tmp_path):
    other = tmp_path / "an öther place"
    other.mkdir()
    header = {"x-opencode-directory": quote(str(other))}
    async with (
        serve() as face,
        face.events() as here,
        face.events(**header) as there,
        face.events("/global/event") as everywhere,
    ):
        first = (await face.http.post("/session")).json()
        second = (await face.http.post("/session", headers=header)).json()
        ids = [(await stream.until("session.updated"))[-1]["properties"]["info"]["id"] for stream in (here, there)]
        while [event["payload"]["type"] for event in everywhere.seen].count("session.updated") < 2:
            await everywhere.read()
    assert ids == [first["id"], second["id"]]
    assert (second["directory"], second["projectID"]) == (str(other), "global")
    told = [(event.get("directory"), event["payload"]["type"]) for event in everywhere.seen]
    assert told[0] == (None, "server.connected")
    of_sessions = [folder for folder, kind in told if kind.startswith("session.")]
    assert of_sessions == [first["directory"]] * 2 + [str(other)] * 2


async def test_a_stream_whose_client_takes_nothing_ends_when_its_queue_is_full(monkeypatch):
    monkeypatch.setattr("opencode_tui.server.event_hub.QUEUE_LIMIT", 1_000)
    hub = EventHub(now=lambda: 0.0)
    forever = asyncio.Event()

    async def blocked(*_message: object) -> dict[str, str]:
        await forever.wait()
        return {"type": "http.disconnect"}

    async def send(message: Mapping[str, object]) -> None:
        if message["type"] == "http.response.body":
            await blocked()

    stream = asyncio.create_task(EventStream(hub, None)({"type": "http"}, blocked, send))
    while not hub.listeners:
        await asyncio.sleep(0)
    for _ in range(3):
        hub.publish([Frame("", lambda: b"x" * 600)])
        await asyncio.sleep(0)
    await asyncio.wait_for(stream, PATIENCE_S)
    assert hub.listeners == ()


async def test_a_client_that_goes_away_is_forgotten(serve):
    async with serve() as face:
        async with face.events():
            pass
        session_id = await face.session()
        health = await face.http.get("/global/health")
    assert session_id.startswith("ses_") and health.json()["healthy"] is True


@pytest.mark.slow
async def test_at_the_end_of_the_server_running_turns_end_and_are_told(serve):
    told: list[dict] = []
    async with httpx.AsyncClient(verify=False, trust_env=False, timeout=PATIENCE_S) as anybody:
        async with serve() as face:
            session_id = await face.session()
            stream = anybody.stream("GET", f"{face.address.url}/event", auth=("opencode", PASSWORD))
            answer = await stream.__aenter__()
            lines = answer.aiter_lines()
            await anext(lines)
            await face.http.post(
                f"/session/{session_id}/prompt_async",
                json={"parts": [{"type": "text", "text": "wait <<slow 200>> <<words 200>>"}]},
            )
            async with asyncio.timeout(PATIENCE_S):
                while "word2" not in await anext(lines):
                    pass
        told += [json.loads(line[6:]) for line in [line async for line in lines] if line]
        await stream.__aexit__(None, None, None)
    ends = [event["type"] for event in told if event["type"] in ("session.error", "session.status", "session.idle")]
    assert ends[-3:] == ["session.error", "session.status", "session.idle"]
