"""Command lines of the person's over HTTP."""

import asyncio
from typing import Any


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


def runs(event: dict[str, Any]) -> bool:
    """Return whether an event shows a call that runs."""
    part = event["properties"].get("part", {})
    return part.get("type") == "tool" and part["state"]["status"] == "running"
