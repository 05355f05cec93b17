"""Background commands over HTTP: their list, output, end and events."""

import json


async def test_a_client_lists_reads_and_stops_a_command_and_hears_of_it(serve) -> None:
    call = json.dumps({"command": "echo ready; sleep 4201", "description": "x", "background": True})
    async with serve() as face, face.events() as events:
        session_id = await face.session()
        await face.say(session_id, f"go <<tool bash {call}>>")
        started = (await events.until("background.updated"))[-1]["properties"]["info"]
        path = "/opencode-tui/background"
        (listed,) = (await face.http.get(path, params={"sessionID": session_id})).json()
        text = {"text": ""}
        while not text["text"]:
            text = (await face.http.get(f"{path}/bg1/output")).json()
        rest = (await face.http.get(f"{path}/bg1/output", params={"since": text["position"]})).json()
        stopped = (await face.http.post(f"{path}/bg1/stop")).json()
        ended = (await events.until("background.updated"))[-1]["properties"]["info"]
        unknown = await face.http.get(f"{path}/bg9/output")
        await face.say(session_id, f"go <<tool bash {call}>>")
        all_ended = (await face.http.post(f"{path}/end")).json()
        left = (await face.http.get(path)).json()
    assert ([one["id"] for one in all_ended], left) == (["bg2"], [])
    assert (started["id"], started["sessionID"], started["state"]) == ("bg1", session_id, "running")
    assert (listed["id"], text["text"], rest["text"]) == ("bg1", "ready\n", "")
    assert (stopped["state"], ended["state"], unknown.status_code) == ("stopped", "stopped", 404)
