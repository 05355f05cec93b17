"""What OpenCode's own screen relies on when it attaches, seen on 1.0.185 to 1.18.33 in a terminal."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.server.routes.settings import DEFAULT_KEYS
from tests.support.world.server import Events

ASKS = '<<tool bash {"command":"echo asked","description":"says it"}>>'
QUESTION = {"question": "Which?", "header": "Pick", "options": [{"label": "Red"}, {"label": "Blue"}]}
WRITES = '<<tool write {"filePath":"b.txt","content":"one\\n"}>>'
RULES = {"permission": {"bash": "ask"}}


@pytest.mark.slow
async def test_every_key_of_its_has_a_value_and_those_of_the_person_win(serve):
    async with serve(settings={"keybinds": {"agent_list": "f3", "session_fork": "<leader>f"}}) as face:
        keys = (await face.http.get("/config")).json()["keybinds"]
        own = (await face.http.get("/opencode-tui/config")).json()["keybinds"]
    needed = ("leader", "command_list", "input_submit", "input_clear", "app_exit", "session_interrupt", "messages_undo")
    assert [keys[action] for action in needed] == [
        "ctrl+x", "ctrl+p", "return", "ctrl+c", "ctrl+c,ctrl+d,<leader>q", "escape", "<leader>u",
    ]  # fmt: skip
    assert keys == {**DEFAULT_KEYS, "agent_list": "f3", "session_fork": "<leader>f"} and len(keys) == 94
    assert own == {"agent_list": "f3", "session_fork": "<leader>f"}


@pytest.mark.slow
async def test_one_that_attaches_late_is_told_what_the_turn_waits_for(serve, project):
    async with serve(settings=RULES) as face, face.events() as early:
        asks, chooses = await face.session(), await face.session()
        turns = [asyncio.create_task(face.say(asks, f"do it {ASKS}"))]
        permission = (await early.until("permission.asked"))[-1]
        turns.append(
            asyncio.create_task(face.say(chooses, f"<<tool question {json.dumps({'questions': [QUESTION]})}>>"))
        )
        question = (await early.until("question.asked"))[-1]
        async with face.events() as late, face.events("/global/event") as everywhere:
            shown = [await next_question(late), await next_question(late)]
            wrapped = [await next_question(everywhere), await next_question(everywhere)]
        await face.http.post(f"/permission/{permission['properties']['id']}/reply", json={"reply": "once"})
        await face.http.post(f"/question/{question['properties']['id']}/reply", json={"answers": [["Red"]]})
        await asyncio.gather(*turns)
        async with face.events() as later:
            await face.session()
            shown_later = await later.until("session.created")
    assert shown == [permission, question] == [event["payload"] for event in wrapped]
    assert {event["directory"] for event in wrapped} == {str(project.path)}
    assert [event for event in shown_later if event["type"].endswith(".asked")] == []


async def next_question(events: Events) -> dict[str, Any]:
    """Return the next event of a question. Others may come before it: a session gets its title when the model has given one."""
    while not (event := await events.read()).get("payload", event)["type"].endswith(".asked"):
        pass
    return event


async def test_interrupting_an_idle_session_tells_it_that_nothing_runs(serve):
    """A screen that was cut off from a turn's end shows it running for ever; this is how it finds out."""
    async with serve() as face, face.events() as events:
        session_id = await face.session()
        assert (await face.http.post(f"/session/{session_id}/abort")).json() is True
        *_, status, idle = await events.until("session.idle")
        assert status["properties"] == {"sessionID": session_id, "status": {"type": "idle"}}
        assert idle["properties"] == {"sessionID": session_id}


async def test_a_written_file_is_shown_because_its_call_has_a_list_of_diagnostics(serve):
    async with serve() as face:
        session_id = await face.session()
        await face.say(session_id, WRITES)
        parts = [part for message in await face.messages(session_id) for part in message["parts"]]
    [call] = [part for part in parts if part["type"] == "tool"]
    assert call["state"]["metadata"]["diagnostics"] == {} and call["state"]["input"]["content"] == "one\n"


@pytest.mark.slow
async def test_a_refusal_says_so_in_the_words_that_it_does_not_show_as_a_failure(serve):
    async with serve(settings=RULES) as face, face.events() as events:
        session_id = await face.session()
        turn = asyncio.create_task(face.say(session_id, ASKS))
        asked = (await events.until("permission.asked"))[-1]["properties"]
        await face.http.post(f"/permission/{asked['id']}/reply", json={"reply": "reject"})
        await turn
        turn = asyncio.create_task(
            face.say(session_id, f"<<anew>><<tool question {json.dumps({'questions': [QUESTION]})}>>")
        )
        asked = (await events.until("question.asked"))[-1]["properties"]
        await face.http.post(f"/question/{asked['id']}/reject")
        await turn
        parts = [part for message in await face.messages(session_id) for part in message["parts"]]
    refused, dismissed = [part["state"]["error"] for part in parts if part["type"] == "tool"]
    assert "rejected permission" in refused and "user dismissed" in dismissed


@pytest.mark.slow
async def test_the_names_behind_an_at_sign_are_found_where_newer_ones_ask_for_them(serve, project, tmp_path):
    project.commit("more", **{"src/calculator.py": "x = 2\n"})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "calc.txt").write_text("x")
    asked = {"query": "src/calc", "limit": "20"}
    async with serve() as face:
        here = (await face.http.get("/api/fs/find", params=asked)).json()
        folders = (await face.http.get("/api/fs/find", params={"query": "src", "type": "directory"})).json()
        there = (
            await face.http.get("/api/fs/find", params={"query": "calc", "location[directory]": str(elsewhere)})
        ).json()
        current = (await face.http.get("/project/current")).json()
    home = {"id": current["id"], "directory": str(project.path)}
    assert here == {
        "location": {"directory": str(project.path), "project": home},
        "data": [{"path": "src/calculator.py", "type": "file"}],
    }
    assert folders["data"] == [{"path": "src/", "type": "directory"}]
    assert (there["location"]["directory"], there["data"]) == (
        str(elsewhere),
        [{"path": "calc.txt", "type": "file"}],
    )


@pytest.mark.slow
async def test_a_file_named_where_the_screen_runs_is_read_where_the_server_runs(serve, project, tmp_path):
    """Before 1.2 the screen joins the name that it was offered with its own folder."""
    elsewhere, secret = tmp_path / "elsewhere", tmp_path / "secret.txt"
    secret.write_text("SECRET")

    def mention(name: str, place: Path) -> dict:
        text = {"start": 8, "end": 10, "value": f"@{name}"}
        source = {"type": "file", "text": text, "path": name}
        return {"type": "file", "mime": "text/plain", "filename": name, "url": f"file://{place}", "source": source}

    project.commit("two", **{"b.py": "HERE = 1\n"})
    elsewhere.mkdir()
    (elsewhere / "b.py").write_text("THERE = 1\n")
    async with serve() as face:
        session_id = await face.session()
        for name, place in (
            ("a.py", elsewhere / "a.py"),
            ("b.py", elsewhere / "b.py"),
            ("../secret.txt", elsewhere / "secret.txt"),
        ):
            await face.say(session_id, "x", parts=[{"type": "text", "text": "look"}, mention(name, place)])
        asked = [message for message in await face.messages(session_id) if message["info"]["role"] == "user"]
    lost, there, outside = ["".join(part.get("text", "") for part in message["parts"]) for message in asked]
    assert "x = 1" in lost and "THERE = 1" in there
    assert "could not be read" in outside and "SECRET" not in outside
