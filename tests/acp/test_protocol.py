"""The command with a client that accepts only what the protocol's own schema describes; a recorded conversation."""

import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from tests.acp.strict_client import DATA, StrictClient
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import PACKAGE_ROOT, CommandLine
from tests.support.world.repo import make_repo
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


RECORDED = DATA / "conversation.json"
ASK = '<<tool bash {"command": "printf asked", "description": "asks"}>>'


ONCE = {"outcome": {"outcome": "selected", "optionId": "once"}}
NO_APPROVALS: list[dict[str, Any]] = [
    {"result": None},
    {"result": {}},
    {"result": []},
    {"result": {"outcome": "selected"}},
    {"result": {"outcome": {"outcome": "selected"}}},
    {"result": {"outcome": {"outcome": "selected", "optionId": 0}}},
    {"result": {"outcome": {"outcome": "selected", "optionId": "other"}}},
    {"result": {"outcome": {"outcome": "selected", "optionId": "host"}}},
    {"result": {"outcome": {"outcome": "selected", "optionId": "decline"}}},
    {"result": {"outcome": {"outcome": "postponed", "optionId": "once"}}},
    {"error": "refused"},
    {"error": ["refused"]},
    {"error": None},
    {"error": {"message": {"text": "refused"}, "code": "1"}},
    {"error": {"message": "refused", "code": -32603, "data": ONCE}},
    {},
]
"""Answers to a permission request of which none allows it: each differs from what JSON-RPC 2.0 and the protocol describe, or is a
failure, or names an option that the request does not have."""


def other_ids(given: int) -> list[Any]:
    """Return what is not the ID of a request, although Python finds some of them equal to it, or cannot look for them."""
    return [[given], {"id": given}, None, bool(given), float(given), str(given)]


@contextmanager
def started(
    folder: Path, environ: dict[str, str], version: int = 1, *, root: Path = PACKAGE_ROOT
) -> Generator[StrictClient]:
    """Yield a client of the command in a repository; the command must end with its input, and leave nothing behind.

    `root` is where Python finds the program.
    """
    settings = {"model": "fake/fake-model", "permission": {"bash": {"*": "allow", "printf asked": "ask"}}}
    make_repo(folder).commit("begin", **{"a.py": "x = 1\n"})
    with ModelServer() as model:
        line = CommandLine(folder, environ, provider=model.config(), settings=settings, root=root)
        process = line.start("acp", stdin=subprocess.PIPE)
        yield StrictClient(process, version)
        process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, line.survivors(grace_s=PATIENCE_S)) == (0, [])


def text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


def opened(client: StrictClient, folder: Path) -> str:
    found = client.call("initialize", protocolVersion=1, clientCapabilities={})
    assert {"resume", "close", "list"} <= found["agentCapabilities"]["sessionCapabilities"].keys()
    return client.call("session/new", cwd=str(folder), mcpServers=[])["sessionId"]


def test_a_session_is_closed_and_resumed_without_its_history(tmp_path: Path, environ: dict[str, str]):
    folder = tmp_path / "project"
    with started(folder, environ) as client:
        session = opened(client, folder)
        client.call("session/prompt", sessionId=session, prompt=text("first"))
        client.call("session/close", sessionId=session)
        refused = client.until(client.request("session/prompt", sessionId=session, prompt=text("no")))[0]
        assert "is not open" in refused["error"]["message"]
        answer, before = client.until(
            client.request("session/resume", sessionId=session, cwd=str(folder), mcpServers=[])
        )
        assert "result" in answer
        kinds = {one["params"]["update"]["sessionUpdate"] for one in before}
        assert kinds.isdisjoint({"user_message_chunk", "agent_message_chunk"})
        assert client.call("session/prompt", sessionId=session, prompt=text("second"))["stopReason"] == "end_turn"


def test_a_question_that_nobody_waits_for_any_more_is_canceled_at_the_client(tmp_path: Path, environ: dict[str, str]):
    folder = tmp_path / "project"
    with started(folder, environ) as client:
        session = opened(client, folder)
        prompt = client.request("session/prompt", sessionId=session, prompt=text(ASK))
        asked = client.until("session/request_permission")[0]
        client.notify("$/cancel_request", requestId=prompt)
        first, before = client.until("$/cancel_request")
        assert first["params"]["requestId"] == asked["id"]
        done = next((one for one in before if one.get("id") == prompt), None) or client.until(prompt)[0]
        assert done["result"]["stopReason"] == "cancelled"
        client.answer(asked, {"outcome": {"outcome": "cancelled"}})  # a late answer is ignored
        assert client.call("session/prompt", sessionId=session, prompt=text("on"))["stopReason"] == "end_turn"


def test_what_is_no_approval_rejects_and_the_session_goes_on(tmp_path: Path, environ: dict[str, str]):
    folder = tmp_path / "project"
    with started(folder, environ) as client:
        session, ends = opened(client, folder), list[tuple[str, str | None]]()
        for given in NO_APPROVALS:
            prompt = client.request("session/prompt", sessionId=session, prompt=text(ASK))
            asked = client.until("session/request_permission")[0]
            for other in other_ids(asked["id"]):
                client.send_anything(id=other, result=ONCE)
                client.send_anything(id=other, error="refused")
            client.send_anything(id=asked["id"], **given)
            answer, before = client.until(prompt)
            states = [one["params"]["update"].get("status") for one in before if "update" in one.get("params", ())]
            ends.append((answer["result"]["stopReason"], next(one for one in reversed(states) if one)))
        assert ends == [("end_turn", "failed")] * len(NO_APPROVALS)
        prompt = client.request("session/prompt", sessionId=session, prompt=text(ASK))
        client.answer(client.until("session/request_permission")[0], ONCE)
        assert "completed" in json.dumps(client.until(prompt)[1])


def test_an_answer_without_a_form_is_reported_to_the_user(tmp_path: Path, environ: dict[str, str]):
    folder = tmp_path / "project"
    with started(folder, environ) as client:
        session = opened(client, folder)
        prompt = client.request("session/prompt", sessionId=session, prompt=text(ASK))
        client.send_anything(id=client.until("session/request_permission")[0]["id"], result={"outcome": "selected"})
        assert "Your editor could not answer this question, so it counts as rejected." in json.dumps(
            client.until(prompt)[1]
        )


def test_a_recorded_conversation_is_answered_as_it_was(tmp_path: Path, environ: dict[str, str]):
    folder = tmp_path / "project"
    recorded: list[dict[str, Any]] = json.loads(RECORDED.read_text("utf-8"))
    with started(folder, environ) as client:
        names: dict[str, str] = {"FOLDER": str(folder)}
        for step in recorded:
            params = json.loads(_filled(json.dumps(step["params"]), names))
            answer, updates = _answered(client, client.request(step["method"], **params), names)
            if "sessionId" in answer:
                names["SESSION"] = answer["sessionId"]
            found = {
                "method": step["method"],
                "params": step["params"],
                "result": gist(answer, names),
                "updates": updates,
            }
            assert found == step


def _filled(given: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        given = given.replace(f"<{name}>", value)
    return given


def _answered(client: StrictClient, name: int, names: dict[str, str]) -> tuple[dict[str, Any], list[Any]]:
    """Return the result and what was sent before it; each permission request is allowed once."""
    seen: list[Any] = []
    while True:
        message = client.receive()
        match message:
            case {"id": given, "result": result} if given == name:
                return result, seen
            case {"method": "session/request_permission", "params": asked}:
                options = {one["kind"]: one["optionId"] for one in asked["options"]}
                client.answer(message, {"outcome": {"outcome": "selected", "optionId": options["allow_once"]}})
                seen.append(["asks", asked["toolCall"].get("title"), sorted(options)])
            case {"method": "session/update", "params": {"update": update}}:
                _add(seen, update, names)
            case _:
                raise AssertionError(message)


LEFT_OUT = ("updatedAt", "version", "configOptions", "modes", "usage", "title")
"""What the machine, the time and the version decide."""

UNORDERED = ("available_commands_update", "session_info_update", "config_option_update", "current_mode_update")
"""Updates that come when they are ready, with no fixed order."""


def _add(seen: list[Any], update: dict[str, Any], names: dict[str, str]) -> None:
    kind = update["sessionUpdate"]
    if kind in UNORDERED:
        return
    if kind.endswith("_chunk"):
        words = update["content"]["text"]
        if seen and seen[-1][0] == kind:
            seen[-1][1] += words
        else:
            seen.append([kind, words])
    elif kind.startswith("tool_call"):
        row = ["call", gist(update.get("title"), names), update.get("status")]
        if row not in seen:
            seen.append(row)
    elif not seen or seen[-1] != [kind]:
        seen.append([kind])


def gist(value: Any, names: dict[str, str]) -> Any:
    """Return a value without what differs from one run to the next."""
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        return {key: gist(one, names) for key, one in sorted(given.items()) if key not in LEFT_OUT}
    if isinstance(value, list):
        return [gist(one, names) for one in cast("list[Any]", value)]
    if isinstance(value, str):
        for name, written in names.items():
            value = value.replace(written, f"<{name}>")
    return value
