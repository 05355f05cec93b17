"""The command itself: what it writes, and how it ends."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.storage.paths import find_paths
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.repo import make_repo
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


def test_the_command_writes_only_messages_and_leaves_no_process(tmp_path: Path, environ: dict[str, str]):
    folder = make_repo(tmp_path / "project").path
    with ModelServer() as model:
        line = CommandLine(folder, environ, provider=model.config(), settings={"model": "fake/fake-model"})
        check(line, folder)


def check(line: CommandLine, folder: Path) -> None:
    process = line.start("--log-level", "debug", "acp", stdin=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    lines = iter(process.stdout.readline, b"")

    def call(method: str, **params: Any) -> None:
        assert process.stdin is not None
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}).encode())
        process.stdin.write(b"\n")
        process.stdin.flush()

    call("initialize", protocolVersion=1)
    call("session/new", cwd=str(folder), mcpServers=[])
    session = next(one["result"]["sessionId"] for one in map(json.loads, lines) if one.get("id") == "session/new")
    text = '<<tool bash {"command": "echo started; sleep 60", "description": "waits"}>>'
    call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])
    assert any("started" in str(json.loads(one).get("params", {}).get("update", {}).get("content")) for one in lines)
    rest, _ = process.communicate()
    answers = [json.loads(one) for one in rest.splitlines()]
    assert [one["result"]["stopReason"] for one in answers if one.get("id") == "session/prompt"] == ["cancelled"]
    assert process.returncode == 0 and line.survivors(grace_s=PATIENCE_S) == []


def test_a_request_for_a_turn_is_canceled_by_its_id_and_the_session_goes_on(tmp_path: Path, environ: dict[str, str]):
    folder = make_repo(tmp_path / "project").path
    with ModelServer() as model:
        line = CommandLine(folder, environ, provider=model.config(), settings={"model": "fake/fake-model"})
        process = line.start("acp", stdin=subprocess.PIPE)
        given, lines = process.stdin, iter(process.stdout.readline, b"")  # pyright: ignore[reportOptionalMemberAccess] - pipes
        assert given is not None

        def send(**message: Any) -> None:
            given.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            given.flush()

        def answer(name: str | int) -> dict[str, Any]:
            return next(one for one in map(json.loads, lines) if one.get("id") == name and "method" not in one)[
                "result"
            ]

        def prompt(name: str | int, text: str) -> None:
            given_prompt = [{"type": "text", "text": text}]
            send(id=name, method="session/prompt", params={"sessionId": session, "prompt": given_prompt})

        send(id=1, method="initialize", params={"protocolVersion": 1})
        send(id=2, method="session/new", params={"cwd": str(folder), "mcpServers": []})
        session = answer(2)["sessionId"]
        send(method="$/cancel_request", params={"requestId": "unknown"})
        send(method="$/cancel_request", params={"requestId": [1]})
        prompt("three", '<<tool bash {"command": "echo started; sleep 60", "description": "waits"}>>')
        assert any(b"started" in one for one in lines)
        send(method="$/cancel_request", params={"requestId": "three"})
        assert answer("three")["stopReason"] == "cancelled"
        prompt(4, "hello")
        assert answer(4)["stopReason"] == "end_turn"
        process.communicate()
        assert (process.returncode, line.survivors(grace_s=PATIENCE_S)) == (0, [])


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("closed", ["output", "both"])
@pytest.mark.parametrize(
    ("words", "mark"),
    [
        ("<<slow 50>> <<words 400>>", "word3"),
        ('<<tool bash {"command": "printf asked", "description": "asks"}>>', "session/request_permission"),
    ],
    ids=["answer", "question"],
)
def test_a_client_that_is_gone_ends_the_command_and_its_turns(
    tmp_path: Path, environ: dict[str, str], version: int, closed: str, words: str, mark: str
):
    folder = make_repo(tmp_path / "project").path
    settings = {"model": "fake/fake-model", "permission": {"bash": "ask"}}
    with ModelServer() as model:
        line = CommandLine(folder, environ, provider=model.config(), settings=settings)
        process = line.start("acp", stdin=subprocess.PIPE)
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None

        def call(method: str, **params: Any) -> None:
            assert process.stdin is not None
            message = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()

        given = {"info": {"name": "a test", "version": "1"}, "capabilities": {}} if version == 2 else {}
        call("initialize", protocolVersion=version, **given)
        call("session/new", cwd=str(folder), mcpServers=[])
        lines = iter(process.stdout.readline, b"")
        session = next(one["result"]["sessionId"] for one in map(json.loads, lines) if one.get("id") == "session/new")
        call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": words}])
        assert any(mark.encode() in one for one in lines)
        process.stdout.close()
        if closed == "both":
            process.stdin.close()
        assert process.wait(PATIENCE_S) == 0 and process.stderr.read() == b""
        process.stdin.close()
        assert line.survivors(grace_s=PATIENCE_S) == []
    paths = find_paths(environ)
    assert list(paths.log.glob("error-*")) == []
    assert any("MessageAbortedError" in one.read_text() for one in paths.storage.rglob("msg_*.json"))


def test_a_device_that_never_ends_is_refused(tmp_path: Path, environ: dict[str, str]) -> None:
    process = CommandLine(make_repo(tmp_path / "project").path, environ).start("acp", stdin=subprocess.DEVNULL)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2 and b"standard input and output must be pipes" in errors
