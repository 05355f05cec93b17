"""Requests in the shape in which clients of older generations, and editors' plugins, send them."""

import uuid

import pytest


def older(text: str, **fields: object) -> dict[str, object]:
    """A message as the Python package and the first SDKs write it."""
    return {"providerID": "fake", "modelID": "fake-model", "parts": [{"type": "text", "text": text}], **fields}


@pytest.mark.slow
async def test_the_model_and_the_mode_beside_the_parts_are_those_that_answer(serve):
    async with serve(settings={"agent": {"careful": {"mode": "primary", "prompt": "Be careful."}}}) as face:
        session_id = await face.session()
        await face.http.post(f"/session/{session_id}/message", json=older("hello", mode="careful"))
        user, assistant = await face.messages(session_id)
    assert (user["info"]["agent"], assistant["info"]["mode"]) == ("careful", "careful")
    assert user["info"]["model"] == {"providerID": "fake", "modelID": "fake-model"}
    assert not {"providerID", "modelID", "mode"} & set(user["info"])


@pytest.mark.fast_cases("change0")
@pytest.mark.parametrize("change", [{"modelID": "none"}, {"providerID": "nobody"}, {"mode": "nobody"}])
async def test_a_model_or_mode_that_is_not_there_is_told_instead_of_replaced(serve, model, change):
    async with serve() as face:
        session_id = await face.session()
        answers = [
            await face.http.post(f"/session/{session_id}/{route}", json=older("x", **change))
            for route in ("message", "prompt_async")
        ]
        stored = await face.messages(session_id)
    assert ([answer.status_code for answer in answers], stored, model.requests) == ([400, 400], [], [])


async def test_present_names_go_before_older_ones(serve):
    async with serve() as face:
        session_id = await face.session()
        answer = await face.say(session_id, "hi", providerID="nobody", modelID="none", mode="nobody", agent="plan")
    assert (answer.json()["info"]["modelID"], answer.json()["info"]["mode"]) == ("fake-model", "plan")


@pytest.mark.slow
async def test_a_part_with_an_id_of_an_editors_making_gets_one_of_ours(serve):
    part = {"id": str(uuid.uuid4()), "type": "text", "text": "from the editor"}
    async with serve() as face:
        session_id = await face.session()
        await face.http.post(f"/session/{session_id}/message", json=older("", sessionID=session_id, parts=[part]))
        (stored,) = (await face.messages(session_id))[0]["parts"]
    assert (stored["text"], stored["id"][:4], len(stored["id"])) == ("from the editor", "prt_", 30)


async def test_the_app_is_the_machine_and_the_folder(serve, project):
    async with serve() as face:
        app = (await face.http.get("/app")).json()
        opened = (await face.http.post("/app/init")).json()
        places = (await face.http.get("/path")).json()
    assert (app["git"], opened, app["path"]["cwd"], app["path"]["root"]) == (True, True, *[str(project.path)] * 2)
    assert {name: app["path"][name] for name in ("config", "data", "state")} == {
        name: places[name] for name in ("config", "data", "state")
    }
    assert app["hostname"] and "initialized" not in app["time"]


async def test_modes_are_the_agents_that_one_can_talk_to(serve):
    settings = {"agent": {"careful": {"mode": "primary", "model": "fake/fake-model"}, "plan": {"disable": True}}}
    async with serve(settings=settings) as face:
        modes = (await face.http.get("/mode")).json()
    assert modes == [
        {"name": "build", "tools": {}},
        {"name": "careful", "model": {"providerID": "fake", "modelID": "fake-model"}, "tools": {}},
    ]


@pytest.mark.slow
async def test_a_permission_is_answered_through_the_route_of_the_first_clients(serve):
    async with serve(settings={"permission": {"bash": "ask"}}) as face, face.events() as events:
        session_id = await face.session()
        text = 'do <<tool bash {"command":"echo said","description":"d"}>>'
        await face.http.post(f"/session/{session_id}/prompt_async", json=older(text))
        asked = (await events.until("permission.asked"))[-1]["properties"]
        answer = await face.http.post(f"/session/{session_id}/permissions/{asked['id']}", json={"response": "once"})
        await events.until("session.idle")
        parts = [part for message in await face.messages(session_id) for part in message["parts"]]
    assert answer.json() is True
    assert [part["state"]["output"].strip() for part in parts if part["type"] == "tool"] == ["said"]
