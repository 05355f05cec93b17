"""Requests that wait for the turn before them, and the command of the status line, over HTTP."""

import asyncio
from typing import Any

import pytest

from tests.support.world.server import MODEL, Events, HttpFace
from tests.support.world.waiting import PATIENCE_S

SLOW = "slow <<slow 30>> <<words 40>>"
ABSENT = "ses_0000000000000000000000000000"
OWN = "/opencode-tui"


def request(text: str, **fields: object) -> dict[str, object]:
    return {"model": MODEL, "parts": [{"type": "text", "text": text}], **fields}


async def started(face: HttpFace, events: Events, text: str) -> str:
    """Start a turn in a new session, wait until its response grows, and return the session's id."""
    session_id = await face.session()
    await face.http.post(f"/session/{session_id}/prompt_async", json=request(text))
    async with asyncio.timeout(PATIENCE_S):
        while "delta" not in (await events.read()).get("properties", {}):
            pass
    return session_id


async def queued(face: HttpFace, session_id: str, text: str) -> str:
    """Queue a request behind the turn that runs, and return its message's id."""
    sent = await face.http.post(f"/session/{session_id}/prompt_async", json=request(text, delivery="queue"))
    assert sent.status_code == 204, sent.text
    async with asyncio.timeout(PATIENCE_S):
        while True:
            users = [one["info"] for one in await face.messages(session_id) if one["info"]["role"] == "user"]
            if len(users) > 1:
                return users[-1]["id"]
            await asyncio.sleep(0.02)


async def answer_with(face: HttpFace, session_id: str, words: str) -> dict[str, Any]:
    """Wait until there is a complete answer with these words, and return it."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            for one in await face.messages(session_id):
                if (
                    one["info"]["role"] == "assistant"
                    and words in str(one["parts"])
                    and "completed" in one["info"]["time"]
                ):
                    return one
            await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_a_queued_request_waits_for_the_turn_and_is_answered_by_one_of_its_own(serve):
    async with serve() as face, face.events() as events:
        session_id = await started(face, events, SLOW)
        name = await queued(face, session_id, "afterwards")
        waiting = (await face.http.get(f"/session/{session_id}/message/{name}")).json()
        answer = await answer_with(face, session_id, "Echo: afterwards")
        whole = (await face.messages(session_id))[1]
    assert waiting["info"]["delivery"] == "queue"
    assert "word39" in whole["parts"][-2]["text"] and "error" not in whole["info"]
    assert answer["info"]["id"] > whole["info"]["id"]


@pytest.mark.slow
async def test_a_waiting_request_is_sent_at_once_and_only_once(serve):
    async with serve() as face, face.events() as events:
        session_id = await started(face, events, "<<slow 100>> <<words 200>>")
        name = await queued(face, session_id, "now")
        route = f"{OWN}/session/{session_id}/queued/{name}/send"
        first = await face.http.post(route)
        answer = await answer_with(face, session_id, "Echo: now")
        again = await face.http.post(route)
        cut = (await face.messages(session_id))[1]
    assert (first.json(), again.json()) == (True, False)
    assert cut["info"]["error"]["name"] == "MessageAbortedError"
    assert answer["info"]["id"] > cut["info"]["id"]


async def test_a_waiting_request_is_not_changed_by_the_end_of_the_turn_before_it(serve):
    """It was summarized like a turn: when it was withdrawn meanwhile, it came back without its text."""
    async with serve() as face, face.events() as events:
        session_id = await started(face, events, "<<slow 100>> <<words 200>>")
        name = await queued(face, session_id, "afterwards")
        route = f"/session/{session_id}/message/{name}"
        before = (await face.http.get(route)).json()
        await face.http.post(f"/session/{session_id}/abort")
        async with asyncio.timeout(PATIENCE_S):
            while (first := (await face.messages(session_id))[0])["info"].get("summary") is None:
                await asyncio.sleep(0.02)
        assert (await face.http.get(route)).json() == before
    assert first["info"]["summary"]["title"]


@pytest.mark.slow
async def test_only_a_waiting_request_of_a_known_session_can_be_sent(serve):
    async with serve() as face:
        session_id = await face.session()
        await face.say(session_id, "hello")
        answered = (await face.messages(session_id))[0]["info"]["id"]
        unknown = await face.http.post(f"{OWN}/session/{ABSENT}/queued/{answered}/send")
        read, absent, bad = [
            await face.http.post(f"{OWN}/session/{session_id}/queued/{name}/send")
            for name in (answered, f"msg_{'0' * 26}", "..%2Fx")
        ]
    assert (unknown.status_code, unknown.json()["name"]) == (404, "NotFoundError")
    assert (read.status_code, read.json(), absent.status_code, absent.json()) == (200, False, 200, False)
    assert bad.status_code in (400, 404)


@pytest.mark.slow
async def test_a_delivery_is_one_of_two_words_and_needs_a_known_session(serve):
    async with serve() as face:
        session_id = await face.session()
        bad = await face.http.post(f"/session/{session_id}/message", json=request("x", delivery="later"))
        unknown = await face.http.post(f"/session/{ABSENT}/message", json=request("x", delivery="queue"))
        stored = await face.messages(session_id)
        alone = await face.say(session_id, "hello", delivery="queue")
    assert (bad.status_code, unknown.status_code, stored) == (400, 404, [])
    assert alone.json()["parts"][-2]["text"] == "Echo: hello"


@pytest.mark.slow
async def test_the_command_of_the_status_line_gets_the_facts_and_its_first_line_comes_back(serve):
    command = (
        "python3 -c \"import json, sys; facts = json.load(sys.stdin); print(facts['model'], facts['cost']); print(2)\""
    )
    async with serve(settings={"tui": {"status_line": {"command": command, "timeout": 60}}}) as face:
        shown = await face.http.post(f"{OWN}/status-text", json={"model": "fake/fake-model", "cost": 0.5})
        bad = await face.http.post(f"{OWN}/status-text", json={"cost": "much"})
    assert (shown.status_code, shown.json()) == (200, "fake/fake-model 0.5")
    assert bad.status_code == 400


@pytest.mark.slow
async def test_without_a_command_the_text_is_empty_and_a_failing_one_is_an_error_with_its_words(serve):
    async with serve() as face:
        empty = await face.http.post(f"{OWN}/status-text", json={})
    async with serve(settings={"tui": {"status_line": {"command": "echo broken >&2; exit 3"}}}) as face:
        failed = await face.http.post(f"{OWN}/status-text", json={})
    assert (empty.status_code, empty.json()) == (200, "")
    assert failed.status_code >= 400
    assert "failed with exit code 3: broken" in failed.text


async def test_a_setting_that_comes_before_a_stored_key_is_named(serve):
    async with serve() as face:
        await face.http.put("/auth/groq", json={"type": "api", "key": "k"})
        none = await face.http.get(f"{OWN}/auth/groq/override")
        named = await face.http.get(f"{OWN}/auth/fake/override")
        bad = await face.http.get(f"{OWN}/auth/..%2Fx/override")
    assert (none.status_code, none.json()) == (200, "")
    assert "provider.fake.options.apiKey" in named.json()
    assert bad.status_code in (400, 404)
