"""Slash commands over HTTP."""

import pytest

SETTINGS = {"command": {"greet": {"template": "Greetings to $ARGUMENTS"}}, "model": "fake/fake-model"}


@pytest.mark.slow
async def test_a_command_is_answered_as_the_prompt_that_it_stands_for(serve):
    async with serve(settings=SETTINGS) as face, face.events() as events:
        session_id = await face.session()
        given = {"command": "greet", "arguments": "all"}
        answer = (await face.http.post(f"/session/{session_id}/command", json=given)).json()
        seen = await events.until("command.executed")
    assert answer["parts"][1]["text"] == "Echo: Greetings to all"
    told = {"name": "greet", "sessionID": session_id, "arguments": "all", "messageID": answer["info"]["id"]}
    assert seen[-1]["properties"] == told


async def test_an_unknown_command_is_refused_and_nothing_is_stored(serve):
    async with serve(settings=SETTINGS) as face:
        session_id = await face.session()
        answer = await face.http.post(f"/session/{session_id}/command", json={"command": "none", "arguments": ""})
        stored = await face.messages(session_id)
    assert (answer.status_code, stored) == (400, [])
    assert "greet" in answer.json()["data"]["message"]


@pytest.mark.slow
async def test_init_answers_true_when_its_turn_is_over(serve):
    async with serve(settings=SETTINGS) as face:
        session_id = await face.session()
        body = {"messageID": "msg_0123456789abClientsOwnId12", "providerID": "fake", "modelID": "fake-model"}
        answer = await face.http.post(f"/session/{session_id}/init", json=body)
        stored = await face.messages(session_id)
        project = (await face.http.get("/project/current")).json()
    assert answer.json() is True and project["time"]["initialized"] >= project["time"]["created"]
    assert stored[0]["info"]["id"] == body["messageID"] and "AGENTS.md" in stored[0]["parts"][0]["text"]


async def test_a_command_of_an_untrusted_folder_is_refused_with_the_reason(serve, project):
    folder = project.path / ".opencode" / "commands"
    folder.mkdir(parents=True)
    (folder / "list.md").write_text("Files: !`ls`")
    async with serve(settings=SETTINGS) as face:
        session_id = await face.session()
        answer = await face.http.post(f"/session/{session_id}/command", json={"command": "list", "arguments": ""})
    told = answer.json()["data"]["message"]
    assert answer.status_code == 400 and "list.md" in told and "opencode-tui trust" in told


async def test_a_command_whose_template_needs_trust_is_refused_with_the_reason(serve, project):
    text = '{"command": {"home": {"description": "d", "template": "Look at {env:HOME}"}}}'
    (project.path / "opencode.json").write_text(text)
    async with serve(settings=SETTINGS) as face:
        session_id = await face.session()
        answer = await face.http.post(f"/session/{session_id}/command", json={"command": "home", "arguments": ""})
    message = answer.json()["data"]["message"]
    assert answer.status_code == 400 and "opencode.json" in message and "opencode-tui trust" in message
