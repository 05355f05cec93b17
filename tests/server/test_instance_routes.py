"""Keys, and a folder that is opened anew."""

import asyncio
import json

import pytest


@pytest.mark.slow
async def test_a_key_counts_at_once_and_in_an_instance_opened_anew_and_never_comes_back(serve, paths):
    async with serve() as face, face.events() as events:
        stored = await face.http.put("/auth/openai", json={"type": "api", "key": "sk-canary"})
        before = (await face.http.get("/provider")).json()["connected"]
        disposed = await face.http.post("/instance/dispose")
        seen = await events.until("server.instance.disposed")
        after = (await face.http.get("/provider")).json()["connected"]
        shown = (await face.http.get("/config")).text + (await face.http.get("/config/providers")).text
        kept = json.loads(paths.auth.read_text())
        forgotten = (await face.http.delete("/auth/openai")).json()
    assert (stored.json(), disposed.json(), forgotten) == (True, True, True)
    assert ("openai" in before, "openai" in after, "canary" in shown) == (True, True, False)
    assert kept["openai"]["key"] == "sk-canary" and json.loads(paths.auth.read_text()) == {}
    assert seen[-1]["properties"]["directory"].endswith("project")


@pytest.mark.slow
async def test_nothing_is_closed_under_a_turn(serve):
    async with serve() as face, face.events() as events:
        session_id = await face.session()
        turn = asyncio.create_task(face.say(session_id, "x <<slow 50>> <<words 20>>"))
        await events.until("session.status")
        refused = await face.http.post("/instance/dispose")
        answer = (await turn).json()
        await events.until("session.idle")
        allowed = await face.http.post("/instance/dispose")
        again = (await face.say(session_id, "and again")).json()
    assert (refused.status_code, allowed.status_code) == (409, 200)
    assert "error" not in answer["info"] and "error" not in again["info"]


async def test_a_key_of_another_kind_and_a_strange_provider_are_refused(serve):
    async with serve() as face:
        answers = [
            await face.http.put("/auth/openai", json={"type": "oauth", "refresh": "sk-canary"}),
            await face.http.put("/auth/openai", json={"type": "api", "key": ""}),
            await face.http.put("/auth/..%20", json={"type": "api", "key": "x"}),
        ]
    assert [answer.status_code for answer in answers] == [400, 400, 400]
    assert "canary" not in answers[0].text


async def test_a_provider_without_a_sign_in_says_how_it_gets_a_key(serve):
    async with serve() as face:
        begun = await face.http.post("/provider/openai/oauth/authorize", json={"method": 0})
        ended = await face.http.post("/provider/openai/oauth/callback", json={"method": 0, "code": "x"})
    assert [begun.status_code, ended.status_code] == [400, 400]
    assert begun.json()["name"] == "ProviderAuthOauthMissing" and "auth login openai" in begun.json()["data"]["message"]


async def test_a_project_is_renamed_and_keeps_what_the_change_does_not_name(serve):
    async with serve() as face, face.events() as events:
        project = (await face.http.get("/project/current")).json()
        path = f"/project/{project['id']}"
        await face.http.patch(path, json={"name": "Mine", "icon": {"color": "#ff0000"}, "commands": {"start": "true"}})
        changed = (await face.http.patch(path, json={"icon": {"url": "x"}})).json()
        listed = (await face.http.get("/project")).json()
        updated = [(await events.until("project.updated"))[-1]["properties"] for _ in range(2)]
        unknown = await face.http.patch("/project/none", json={"name": "x"})
        wrong = await face.http.patch(path, json={"name": 1})
    assert (changed["name"], changed["icon"], changed["commands"]) == (
        "Mine",
        {"color": "#ff0000", "url": "x"},
        {"start": "true"},
    )
    assert listed == [changed] == updated[1:] and changed["worktree"] == project["worktree"]
    assert (unknown.status_code, wrong.status_code) == (404, 400)
