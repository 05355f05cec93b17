"""Parts that a client changes or deletes."""

import asyncio
import json

import pytest


@pytest.mark.slow
async def test_a_part_is_changed_told_and_deleted(serve):
    async with serve() as face, face.events() as events:
        session_id = await face.session()
        part = (await face.say(session_id, "edit me")).json()["parts"][1]
        path = f"/session/{session_id}/message/{part['messageID']}/part/{part['id']}"
        changed = (await face.http.patch(path, json={**part, "text": "edited", "ours": 1})).json()
        stored = (await face.messages(session_id))[-1]["parts"][1]
        deleted = (await face.http.delete(path)).json()
        seen = await events.until("message.part.removed")
        again = await face.http.delete(path)
    assert changed == stored == {**part, "text": "edited", "ours": 1}
    assert (deleted, again.status_code) == (True, 404)
    assert any(event["properties"].get("part") == changed for event in seen)


async def test_ids_that_are_not_those_of_the_address_are_refused(serve):
    async with serve() as face:
        session_id = await face.session()
        part = (await face.say(session_id, "x")).json()["parts"][1]
        path = f"/session/{session_id}/message/{part['messageID']}/part/{part['id']}"
        answer = await face.http.patch(path, json={**part, "id": "prt_other"})
    assert answer.status_code == 400


@pytest.mark.slow
async def test_nothing_is_edited_while_a_turn_runs(serve):
    async with serve() as face, face.events() as events:
        session_id = await face.session()
        part = (await face.say(session_id, "x")).json()["parts"][1]
        await events.until("session.idle")
        turn = asyncio.create_task(face.say(session_id, "y <<slow 50>> <<words 100>>"))
        await events.until("session.status")
        path = f"/session/{session_id}/message/{part['messageID']}/part/{part['id']}"
        answers = [await face.http.patch(path, json=part), await face.http.delete(path)]
        removal = await face.http.delete(f"/session/{session_id}")
        await face.http.post(f"/session/{session_id}/abort")
        await turn
        kept = (await face.messages(session_id))[1]["parts"][1]
    assert [answer.status_code for answer in answers] == [409, 409] and removal.status_code == 409
    assert kept == part


async def test_the_changes_of_a_session_are_empty_until_they_are_summed_up(serve, paths):
    async with serve() as face:
        session_id = await face.session()
        before = (await face.http.get(f"/session/{session_id}/diff")).json()
        record = [{"file": "a.py", "before": "", "after": "x\n", "additions": 1, "deletions": 0}]
        await face.clients.at()
        folder = paths.storage / "session_diff"
        folder.mkdir(parents=True)

        (folder / f"{session_id}.json").write_text(json.dumps(record))
        after = (await face.http.get(f"/session/{session_id}/diff")).json()
    assert (before, after) == ([], record)
