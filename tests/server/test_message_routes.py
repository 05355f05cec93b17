"""A request over HTTP: checked before the head of the answer, stored by then, answered at the end of the turn."""

import asyncio
import json
import threading

import pytest

from tests.support.provider.model_script import Answer, failure
from tests.support.world.server import MODEL


def texts(message: dict) -> list[str]:
    return [part["text"] for part in message["parts"] if part["type"] == "text"]


@pytest.mark.slow
async def test_the_answer_is_the_last_message_as_it_is_stored(serve):
    async with serve() as face:
        session_id = await face.session()
        answer = await face.say(session_id, "hello")
        user, assistant = await face.messages(session_id)
        one = (await face.http.get(f"/session/{session_id}/message/{assistant['info']['id']}")).json()
        newest = (await face.http.get(f"/session/{session_id}/message", params={"limit": 1})).json()
    assert answer.json() == assistant == one == newest[0]
    assert (texts(user), texts(assistant)) == (["hello"], ["Echo: hello"])
    assert "error" not in assistant["info"] and answer.headers["content-type"] == "application/json"


@pytest.mark.slow
async def test_the_head_comes_at_once_and_the_request_is_stored_by_then(serve):
    async with serve() as face:
        session_id = await face.session()
        body = {"model": MODEL, "parts": [{"type": "text", "text": "slow <<slow 100>> <<words 6>>"}]}
        async with face.http.stream("POST", f"/session/{session_id}/message", json=body) as answer:
            stored = await face.messages(session_id)
            whole = json.loads(await answer.aread())
    assert answer.status_code == 200 and whole["info"]["time"]["completed"]
    assert stored[0]["info"]["role"] == "user"
    assert [one for one in stored if "completed" in one["info"]["time"]] == []


async def test_ids_that_a_client_chooses_are_kept_and_later_ones_sort_after_them(serve):
    async with serve() as face:
        session_id = await face.session()
        await face.say(session_id, "first")
        last = (await face.messages(session_id))[-1]["info"]["id"]
        ahead = f"{int(last[4:16], 16) + 4096 * 5_000:012x}ClientsOwnId12"
        part = {"id": f"prt_{ahead}", "type": "text", "text": "mine"}
        answer = (await face.say(session_id, "", messageID=f"msg_{ahead}", parts=[part])).json()
        user = (await face.messages(session_id))[-2]
    assert (user["info"]["id"], user["parts"][0]["id"]) == (f"msg_{ahead}", f"prt_{ahead}")
    assert answer["info"]["parentID"] == f"msg_{ahead}" < answer["info"]["id"]


REFUSED = [
    ({"model": {"providerID": "fake", "modelID": "none"}}, "ProviderModelNotFoundError"),
    ({"model": {"providerID": "nobody", "modelID": "x"}}, "ProviderModelNotFoundError"),
    ({"agent": "nobody"}, "ConfigInvalidError"),
    ({"parts": [{"type": "agent", "name": "nobody"}]}, "ConfigInvalidError"),
    ({"messageID": "../../x"}, "BadRequest"),
    ({"parts": [{"type": "text", "text": "x", "id": "prt_../x"}]}, "BadRequest"),
    ({"parts": [{"type": "nope"}]}, None),
    ({"parts": "text"}, None),
]


@pytest.mark.slow
async def test_what_cannot_be_answered_is_refused_before_the_head_and_nothing_is_stored(serve):
    async with serve() as face:
        session_id = await face.session()
        for change, name in REFUSED:
            body = {"model": MODEL, "parts": [{"type": "text", "text": "x"}], **change}
            for route in ("message", "prompt_async"):
                answer = await face.http.post(f"/session/{session_id}/{route}", json=body)
                assert (answer.status_code, answer.json().get("name")) == (400, name)
        stored, status = await face.messages(session_id), (await face.http.get("/session/status")).json()
    assert (stored, status) == ([], {})


@pytest.mark.slow
async def test_a_turn_that_fails_answers_with_the_message_that_says_so(serve, model):
    model.script(failure(400, "no such thing"))
    async with serve() as face:
        session_id = await face.session()
        answer = await face.say(session_id, "x")
        stored = await face.messages(session_id)
    error = answer.json()["info"]["error"]
    assert (answer.status_code, error["name"], answer.json()) == (200, "APIError", stored[-1])
    assert "no such thing" in error["data"]["message"]


@pytest.mark.slow
async def test_who_reads_while_the_model_pauses_gets_all_that_was_told(serve, model):
    go_on = threading.Event()
    model.script(Answer(text="told so far and the rest", delta_size=12, holds=(("and", go_on),)))
    async with serve() as face, face.events() as events:
        session_id = await face.session(title="named")
        turn = asyncio.create_task(face.say(session_id, "x"))
        while "delta" not in (await events.read())["properties"]:
            pass
        whole, newest = await face.messages(session_id), events.seen[-1]["properties"]["part"]
        tail = (await face.http.get(f"/session/{session_id}/message", params={"limit": 1})).json()
        go_on.set()
        answer = (await turn).json()
    assert whole[-1]["parts"][-1] == tail[0]["parts"][-1] == newest and newest["text"] == "told so far "
    assert texts(answer) == ["told so far and the rest"]


@pytest.mark.slow
async def test_an_interrupted_turn_answers_with_what_there_was(serve):
    async with serve() as face, face.events() as events:
        session_id = await face.session()
        turn = asyncio.create_task(face.say(session_id, "long <<slow 50>> <<words 500>>"))
        while "delta" not in (await events.read())["properties"]:
            pass
        running = (await face.http.get("/session/status")).json()
        aborted = (await face.http.post(f"/session/{session_id}/abort")).json()
        answer = (await turn).json()
        again = (await face.http.post(f"/session/{session_id}/abort")).json()
    assert (running, aborted, again) == ({session_id: {"type": "busy"}}, True, True)
    assert answer["info"]["error"]["name"] == "MessageAbortedError" and texts(answer)


@pytest.mark.slow
async def test_a_request_behind_an_interrupted_turn_answers_with_that_turns_end(serve):
    async with serve() as face, face.events() as events:
        session_id = await face.session()
        turn = asyncio.create_task(face.say(session_id, "long <<slow 50>> <<words 500>>"))
        while "delta" not in (await events.read())["properties"]:
            pass
        body = {"model": MODEL, "parts": [{"type": "text", "text": "and then"}]}
        async with face.http.stream("POST", f"/session/{session_id}/message", json=body) as queued:
            await face.http.post(f"/session/{session_id}/abort")
            answer = json.loads(await queued.aread())
        first = (await turn).json()
    assert answer["info"]["error"]["name"] == "MessageAbortedError"
    assert answer["info"]["id"] == first["info"]["id"]


@pytest.mark.slow
async def test_a_client_that_goes_away_leaves_its_turn_running(serve):
    async with serve() as face, face.events() as events:
        session_id = await face.session()
        body = {"model": MODEL, "parts": [{"type": "text", "text": "x <<slow 20>> <<words 10>>"}]}
        async with face.http.stream("POST", f"/session/{session_id}/message", json=body):
            pass
        await events.until("session.idle")
        stored = await face.messages(session_id)
    assert stored[-1]["info"]["finish"] == "stop" and texts(stored[-1])[0].endswith("word10")


@pytest.mark.slow
async def test_a_request_for_later_is_stored_when_it_is_accepted_and_answered_afterwards(serve):
    async with serve() as face, face.events() as events:
        session_id = await face.session()
        body = {"parts": [{"type": "text", "text": "in the background"}], "model": MODEL}
        answer = await face.http.post(f"/session/{session_id}/prompt_async", json=body)
        stored = await face.messages(session_id)
        await events.until("session.idle")
        answered = await face.messages(session_id)
    assert (answer.status_code, answer.content) == (204, b"")
    assert texts(stored[0]) == ["in the background"]
    assert texts(answered[-1]) == ["Echo: in the background"]


async def test_a_request_without_an_answer_is_only_stored(serve, model):
    async with serve() as face:
        session_id = await face.session()
        answer = (await face.say(session_id, "note this", noReply=True)).json()
        stored = await face.messages(session_id)
    assert (answer, model.requests) == (stored[0], []) and len(stored) == 1


@pytest.mark.slow
async def test_twenty_clients_are_answered_each_in_its_session(serve, model):
    model.script(*(Answer(text="same") for _ in range(40)))
    async with serve() as face:
        sessions = [await face.session() for _ in range(20)]

        async def talk(session_id: str) -> list[str]:
            answers = [await face.say(session_id, f"{number}") for number in range(2)]
            return [texts(answer.json())[0] for answer in answers]

        answers = await asyncio.gather(*map(talk, sessions))
        lengths = [len(await face.messages(session_id)) for session_id in sessions]
    assert answers == [["same", "same"]] * 20
    assert lengths == [4] * 20


@pytest.mark.slow
async def test_an_image_that_the_provider_refuses_is_left_out_once_and_for_good(serve, model):
    image = "data:image/png;base64,iVBORw0KGgo="
    model.script(failure(400, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum"))
    async with serve() as face:
        session_id = await face.session()
        parts = [
            {"type": "text", "text": "look"},
            {"type": "file", "mime": "image/png", "filename": "x.png", "url": image},
        ]
        mended = (await face.say(session_id, "", parts=parts)).json()
        later = (await face.say(session_id, "and now?")).json()
    carried = ["iVBORw0KGgo=" in str(body) for body in model.bodies]
    assert carried == [True, False, False] and "left out" in str(model.bodies[1])
    assert ("error" in mended["info"], "error" in later["info"]) == (False, False)
    assert [part["type"] for part in mended["parts"]] == ["step-start", "retry", "text", "step-finish"]


@pytest.mark.slow
async def test_a_long_turn_keeps_its_connection_alive_with_blanks(serve, monkeypatch):
    monkeypatch.setattr("opencode_tui.server.answer.BLANK_S", 0.05)
    async with serve() as face:
        session_id = await face.session()
        answer = await face.say(session_id, "slow <<slow 100>> <<words 4>>")
    assert answer.text.startswith("  ") and texts(answer.json())[0].endswith("word4")
