"""The command itself: what it writes, and how it ends."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.repo import make_repo
from tests.support.world.waiting import PATIENCE_S


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


def test_a_device_that_never_ends_is_refused(tmp_path: Path, environ: dict[str, str]) -> None:
    process = CommandLine(make_repo(tmp_path / "project").path, environ).start("acp", stdin=subprocess.DEVNULL)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2 and b"standard input and output must be pipes" in errors


def test_the_library_is_imported_without_what_is_not_used_and_pydantic_stays_as_it_was() -> None:
    code = (
        "from opencode_tui.acp.library import load_library; load_library()\n"
        "from acp.schema import InitializeRequest, SessionNotification\n"
        "from pydantic import BaseModel, ConfigDict\n"
        "assert not SessionNotification.__pydantic_complete__\n"
        "given = InitializeRequest.model_validate({'protocolVersion': 1})\n"
        "assert given.protocol_version == 1 and InitializeRequest.__pydantic_complete__\n"
        "class Own(BaseModel):\n"
        "    model_config = ConfigDict(use_attribute_docstrings=True)\n"
        "    field: int = 0\n"
        "    '''Described.'''\n"
        "assert Own.__pydantic_complete__\n"
        "print(__import__('pydantic').VERSION)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE_S)
