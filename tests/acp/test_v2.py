"""Version 2 of the protocol: the command with a client made from its schema, and a recorded conversation."""

import json
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.storage.paths import find_paths
from tests.acp.strict_client import DATA, StrictClient
from tests.acp.test_protocol import ASK, NO_APPROVALS, gist, other_ids, started, text
from tests.support.world.cli import PACKAGE_ROOT

pytestmark = pytest.mark.slow


RECORDED = DATA / "conversation-v2.json"
WAIT = '<<tool bash {"command": "echo begun; sleep 60", "description": "waits"}>>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "project"


def opened(client: StrictClient, folder: Path, *, version: int = 2) -> str:
    info = {"name": "a test", "version": "1"}
    found = client.call("initialize", protocolVersion=version, info=info, capabilities={})
    assert found["protocolVersion"] == 2 and found["capabilities"]["session"]["fork"] == {}
    return client.call("session/new", cwd=str(folder))["sessionId"]


def updates(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one["params"]["update"] for one in messages if one.get("method") == "session/update"]


def until_idle(client: StrictClient, seen: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    """Return the updates up to the end of the turn; each permission request is allowed once."""
    found = seen if seen is not None else []
    while not found or found[-1].get("state") != "idle":
        message = client.receive()
        if message.get("method") == "session/request_permission":
            [chosen] = [one["optionId"] for one in message["params"]["options"] if one["kind"] == "allow_once"]
            client.answer(message, {"outcome": {"outcome": "selected", "optionId": chosen}})
            found.append({"sessionUpdate": "asks", **message["params"]})
        elif message.get("method") == "session/update":
            found.append(message["params"]["update"])
    return found


def prompted(client: StrictClient, session: str, words: str) -> tuple[str, list[dict[str, Any]]]:
    """Send a prompt; return the ID of its message and all updates of its turn."""
    answer, before = client.until(client.request("session/prompt", sessionId=session, prompt=text(words)))
    return answer["result"]["messageId"], until_idle(client, updates(before))


def states(found: list[dict[str, Any]]) -> list[str]:
    return [one["state"] for one in found if one["sessionUpdate"] == "state_update"]


def said(found: list[dict[str, Any]], kind: str = "agent_message_chunk") -> str:
    return "".join(one["content"]["text"] for one in found if one["sessionUpdate"] == kind)


def test_a_prompt_is_accepted_and_updates_report_its_turn(folder: Path, environ: dict[str, str]):
    with started(folder, environ, 2) as client:
        session = opened(client, folder)
        message, found = prompted(client, session, "hello <<reason thinking>>")
        kinds = [one["sessionUpdate"] for one in found]
        [request] = [one for one in found if one["sessionUpdate"] == "user_message"]
        assert request == {
            "sessionUpdate": "user_message",
            "messageId": message,
            "content": text("hello <<reason thinking>>"),
        }
        assert kinds.index("user_message") < kinds.index("state_update") < kinds.index("agent_message_chunk")
        assert (said(found), said(found, "agent_thought_chunk")) == ("Echo: hello", "thinking")
        assert states(found) == ["running", "idle"]
        assert found[-1]["stopReason"] == "end_turn" and found[-1]["usage"]["outputTokens"] > 0
        of_kind = {one["sessionUpdate"]: one["messageId"] for one in found if "messageId" in one}
        assert len(set(of_kind.values())) == len(of_kind) == 3  # the request, the thought and the answer


def test_a_call_that_asks_makes_the_session_wait_for_the_user(folder: Path, environ: dict[str, str]):
    with started(folder, environ, 2) as client:
        _, found = prompted(client, opened(client, folder), ASK)
        assert states(found) == ["running", "requires_action", "running", "idle"]
        [asked] = [one for one in found if one["sessionUpdate"] == "asks"]
        call = asked["subject"]["toolCall"]["toolCallId"]
        calls = [one for one in found if one["sessionUpdate"] == "tool_call_update"]
        assert {one["toolCallId"] for one in calls} == {call}
        assert [calls[0]["name"], calls[0]["status"], calls[-1]["status"]] == ["bash", "pending", "completed"]
        assert "printf asked" in asked["title"]


def test_an_edit_is_a_patch(folder: Path, environ: dict[str, str]):
    given = {"filePath": "new.txt", "content": "one\ntwo"}
    with started(folder, environ, 2) as client:
        _, found = prompted(client, opened(client, folder), f"<<tool write {json.dumps(given)}>>")
        contents = [
            one["content"] for one in found if one["sessionUpdate"] == "tool_call_update" and one.get("content")
        ]
        [diff] = [one for one in contents[-1] if one["type"] == "diff"]
        path = str(folder.resolve() / "new.txt")
        assert diff["changes"] == [{"operation": "add", "path": path}]
        assert diff["patch"]["text"].splitlines()[2:] == [
            "--- /dev/null",
            f"+++ b{path}",
            "@@ -0,0 +1,2 @@",
            "+one",
            "+two",
            "\\ No newline at end of file",
        ]


def test_a_canceled_turn_and_the_one_behind_it_end_as_canceled(folder: Path, environ: dict[str, str]):
    with started(folder, environ, 2) as client:
        session = opened(client, folder)
        first = client.call("session/prompt", sessionId=session, prompt=text(WAIT))["messageId"]
        while "begun" not in json.dumps(client.receive()):
            pass
        second = client.call("session/prompt", sessionId=session, prompt=text("second"))["messageId"]
        client.notify("session/cancel", sessionId=session)
        ends = [until_idle(client), until_idle(client)]
        assert [one[-1]["stopReason"] for one in ends] == ["cancelled", "cancelled"]
        [echoed] = [one for one in ends[1] if one["sessionUpdate"] == "user_message"]
        assert echoed["messageId"] == second != first
        assert prompted(client, session, "on")[1][-1]["stopReason"] == "end_turn"


def test_a_turn_ends_with_the_input_of_the_client_and_leaves_nothing_running(folder: Path, environ: dict[str, str]):
    with started(folder, environ, 2) as client:
        client.call("session/prompt", sessionId=opened(client, folder), prompt=text(WAIT))
        while "begun" not in json.dumps(client.receive()):
            pass


def test_a_question_of_an_interrupted_turn_is_canceled_at_the_client(folder: Path, environ: dict[str, str]):
    with started(folder, environ, 2) as client:
        session = opened(client, folder)
        client.call("session/prompt", sessionId=session, prompt=text(ASK))
        asked = client.until("session/request_permission")[0]
        client.notify("session/cancel", sessionId=session)
        assert client.until("$/cancel_request")[0]["params"]["requestId"] == asked["id"]
        assert until_idle(client)[-1]["stopReason"] == "cancelled"


def test_what_is_no_approval_rejects_and_the_session_goes_on(folder: Path, environ: dict[str, str]):
    with started(folder, environ, 2) as client:
        session, ends = opened(client, folder), list[tuple[str, str]]()
        for given in NO_APPROVALS:
            client.call("session/prompt", sessionId=session, prompt=text(ASK))
            asked = client.until("session/request_permission")[0]
            for other in other_ids(asked["id"]):
                client.send_anything(id=other, error="refused")
            client.send_anything(id=asked["id"], **given)
            found = until_idle(client)
            statuses = [one["status"] for one in found if "status" in one]
            ends.append((found[-1]["stopReason"], statuses[-1]))
        assert ends == [("end_turn", "failed")] * len(NO_APPROVALS)
        assert "completed" in json.dumps(prompted(client, session, ASK)[1])


def test_a_session_is_resumed_with_or_without_its_history(folder: Path, environ: dict[str, str]):
    with started(folder, environ, 2) as client:
        session = opened(client, folder)
        message, _ = prompted(client, session, "first")
        client.call("session/close", sessionId=session)
        refused = client.until(client.request("session/prompt", sessionId=session, prompt=text("no")))[0]
        assert "is not open" in refused["error"]["message"]
        _, before = client.until(client.request("session/resume", sessionId=session, cwd=str(folder)))
        assert {one["sessionUpdate"] for one in updates(before)}.isdisjoint(
            {"user_message_chunk", "agent_message_chunk"}
        )
        client.call("session/close", sessionId=session)
        start = {"type": "start"}
        _, before = client.until(client.request("session/resume", sessionId=session, cwd=str(folder), replayFrom=start))
        [request] = [one for one in updates(before) if one["sessionUpdate"] == "user_message_chunk"]
        assert (request["messageId"], said(updates(before))) == (message, "Echo: first")
        unknown = client.until(
            client.request("session/resume", sessionId=session, cwd=str(folder), replayFrom={"type": "_middle"})
        )[0]
        assert "cannot be replayed from '_middle'" in unknown["error"]["message"]


def test_a_session_is_forked_and_both_are_listed(folder: Path, environ: dict[str, str]):
    with started(folder, environ, 2) as client:
        session = opened(client, folder)
        prompted(client, session, "first")
        fork = client.call("session/fork", sessionId=session, cwd=str(folder))["sessionId"]
        listed = client.call("session/list", cwd=str(folder))["sessions"]
        assert {one["sessionId"] for one in listed} == {session, fork} and session != fork
        assert prompted(client, fork, "second")[1][-1]["stopReason"] == "end_turn"


def test_a_failed_turn_says_why_and_ends(folder: Path, environ: dict[str, str]):
    with started(folder, environ, 2) as client:
        session = opened(client, folder)
        _, found = prompted(client, session, "<<error 401 bad key>>")
        assert found[-1]["state"] == "idle" and found[-1]["stopReason"] == "_error"
        assert "fake" in said(found) and "opencode-tui auth login" in said(found)
        assert prompted(client, session, "<<anew>> on")[1][-1]["stopReason"] == "end_turn"


_FAULT = """
from opencode_tui.acp.session import OpenSession
answered, faults = OpenSession._response, [ValueError("a fault of ours")]
async def response(self, *given, **named):
    if faults:
        raise faults.pop()
    return await answered(self, *given, **named)
OpenSession._response = response
"""


def test_a_turn_ends_for_its_client_when_the_program_has_a_fault(folder: Path, environ: dict[str, str]):
    faulty = folder.parent / "faulty"
    faulty.mkdir()
    (faulty / "sitecustomize.py").write_text(_FAULT)
    (faulty / "opencode_tui").symlink_to(PACKAGE_ROOT / "opencode_tui")
    with started(folder, environ, 2, root=faulty) as client:
        session = opened(client, folder)
        _, found = prompted(client, session, "hello")
        assert found[-1]["state"] == "idle" and found[-1]["stopReason"] == "_error"
        assert "ValueError: a fault of ours" in said(found)
        assert prompted(client, session, "<<anew>> on")[1][-1]["stopReason"] == "end_turn"
    [log] = [one for one in (find_paths(environ).log).iterdir() if "a fault of ours" in one.read_text()]
    assert f"a turn of {session} failed" in log.read_text()


def test_keys_that_were_stored_are_used_after_a_login_and_none_is_removed(folder: Path, environ: dict[str, str]):
    with started(folder, environ, 2) as client:
        info = {"name": "a test", "version": "1"}
        found = client.call("initialize", protocolVersion=2, info=info, capabilities={})
        [method] = found["authMethods"]
        assert method["type"] == "agent" and "opencode-tui auth login" in method["description"]
        session = client.call("session/new", cwd=str(folder))["sessionId"]
        assert client.call("auth/login", methodId=method["methodId"]) == {}
        assert prompted(client, session, "on")[1][-1]["stopReason"] == "end_turn"
        refused = client.until(client.request("auth/logout"))[0]["error"]["message"]
        assert "opencode-tui auth logout" in refused


def test_a_mode_is_an_option(folder: Path, environ: dict[str, str]):
    with started(folder, environ, 2) as client:
        session = opened(client, folder)
        answer = client.call("session/set_config_option", sessionId=session, configId="mode", type="id", value="plan")
        assert {one["configId"]: one["currentValue"] for one in answer["configOptions"]}["mode"] == "plan"


@pytest.mark.parametrize(("asked", "answered"), [(1, 1), (2, 2), (3, 2), (65535, 2)])
def test_the_newest_version_of_both_sides_is_chosen(folder: Path, environ: dict[str, str], asked: int, answered: int):
    with started(folder, environ, answered) as client:
        given = {"info": {"name": "a test", "version": "1"}} if answered == 2 else {}
        assert client.call("initialize", protocolVersion=asked, **given)["protocolVersion"] == answered


def test_a_recorded_conversation_is_answered_as_it_was(folder: Path, environ: dict[str, str]):
    recorded: list[dict[str, Any]] = json.loads(RECORDED.read_text("utf-8"))
    with started(folder, environ, 2) as client:
        found = [answered(client, step, names) for names in [{"FOLDER": str(folder)}] for step in recorded]
    assert found == recorded


def answered(client: StrictClient, step: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return a step of the conversation as it is now: its result, and what was sent until it, or until the turn's end."""
    given = json.dumps(step["params"])
    for name, value in names.items():
        given = given.replace(f"<{name}>", value)
    answer, before = client.until(client.request(step["method"], **json.loads(given)))
    seen = updates(before)
    if step["method"] == "session/prompt":
        names["MESSAGE"] = answer["result"]["messageId"]
        until_idle(client, seen)
    if "sessionId" in answer["result"]:
        names["SESSION"] = answer["result"]["sessionId"]
    return {
        "method": step["method"],
        "params": step["params"],
        "result": gist(answer["result"], names),
        "updates": joined([one for one in map(summary, seen) if one]),
    }


def joined(rows: list[list[Any]]) -> list[list[Any]]:
    """Return the rows with each text in one piece, and each state of a call once: the time decides how they come."""
    found: list[list[Any]] = []
    for row in rows:
        if row[0].endswith("_chunk") and found and found[-1][0] == row[0]:
            found[-1][1] += row[1]
        elif row[0] != "call" or row not in found:
            found.append(row)
    return found


def summary(update: dict[str, Any]) -> list[Any]:
    """Return what an update says that is the same in each run; nothing of those that come when they are ready."""
    match update["sessionUpdate"]:
        case "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk" as kind:
            return [kind, update["content"]["text"]]
        case "user_message":
            return ["user_message", update["content"]]
        case "state_update":
            return ["state_update", update["state"], update.get("stopReason")]
        case "tool_call_update":
            return ["call", update.get("title"), update.get("status")]
        case "asks":
            return ["asks", update["title"], sorted(one["kind"] for one in update["options"])]
        case "plan_update":
            return ["plan", update["plan"]]
        case _:
            return []
