"""A session whose process was killed, and one that another terminal works on, as the screen shows them."""

import os
import threading
from pathlib import Path

import pytest

from opencode_tui.storage.paths import Paths
from opencode_tui.tui.chrome.activity import SHOWN_AFTER_S
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.screen_terminal import Open
from tests.support.world.repo import make_repo

pytestmark = pytest.mark.slow


BASH = 'go <<tool bash {"command":"sleep 60","description":"x"}>>\r'


def test_what_a_killed_process_left_open_is_closed_when_the_session_is_shown(start: Open) -> None:
    with start() as terminal:
        terminal.sees("Ask anything")
        terminal.type(BASH)
        terminal.sees("Running sleep")
        terminal.process.kill()
    with start("-c") as terminal:
        shown = terminal.sees("Session ended unexpectedly")
        assert "✗ Bash   sleep 60" in shown and "running" not in shown and "by you" not in shown
        shown = terminal.sees("enter continue")
        assert "Stopped at " in shown and "in Bash sleep 60" in shown
        terminal.press("ctrl+x", "u")  # a question has its own use of enter
        assert "Stopped at " in terminal.sees_no_more("enter continue")
        terminal.answer("escape")
        terminal.sees("enter continue")
        terminal.press("enter")
        terminal.sees("▎ Continue where you were stopped")
        assert "enter continue" not in terminal.sees("✓ Done")


def test_what_a_shown_session_says_stays_while_the_prompt_is_prepared(start: Open, paths: Paths) -> None:
    with start() as terminal:
        terminal.sees("Ask anything")
        terminal.type(BASH)
        terminal.sees("Running sleep")
        terminal.process.kill()
    history = paths.state / "prompt-history.jsonl"
    history.unlink()
    os.mkfifo(history)  # reading the earlier prompts lasts until something writes here
    with start("-c") as terminal:
        terminal.sees("enter continue")
        terminal.read_for(SHOWN_AFTER_S * 3)  # a wait that is not over would have been named
        assert "in Bash sleep 60" in terminal.shown(), "the session is no longer loading: it is there"
        history.write_text("")
        terminal.sees("sandbox")
        assert "enter continue" in terminal.shown()


def test_a_session_that_another_terminal_works_on_says_so_and_each_shows_what_the_other_added(
    start: Open, server: ModelServer, paths: Paths
) -> None:
    it_is_refused = threading.Event()
    server.script(Answer(text="begun the-end", holds=(("the-end", it_is_refused),)))
    with start() as first:
        first.sees("Ask anything")
        first.type("begin\r")
        first.sees("begun")
        with start("-c", environ={"OPENCODE_DISABLE_SHARED_ENGINE": "1"}) as second:
            assert "the-end" not in second.sees("In use in another terminal")
            assert len(list(paths.terminals.glob("*.json"))) == 1, "what shares nothing has no record"
            second.type("me too\r")
            assert "▎ me too" in second.sees("✗"), "what could not be sent stands in the prompt"
            it_is_refused.set()
            first.sees("the-end")
            first.sees("Done")
            second.sees("the-end")
            second.sees_no_more("In use in another terminal")

            second.type(" and between\r")
            second.sees("Echo: me too and between")
            second.sees("Done")
        first.type("go on\r")
        assert "Echo: me too and between" in first.sees("Echo: go on")


def test_the_branch_beside_the_folder_follows_a_checkout(start: Open, folder: Path) -> None:
    repo = make_repo(folder)
    repo.commit()
    repo.git("checkout", "-q", "-b", "before-it")
    with start(size=(140, 34)) as terminal:
        terminal.sees("Ask anything")
        terminal.type("begin\r")
        terminal.sees("before-it")
        repo.git("checkout", "-q", "-b", "after-it")
        terminal.sees("after-it")
