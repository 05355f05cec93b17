"""The words about a check: what its last run did, and why no turn follows."""

from opencode_tui.schema.session.until import CheckFailure, CheckRun, Until
from opencode_tui.text.check import changed_words, check_line, failure_words
from tests.support.rows import each

UNTIL = Until(command="make\n test", turns=5)


def run(**fields) -> CheckRun:
    return CheckRun(at=0, took=3_200, message_id="msg_1", **fields)


@each(
    ("done", "line"),
    [
        (run(exit=0, end="passed"), "Check passed after 3.2 s: make test"),
        (run(exit=2, turn=1), "Check failed: exit 2 after 3.2 s; turn 1 of 5 follows: make test"),
        (run(exit=2, turn=5, end="turns"), "Check failed: exit 2 after 3.2 s; no turn left of 5: make test"),
        (
            run(exit=2, turn=2, end="same"),
            "Check failed: exit 2 after 3.2 s; the same failure 3 times in a row: make test",
        ),
        (run(exit=2), "Check failed: exit 2 after 3.2 s: make test"),
        (run(), "Check failed: stopped after 3.2 s: make test"),
        (run(end="refused"), "Check did not run: make test"),
    ],
)
def test_the_line_says_what_the_check_did_and_what_follows(done: CheckRun, line: str) -> None:
    assert check_line(UNTIL, done) == line


def test_a_request_of_the_program_says_which_failure_it_sends() -> None:
    assert failure_words(CheckFailure(exit=1, turn=2, turns=5)) == "Check failed: exit 1 (turn 2 of 5)"


def test_edited_files_are_counted() -> None:
    assert (changed_words(0), changed_words(1), changed_words(3)) == ("", "1 file edited since", "3 files edited since")
