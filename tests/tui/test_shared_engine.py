"""Several terminals in one folder: they show the same live, any of them may send, and one that is killed is replaced."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.storage.paths import Paths
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.command import Terminal
from tests.support.terminal.screen_terminal import Open, ScreenTerminal
from tests.support.world.cli import CommandLine

EDIT = 'make it <<tool write {"filePath":"made.txt","content":"by the agent\\n"}>>\r'
COUNT = "count <<slow 20>> <<words 400>>\r"


def conversation(terminal: ScreenTerminal) -> list[str]:
    """Return the rows above the activity line, without the blank ones."""
    lines = terminal.lines()
    end = next(at for at, line in enumerate(lines) if "Ask anything" in line)
    return [line for line in lines[: end - 2] if line.strip()]


def test_both_show_turns_live_and_either_sends(start: Open, server: ModelServer) -> None:
    both_look = threading.Event()
    server.script(Answer(text="begun then-more", holds=(("then-more", both_look),)))
    with start() as first:
        first.sees("Ask anything")
        first.type("one\r")
        first.sees("begun")
        with start("-c") as second:
            second.sees("begun")
            second.type("from the second\r")
            first.sees("queued")
            both_look.set()
            for terminal in (first, second):
                terminal.sees("then-more")
                terminal.sees("Echo: from the second")
                terminal.sees("Done")
            for number in range(4):
                (first, second)[number % 2].type(f"turn {number}\r")
                for terminal in (first, second):
                    terminal.sees(f"Echo: turn {number}")
                    terminal.sees("Done")
            assert conversation(first) == conversation(second)


class TestQuestions:
    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {"model": "fake/fake-model", "permission": {"edit": "ask"}}

    def test_a_question_is_shown_in_both_and_answered_once(self, start: Open, folder: Path) -> None:
        with start() as first:
            first.sees("Ask anything")
            first.type("begin\r")
            first.sees("Done")
            with start("-c") as second:
                second.sees("Echo: begin")
                first.type(EDIT)
                first.sees("made.txt")
                first.sees("edit once")
                second.sees("edit once")
                second.answer("y")
                for terminal in (first, second):
                    terminal.sees_no_more("edit once")
                    terminal.sees("Done")
        assert (folder / "made.txt").read_text() == "by the agent\n"


def test_when_the_one_that_works_is_killed_the_other_says_so_and_continues(start: Open) -> None:
    with start() as first:
        first.sees("Ask anything")
        first.type(COUNT)
        first.sees("word5 ")
        with start("-c") as second:
            second.sees("interrupt")
            second.type("a draft")
            second.sees("a draft")
            first.process.kill()
            shown = second.sees("this one has the engine now")
            assert "a draft" in shown and "Session ended unexpectedly" in shown and "interrupt" not in shown
            second.press("enter")
            second.sees("Echo: a draft")


def test_one_of_the_rest_replaces_the_engine_and_the_others_use_it(start: Open, paths: Paths) -> None:
    with start() as first:
        first.sees("Ask anything")
        first.type("begin\r")
        first.sees("Done")
        with start("-c") as second, start("-c") as third:
            for terminal in (second, third):
                terminal.sees("Shared live with another terminal")
            first.process.kill()
            for terminal in (second, third):
                terminal.sees("has ended")
            (record,) = paths.terminals.glob("*.json")
            assert json.loads(record.read_text())["pid"] in (second.process.pid, third.process.pid)
            for at, terminal in enumerate((second, third)):
                terminal.type(f"turn {at}\r")
                for other in (second, third):
                    other.sees(f"Echo: turn {at}")
                    other.sees("Done")
            assert conversation(second) == conversation(third)


def test_who_quits_with_the_engine_is_asked_and_the_other_continues(start: Open) -> None:
    with start() as first:
        first.sees("Ask anything")
        first.type("begin\r")
        first.sees("Done")
        with start("-c") as second:
            second.sees("Echo: begin")
            second.type(COUNT)
            first.sees("word5 ")
            first.press("ctrl+x", "q")
            first.sees("1 other terminal will go on with another engine")
            first.answer("y")
            assert first.ends() == 0
            second.sees("this one has the engine now")
            second.sees("Interrupted")
            second.type("go on\r")
            second.sees("Echo: go on")


def test_who_quits_without_the_engine_ends_nothing(start: Open, server: ModelServer) -> None:
    one_is_gone = threading.Event()
    server.script(Answer(text="begun the-end", holds=(("the-end", one_is_gone),)))
    with start() as first:
        first.sees("Ask anything")
        first.type("one\r")
        first.sees("begun")
        with start("-c") as second:
            second.sees("begun")
            second.press("ctrl+x", "q")
            assert second.ends() == 0
        one_is_gone.set()
        first.sees("the-end")
        first.sees("Done")


def test_other_settings_get_an_engine_of_their_own(start: Open, paths: Paths) -> None:
    with start() as first, start(environ={"OPENCODE_DISABLE_PRUNE": "1"}) as second:
        first.sees("fake-model")
        second.sees("fake-model")
        assert len(list(paths.terminals.glob("*.json"))) == 2
        second.type("hello\r")
        second.sees("Echo: hello")


def test_switched_off_nothing_is_shared(start: Open, paths: Paths) -> None:
    with start(environ={"OPENCODE_DISABLE_SHARED_ENGINE": "1"}) as first:
        first.sees("fake-model")
        assert not paths.terminals.exists()


def test_a_turn_of_the_command_line_in_the_shown_session_is_shown_live(
    start: Open, line: CommandLine, server: ModelServer
) -> None:
    it_is_seen = threading.Event()
    with start() as first:
        first.sees("Ask anything")
        first.type("begin\r")
        first.sees("Done")
        server.script(Answer(text="begun the-end", holds=(("the-end", it_is_seen),)))
        process = line.start("run", "-c", "from the command line")
        first.sees("from the command line")
        first.sees("begun")
        first.type("a queued one\r")
        first.sees("queued")
        it_is_seen.set()
        output, _ = process.communicate(timeout=30)
        assert process.returncode == 0
        assert b"the-end" in output
        first.sees("Echo: a queued one")


def test_the_command_line_does_not_answer_what_another_terminal_asked_for(
    start: Open, line: CommandLine, server: ModelServer, folder: Path
) -> None:
    asked = {"OPENCODE_PERMISSION": '{"edit": "ask"}'}
    with start(environ=asked) as first:
        first.sees("Ask anything")
        first.type("begin\r")
        first.sees("Done")
        begun = next(one for one in line.run("session", "list").stdout.split() if one.startswith("ses_"))
        first.press("ctrl+x", "n")
        first.type(EDIT)
        first.sees("edit once")
        other = CommandLine(folder, {**line.environ, **asked}, provider=line.provider, settings=line.settings)
        assert other.run("run", "-s", begun, "hello").stdout.strip().endswith("Echo: hello")
        first.answer("y")
        first.sees("Done")
    assert (folder / "made.txt").exists()


def test_the_chat_in_lines_shares_the_engine(start: Open, line: CommandLine) -> None:
    with start() as first:
        first.sees("Ask anything")
        first.type("begin\r")
        first.sees("Done")
        with Terminal(["-m", "opencode_tui", "--plain", "-c"], folder=line.folder, environ=line.variables()) as plain:
            plain.expect("Echo: begin")
            plain.send("from the lines\r")
            plain.expect("Echo: from the lines")
            first.sees("Echo: from the lines")
            first.process.kill()
            plain.send("and on\r")
            plain.expect("Echo: and on")
