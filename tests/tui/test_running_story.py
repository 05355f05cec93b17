"""Two terminals in two folders: one answers, stops and opens what the other one works on."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.terminal.screen_terminal import Open, ScreenTerminal
from tests.support.world.cli import CommandLine

pytestmark = pytest.mark.slow


@pytest.fixture
def settings() -> dict[str, Any]:
    return {"model": "fake/fake-model", "permission": {"bash": "ask"}}


def test_a_question_is_answered_and_a_session_stopped_and_opened_from_another_folder(
    start: Open, line: CommandLine, folder: Path
) -> None:
    other = folder.parent / "other"
    other.mkdir()
    words = ["-m", "opencode_tui"]
    with start() as asking:
        asking.sees("Ask anything")
        asking.type('one <<tool bash {"command": "echo first"}>><<tool bash {"command": "sleep 4099"}>>\r')
        asking.sees("run once")
        # Neither folder has a repository: this one lists the session as one of its project from the start.
        with ScreenTerminal(words, folder=other, environ=line.variables(), size=(80, 24)) as terminal:
            answer_stop_and_open(asking, terminal)


def answer_stop_and_open(asking: ScreenTerminal, terminal: ScreenTerminal) -> None:
    terminal.sees("Ask anything")
    terminal.type("/running\r")
    assert "1 asks you" in terminal.sees("echo first")
    terminal.sees("y run once")
    terminal.answer("y")
    terminal.sees("sleep 4099")  # the next question of the session
    terminal.sees_no_more("echo first")
    terminal.sees("y run once")
    terminal.answer("y")
    terminal.sees_no_more("y run once")
    asking.sees("Running sleep")
    terminal.sees("works")
    terminal.press("s")
    asking.sees("Interrupted")
    terminal.sees("Nothing runs")
    terminal.press("escape")

    asking.type('two <<tool bash {"command": "echo second"}>>\r')
    asking.sees("run once")
    terminal.sees("Ask anything")
    terminal.press("ctrl+x")
    terminal.type("z")
    terminal.sees("echo second")
    terminal.press("enter")
    terminal.sees("needs approval")  # the session, in its own folder, shared with the first terminal
    terminal.sees("run once")
    terminal.answer("y")
    asking.sees("Done")
    terminal.sees("Done")
