"""Command lines of the person's over HTTP."""

import asyncio
from typing import Any

import pytest

from opencode_tui.engine.session import runs as runs_module
from opencode_tui.engine.session.step import tool_calls


async def test_a_command_line_runs_without_a_question_or_a_model_and_the_model_sees_it_later(serve, model):
    async with serve(settings={"permission": "ask"}) as face, face.events() as events:
        session_id = await face.session()
        body = {
            "agent": "build",
            "command": "echo shell_$((1+1))",
            "model": {"providerID": "fake", "modelID": "fake-model"},
        }
        answer = (await face.http.post(f"/session/{session_id}/shell", json=body)).json()
        await events.until("session.idle")
        user, assistant = await face.messages(session_id)
        asked = len(model.requests)
        await face.say(session_id, "what was that?")
    (part,) = answer["parts"]
    assert (part["tool"], part["state"]["status"], part["state"]["output"].strip()) == ("bash", "completed", "shell_2")
    assert (answer, asked) == (assistant, 0)
    assert user["info"]["role"] == "user" and user["parts"]
    assert all(part["synthetic"] for part in user["parts"])
    assert "shell_2" in str(model.bodies[-1]["messages"])


@pytest.mark.slow
async def test_a_command_line_waits_for_nobody_and_can_be_interrupted(serve):
    async with serve() as face, face.events() as events:
        session_id = await face.session()
        body = {"agent": "build", "command": "sleep 60"}
        running = asyncio.create_task(face.http.post(f"/session/{session_id}/shell", json=body))
        await events.until("session.status")
        second = await face.http.post(f"/session/{session_id}/shell", json=body)
        while not any(runs(event) for event in await events.until("message.part.updated")):
            pass
        await face.http.post(f"/session/{session_id}/abort")
        answer = (await running).json()
    assert (second.status_code, second.json()["name"]) == (409, "BusyError")
    assert answer["info"]["error"]["name"] == "MessageAbortedError"
    assert answer["parts"][0]["state"]["status"] == "error"


@pytest.mark.fast_cases("0")
@pytest.mark.parametrize("attempt", range(3))
async def test_a_command_that_is_interrupted_while_files_are_recorded_has_ended(
    serve, monkeypatch: pytest.MonkeyPatch, attempt: int
):
    """In a large folder the recording goes on for a moment after the interruption; its end is no progress of the call."""
    monkeypatch.setattr(tool_calls, "RECORDING_S", 0)
    monkeypatch.setattr(runs_module, "STOP_S", 0)
    async with serve() as face, face.events() as events:
        session_id = await face.session()
        body = {"agent": "build", "command": "sleep 60"}
        running = asyncio.create_task(face.http.post(f"/session/{session_id}/shell", json=body))
        while not any(records(event) for event in await events.until("message.part.updated")):
            pass
        await face.http.post(f"/session/{session_id}/abort")
        answer = (await running).json()
        await events.until("session.idle")
        _, stored = await face.messages(session_id)
    assert [answer["parts"][0]["state"]["status"], stored["parts"][0]["state"]["status"]] == ["error", "error"]


def records(event: dict[str, Any]) -> bool:
    return runs(event) and event["properties"]["part"]["state"].get("metadata", {}).get("recording") is True


def runs(event: dict[str, Any]) -> bool:
    """Return whether an event shows a call that runs."""
    part = event["properties"].get("part", {})
    return part.get("type") == "tool" and part["state"]["status"] == "running"
