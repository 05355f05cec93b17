"""A session whose process was killed, and one that another terminal works on, as the screen shows them."""

from pathlib import Path

from tests.support.terminal.screen_terminal import Open
from tests.support.world.repo import make_repo

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


def test_a_session_that_another_terminal_works_on_says_so_and_shows_the_rest_when_it_is_done(start: Open) -> None:
    with start() as first:
        first.sees("Ask anything")
        first.type("count <<slow 20>> <<words 150>>\r")
        first.sees("word5 ")
        with start("-c", environ={"OPENCODE_DISABLE_SHARED_ENGINE": "1"}) as second:
            assert "word150" not in second.sees("In use in another terminal")
            second.type("me too\r")
            assert "▎ me too" in second.sees("✗"), "what could not be sent stands in the prompt"
            first.sees("Done")
            second.sees("word150")
            second.sees_no_more("In use in another terminal")


def test_what_another_terminal_added_is_shown_before_one_goes_on(start: Open) -> None:
    with start() as first:
        first.sees("Ask anything")
        first.type("begin\r")
        first.sees("Echo: begin")
        first.sees("Done")
        with start("-c", environ={"OPENCODE_DISABLE_SHARED_ENGINE": "1"}) as second:
            second.sees("Echo: begin")
            second.type("between\r")
            second.sees("Echo: between")
            second.sees("Done")
        first.type("go on\r")
        assert "Echo: between" in first.sees("Echo: go on")


def test_a_window_that_is_closed_while_the_agent_works_leaves_no_process(start: Open) -> None:
    with start() as terminal:
        terminal.sees("Ask anything")
        terminal.type("count <<slow 20>> <<words 900>>\r")
        terminal.sees("word5 ")
        terminal.hang_up()
        terminal.process.wait(timeout=15)


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
