"""kill -9 while a summary is written: the history has not changed, and nothing is busy afterwards."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.storage.paths import Paths
from tests.support.provider.model_script import Answer, content_text
from tests.support.provider.model_server import ModelServer, asks_for_summary
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.in_process import LineInProcess, in_process
from tests.support.world.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def here(line: CommandLine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> LineInProcess:
    """The commands before and after that which a signal ends, without a process for each."""
    return in_process(line, monkeypatch, capsys)


def session_record(paths: Paths, session_id: str) -> dict[str, Any]:
    [file] = Path(paths.storage, "session").rglob(f"{session_id}.json")
    return json.loads(file.read_bytes())


def test_a_killed_compaction_keeps_the_history_and_is_repaired(
    line: CommandLine, here: LineInProcess, server: ModelServer, paths: Paths
) -> None:
    session_id = here.turn("remember the pineapple").session_id
    server.summary_answers.append(Answer(text="slow " * 200, delay_ms=30))
    killed = line.start("session", "compact", session_id)
    wait_until(lambda: any(asks_for_summary(body) for body in server.bodies))
    wait_until(lambda: "compacting" in session_record(paths, session_id)["time"])
    killed.kill()
    kill_session(killed)
    assert "compacting" in session_record(paths, session_id)["time"]
    after = here.turn("and now", "-c")
    sent = [content_text(one["content"]) for one in server.bodies[-1]["messages"] if one["role"] != "system"]
    assert after.code == 0 and sent == ["remember the pineapple", "Echo: remember the pineapple", "and now"]
    assert "compacting" not in session_record(paths, session_id)["time"]


def test_ctrl_c_ends_a_compaction_in_order(
    line: CommandLine, here: LineInProcess, server: ModelServer, paths: Paths
) -> None:
    session_id = here.turn("remember the pineapple").session_id
    server.summary_answers.append(Answer(text="slow " * 200, delay_ms=30))
    running = line.start("session", "compact", session_id)
    wait_until(lambda: any(asks_for_summary(body) for body in server.bodies))
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=PATIENCE_S)
    assert (running.returncode, b"Traceback" in errors) == (130, False)
    assert "compacting" not in session_record(paths, session_id)["time"]
