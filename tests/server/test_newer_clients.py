"""What clients that are newer than the API ask for under other names."""

import asyncio
from urllib.parse import quote

import pytest


async def test_changed_files_are_told_under_the_newer_names_too(serve, project):
    project.write("a.py", "x = 2\ny = 3\n")
    project.write("new.txt", "one\n")
    async with serve() as face:
        newer = (await face.http.get("/vcs/status")).json()
        known = (await face.http.get("/file/status")).json()
    assert newer == [
        {"file": "a.py", "additions": 2, "deletions": 1, "status": "modified"},
        {"file": "new.txt", "additions": 1, "deletions": 0, "status": "added"},
    ]
    assert [entry["path"] for entry in known] == ["a.py", "new.txt"]


@pytest.mark.slow
async def test_all_folders_are_opened_anew_but_one_that_works_which_is_told(serve, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    header = {"x-opencode-directory": quote(str(other))}
    async with serve() as face, face.events("/global/event") as events:
        await face.http.post("/session", headers=header)
        session_id = await face.session()
        turn = asyncio.create_task(face.say(session_id, "x <<slow 50>> <<words 20>>"))
        while (await face.http.get("/session/status")).json() == {}:
            pass
        refused = await face.http.post("/global/dispose")
        answer = (await turn).json()
        allowed = await face.http.post("/global/dispose")
        again = await face.say(session_id, "and again")
        while len(closed := [one for one in events.seen if "disposed" in one["payload"]["type"]]) < 3:
            await events.read()
    assert (refused.status_code, allowed.json(), session_id in refused.text) == (409, True, True)
    assert [one["payload"]["properties"]["directory"] for one in closed[:2]] == [
        str(other),
        str(answer["info"]["path"]["cwd"]),
    ]
    assert (closed[2]["directory"], closed[2]["payload"]) == ("global", {"type": "global.disposed", "properties": {}})
    assert "error" not in answer["info"] and "error" not in again.json()["info"]
