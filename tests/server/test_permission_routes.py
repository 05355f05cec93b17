"""Questions to the person over HTTP."""

import asyncio

import pytest

CALL = '<<tool bash {"command":"echo asked","description":"says it"}>>'
RULES = {"permission": {"bash": "ask"}}


async def ask(face, events):
    """Begin a turn that asks; returns the turn's task and the question."""
    session_id = await face.session()
    turn = asyncio.create_task(face.say(session_id, f"do it {CALL}"))
    seen = await events.until("permission.asked")
    return turn, seen[-1]["properties"]


@pytest.mark.fast_cases("True")
@pytest.mark.parametrize("is_old", [False, True])
async def test_an_answer_lets_the_tool_go_on_and_counts_once(serve, is_old):
    async with serve(settings=RULES) as face, face.events() as events:
        turn, question = await ask(face, events)
        listed = (await face.http.get("/permission")).json()
        old = f"/session/{question['sessionID']}/permissions/{question['id']}", {"response": "once"}
        new = f"/permission/{question['id']}/reply", {"reply": "once"}
        path, body = old if is_old else new
        first = await face.http.post(path, json=body)
        answer = (await turn).json()
        second = await face.http.post(path, json=body)
        seen = await events.until("session.idle")
    assert listed == [question] and question["patterns"] == ["echo asked"]
    assert (first.json(), second.status_code) == (True, 404)
    assert "asked" in answer["parts"][1]["text"]
    replied = [event["properties"] for event in seen if event["type"] == "permission.replied"]
    assert replied == [{"sessionID": question["sessionID"], "requestID": question["id"], "reply": "once"}]


@pytest.mark.slow
async def test_a_rejection_ends_the_turn_and_with_a_word_the_model_is_told(serve):
    async with serve(settings=RULES) as face, face.events() as events:
        turn, question = await ask(face, events)
        await face.http.post(f"/permission/{question['id']}/reply", json={"reply": "reject"})
        await turn
        stopped = await face.messages(question["sessionID"])
        turn, question = await ask(face, events)
        await face.http.post(f"/permission/{question['id']}/reply", json={"reply": "reject", "message": "use tabs"})
        answer = (await turn).json()
    assert len(stopped) == 2 and stopped[-1]["parts"][-2]["state"]["status"] == "error"
    assert "use tabs" in answer["parts"][1]["text"]


@pytest.mark.slow
async def test_an_unknown_word_is_no_answer(serve):
    async with serve(settings=RULES) as face, face.events() as events:
        turn, question = await ask(face, events)
        wrong = await face.http.post(f"/permission/{question['id']}/reply", json={"reply": "maybe"})
        still = (await face.http.get("/permission")).json()
        await face.http.post(f"/session/{question['sessionID']}/abort")
        await turn
        closed = (await face.http.get("/permission")).json()
    assert (wrong.status_code, still, closed) == (400, [question], [])


@pytest.mark.slow
async def test_always_stores_the_edited_pattern(serve):
    async with serve(settings=RULES) as face, face.events() as events:
        turn, question = await ask(face, events)
        path = f"/permission/{question['id']}/reply"
        wrong = await face.http.post(path, json={"reply": "always", "always": []})
        given = await face.http.post(path, json={"reply": "always", "always": ["echo asked"]})
        await turn
        rules = (await face.http.get("/opencode-tui/rules")).json()
    assert question["always"] == ["echo *"]
    assert (wrong.status_code, given.json()) == (400, True)
    assert [(one["permission"], one["pattern"]) for one in rules["grants"]] == [("bash", "echo asked")]


async def test_a_question_of_a_client_about_nothing_is_refused(serve):
    async with serve() as face:
        asked = {"sessionID": await face.session(), "permission": "deploy", "patterns": []}
        refused = await face.http.post("/opencode-tui/permission", json=asked)
        taken = await face.http.post("/opencode-tui/permission", json={**asked, "patterns": ["site"]})
        assert (refused.status_code, taken.json()["patterns"]) == (400, ["site"])
        assert "patterns" in refused.text
        assert [one["patterns"] for one in (await face.http.get("/permission")).json()] == [["site"]]
