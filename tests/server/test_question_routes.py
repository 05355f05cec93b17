"""Questions of tools over HTTP."""

import asyncio
import json

import pytest

QUESTION = {"question": "Which?", "header": "Pick", "options": [{"label": "Red"}, {"label": "Blue"}]}
CALL = f"ask <<tool question {json.dumps({'questions': [QUESTION]})}>>"


async def ask(face, events):
    """Begin a turn whose tool asks; returns the turn's task and the request."""
    session_id = await face.session()
    turn = asyncio.create_task(face.say(session_id, CALL))
    seen = await events.until("question.asked")
    return turn, seen[-1]["properties"]


async def test_an_answer_reaches_the_model_and_counts_once(serve):
    async with serve() as face, face.events() as events:
        turn, request = await ask(face, events)
        listed = (await face.http.get("/question")).json()
        path, body = f"/question/{request['id']}/reply", {"answers": [["Blue"]]}
        first = await face.http.post(path, json=body)
        answer = (await turn).json()
        second = await face.http.post(path, json=body)
    assert (listed, first.json(), second.status_code) == ([request], True, 404)
    assert "Blue" in answer["parts"][1]["text"]


@pytest.mark.slow
async def test_a_dismissal_ends_the_turn(serve, model):
    async with serve() as face, face.events() as events:
        turn, request = await ask(face, events)
        dismissed = await face.http.post(f"/question/{request['id']}/reject")
        await turn
        seen = await events.until("session.idle")
    assert dismissed.json() is True and len(model.requests) == 1
    assert any(event["type"] == "question.rejected" for event in seen)
