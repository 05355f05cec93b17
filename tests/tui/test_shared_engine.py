"""Several terminals in one folder: they show the same live, any of them may send, and one that is killed is replaced."""

import json
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from opencode_tui.storage.paths import Paths
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.command import Terminal
from tests.support.terminal.screen_terminal import Open, ScreenTerminal
from tests.support.world.cli import CommandLine
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


ASKS = {"OPENCODE_PERMISSION": '{"edit": "ask"}'}
EDIT = 'make it <<tool write {"filePath":"made.txt","content":"by the agent\\n"}>>\r'
COUNT = "count <<slow 20>> <<words 9000>>\r"
"""A turn that is still running when a third terminal has opened."""


def conversation(terminal: ScreenTerminal) -> list[str]:
    """Return the rows above the activity line, without the blank ones."""
    lines = terminal.lines()
    end = next(at for at, line in enumerate(lines) if "Ask anything" in line)
    return [line for line in lines[: end - 2] if line.strip()]


def test_two_screens_show_turns_and_questions_live_leaving_one_ends_nothing_and_other_settings_get_another_engine(
    start: Open, server: ModelServer, folder: Path, paths: Paths
) -> None:
    both_look, one_is_gone = threading.Event(), threading.Event()
    server.script(Answer(text="begun then-more", holds=(("then-more", both_look),)))
    with start(environ=ASKS) as first:
        first.sees("Ask anything")
        first.type("one\r")
        first.sees("begun")
        with start("-c", environ=ASKS) as second:
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

            first.type(EDIT)
            first.sees("edit once")
            second.sees("edit once")
            second.answer("y")
            for terminal in (second, first):
                terminal.sees_no_more("edit once")
                terminal.sees("Done")
            assert (folder / "made.txt").read_text() == "by the agent\n"

            server.script(Answer(text="held the-end", holds=(("the-end", one_is_gone),)))
            first.type("last\r")
            second.sees("held")
            second.press("ctrl+x", "q")
            assert second.ends() == 0
            assert "what runs goes on without this terminal" in second.shown()
        one_is_gone.set()
        first.sees("the-end")
        first.sees("Done")

        with start(environ={**ASKS, "OPENCODE_DISABLE_PRUNE": "1"}) as other:
            other.sees("fake-model")
            assert len(list(paths.terminals.glob("*.json"))) == 2
            other.type("hello\r")
            other.sees("Echo: hello")


def opened_during_a_turn(start: Open, stack: ExitStack) -> ScreenTerminal:
    """Return a terminal that shows the running turn, with a draft in its prompt."""
    terminal = stack.enter_context(start("-c"))
    terminal.sees("interrupt")
    terminal.type("a draft")
    terminal.sees("a draft")
    return terminal


def test_when_the_engine_ends_by_a_kill_or_by_quitting_another_terminal_replaces_it(start: Open, paths: Paths) -> None:
    with start() as first:
        first.sees("Ask anything")
        first.type(COUNT)
        first.sees("word5 ")
        with ExitStack() as stack:
            second, third = (opened_during_a_turn(start, stack) for _ in range(2))
            first.process.kill()
            for terminal in (second, third):
                terminal.sees("The other terminal closed")
            (record,) = paths.terminals.glob("*.json")
            pid = json.loads(record.read_text())["pid"]
            assert pid in (second.process.pid, third.process.pid)
            owner, other = (second, third) if pid == second.process.pid else (third, second)
            shown = owner.sees("This one took over")
            assert "a draft" in shown and "Session ended unexpectedly" in shown and "interrupt" not in shown
            for terminal, name in ((owner, "one"), (other, "two")):
                terminal.type(f" {name}\r")
                for each in (owner, other):
                    each.sees(f"Echo: a draft {name}")
                    each.sees("Done")
            assert conversation(owner) == conversation(other)

            other.type(COUNT)
            owner.sees(
                "Writing"
            )  # words of the first count are on the screen already; one without an answer would be asked again
            owner.press("ctrl+x", "q")
            owner.sees("1 other terminal will go on, after a stop with another engine")
            owner.answer("s")
            assert owner.ends() == 0
            other.sees("This one took over")
            other.sees("Interrupted")
            other.type("go on\r")
            other.sees("Echo: go on")


def test_the_command_line_and_the_chat_in_lines_share_the_engine_of_the_screen(
    start: Open, line: CommandLine, server: ModelServer, folder: Path
) -> None:
    line = CommandLine(folder, {**line.environ, **ASKS}, provider=line.provider, settings=line.settings)
    it_is_seen = threading.Event()
    with start(environ=ASKS) as first:
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
        output, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0
        assert b"the-end" in output
        first.sees("Echo: a queued one")
        first.sees("Done")

        with Terminal(["-m", "opencode_tui", "--plain", "-c"], folder=folder, environ=line.variables()) as plain:
            plain.expect("Echo: begin")
            plain.send("from the lines\r")
            plain.expect("Echo: from the lines")
            first.sees("Echo: from the lines")
            first.sees("Done")

            begun = next(one for one in line.run("session", "list").stdout.split() if one.startswith("ses_"))
            first.press("ctrl+x", "n")
            first.type(EDIT)
            first.sees("edit once")
            assert line.run("run", "-s", begun, "hello").stdout.strip().endswith("Echo: hello")
            first.answer("y")
            first.sees("Done")
            assert (folder / "made.txt").exists()

            first.process.kill()
            plain.send("and on\r")
            plain.expect("Echo: and on")
