"""Compaction over HTTP."""

import asyncio
import threading

import pytest

from tests.support.provider.model_script import Answer

MODEL = {"providerID": "fake", "modelID": "fake-model"}


async def said(face, text):
    session_id = await face.session(title="named")
    parts = [{"type": "text", "text": text}]
    await face.http.post(f"/session/{session_id}/message", json={"parts": parts, "model": MODEL})
    return session_id


@pytest.mark.slow
async def test_summarize_answers_true_and_leaves_a_marker_and_its_summary(serve):
    async with serve() as face:
        session_id = await said(face, "hello")
        answer = await face.http.post(f"/session/{session_id}/summarize", json=MODEL)
        messages = (await face.http.get(f"/session/{session_id}/message")).json()
    marker, summary = messages[-2:]
    assert answer.json() is True
    assert marker["parts"][0]["type"] == "compaction" and marker["parts"][0]["auto"] is False
    assert (summary["info"]["summary"], summary["info"]["parentID"]) == (True, marker["info"]["id"])


@pytest.mark.slow
async def test_with_auto_the_conversation_goes_on(serve, model):
    async with serve() as face:
        session_id = await said(face, "hello")
        model.script(Answer(text="the summary"), Answer(text="going on"))
        await face.http.post(f"/session/{session_id}/summarize", json={**MODEL, "auto": True})
        messages = (await face.http.get(f"/session/{session_id}/message")).json()
    assert messages[-1]["parts"][1]["text"] == "going on" and messages[-4]["parts"][0]["auto"] is True


@pytest.mark.slow
async def test_a_busy_session_a_missing_one_and_one_without_messages_are_refused(serve, model):
    async with serve() as face:
        empty = await face.session()
        nothing = await face.http.post(f"/session/{empty}/summarize", json=MODEL)
        missing = await face.http.post("/session/ses_000000000000doesnotexist00/summarize", json=MODEL)
        was_refused = threading.Event()
        model.script(Answer(text="begun ended", holds=(("ended", was_refused),)))
        turn = asyncio.create_task(said(face, "slow"))
        while not (statuses := (await face.http.get("/session/status")).json()):
            await asyncio.sleep(0.01)
        busy = await face.http.post(f"/session/{next(iter(statuses))}/summarize", json=MODEL)
        was_refused.set()
        await turn
    assert (nothing.status_code, missing.status_code, busy.status_code) == (400, 404, 409)


async def test_a_look_is_served_beside_it(serve):
    async with serve() as face:
        session_id = await said(face, "never mind the rest")
        report = (await face.http.post(f"/opencode-tui/session/{session_id}/compact", json={"dryRun": True})).json()
    assert report["messages"] == 2 and "never mind the rest" in report["kept"] and "after" not in report
