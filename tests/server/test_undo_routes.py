"""Undo over HTTP, as OpenCode's clients and ours use it."""

import asyncio

import pytest

from tests.support.provider.model_script import Answer, Call

OWN = "/opencode-tui"


@pytest.fixture
def two_turns(model, project):
    """The second turn makes a file."""
    target = str(project.path / "new.txt")
    model.script(
        Answer(text="hello"),
        Answer(calls=(Call("write", {"filePath": target, "content": "x\n"}),)),
        Answer(text="done"),
    )
    return project.path / "new.txt"


async def begin(face) -> tuple[str, list[dict]]:
    session_id = await face.session()
    await face.say(session_id, "hi")
    await face.say(session_id, "make it")
    return session_id, await face.messages(session_id)


async def test_undo_and_redo_as_opencodes_clients_do_it(serve, two_turns):
    async with serve() as face:
        session_id, messages = await begin(face)
        asked = messages[2]["info"]["id"]
        undone = (await face.http.post(f"/session/{session_id}/revert", json={"messageID": asked})).json()
        assert undone["revert"]["messageID"] == asked and "new.txt" in undone["revert"]["diff"]
        assert len(undone["revert"]["snapshot"]) == 40 and not two_turns.exists()
        hidden = await face.messages(session_id)
        assert [one["info"]["id"] for one in hidden] == [one["info"]["id"] for one in messages]
        redone = (await face.http.post(f"/session/{session_id}/unrevert")).json()
        assert "revert" not in redone and two_turns.read_text() == "x\n"


@pytest.mark.slow
async def test_the_next_request_makes_an_undo_final(serve, two_turns):
    async with serve() as face, face.events() as events:
        session_id, messages = await begin(face)
        await face.http.post(f"/session/{session_id}/revert", json={"messageID": messages[2]["info"]["id"]})
        answer = (await face.say(session_id, "instead")).json()
        left = await face.messages(session_id)
        assert [one["info"]["role"] for one in left] == ["user", "assistant", "user", "assistant"]
        assert left[0] == messages[0] | {"info": left[0]["info"]} and left[-1]["info"]["id"] == answer["info"]["id"]
        for _ in ("hi", "make it", "instead"):
            seen = await events.until("session.idle")
        gone = [event["properties"]["messageID"] for event in seen if event["type"] == "message.removed"]
        assert sorted(gone) == [one["info"]["id"] for one in messages[2:]]
        assert "revert" not in (await face.http.get(f"/session/{session_id}")).json() and not two_turns.exists()


@pytest.mark.slow
async def test_unknown_ids_change_nothing_and_malformed_ones_are_refused(serve, two_turns):
    async with serve() as face:
        session_id, _ = await begin(face)
        unknown = await face.http.post(f"/session/{session_id}/revert", json={"messageID": "msg_0000000000000000"})
        for answer in (unknown, await face.http.post(f"/session/{session_id}/unrevert")):
            assert (answer.status_code, answer.json()["id"]) == (200, session_id) and "revert" not in answer.json()
        bad = await face.http.post(f"/session/{session_id}/revert", json={"messageID": "nonsense"})
        assert bad.status_code == 400 and two_turns.exists()


@pytest.mark.slow
async def test_undo_is_refused_while_the_session_works(serve, model):
    async with serve() as face:
        session_id = await face.session()
        running = asyncio.create_task(face.say(session_id, "wait <<slow 100>> <<words 50>>"))
        while not (await face.http.get("/session/status")).json():
            await asyncio.sleep(0.02)
        asked = (await face.messages(session_id))[0]["info"]["id"]
        for path in (f"/session/{session_id}/revert", f"{OWN}/session/{session_id}/revert/preview"):
            refused = await face.http.post(path, json={"messageID": asked})
            assert refused.status_code == 409 and session_id in refused.json()["data"]["message"]
        await face.http.post(f"/session/{session_id}/abort")
        await running


@pytest.mark.slow
async def test_a_look_before_says_what_undo_then_does(serve, two_turns):
    async with serve() as face:
        session_id, messages = await begin(face)
        preview = (await face.http.post(f"{OWN}/session/{session_id}/revert/preview")).json()
        assert preview["scope"]["messageID"] == messages[2]["info"]["id"] and preview["scope"]["requests"] == 1
        assert [file["path"] for file in preview["deleted"]] == [str(two_turns)] and two_turns.exists()
        report = (await face.http.post(f"{OWN}/session/{session_id}/revert")).json()
        assert report["deleted"] == preview["deleted"] and not two_turns.exists()
        back = (await face.http.post(f"{OWN}/session/{session_id}/unrevert/preview")).json()
        assert [file["path"] for file in back["restored"]] == [str(two_turns)] and not two_turns.exists()
        await face.http.post(f"{OWN}/session/{session_id}/unrevert")
        assert two_turns.exists()
        nothing = await face.http.post(f"{OWN}/session/{session_id}/unrevert")
        assert (nothing.status_code, nothing.json()["name"]) == (400, "NothingToRevertError")


@pytest.mark.slow
async def test_the_diff_of_a_session_and_of_a_turn(serve, two_turns):
    async with serve() as face:
        session_id, messages = await begin(face)
        changes: list[dict] = []
        for _ in range(100):
            changes = (await face.http.get(f"/session/{session_id}/diff")).json()
            if changes:
                break
            await asyncio.sleep(0.02)
        expected = {"file": "new.txt", "before": "", "after": "x\n", "additions": 1, "deletions": 0, "status": "added"}
        assert changes == [expected]
        first, second = messages[0]["info"]["id"], messages[2]["info"]["id"]
        assert (await face.http.get(f"/session/{session_id}/diff", params={"messageID": second})).json() == [expected]
        assert (await face.http.get(f"/session/{session_id}/diff", params={"messageID": first})).json() == []
        info = (await face.http.get(f"/session/{session_id}")).json()
        assert info["summary"] == {"additions": 1, "deletions": 0, "files": 1}
