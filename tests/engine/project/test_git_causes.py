"""Why git failed is said in our words: nothing of its message, which may quote any file, is in them."""

from opencode_tui.engine.project.git_causes import explain
from tests.support.rows import each

SECRET = "CANARY-1234"
MESSAGES = {
    f"fatal: unexpected line in /p/.git/packed-refs: {SECRET}": "packed-refs is damaged (exit code 128)",
    f"fatal: bad shallow line: {SECRET}": "the list of shallow commits is damaged (exit code 128)",
    f"error: bad signature 0x6e61227b\nfatal: index file corrupt {SECRET}": "the index is damaged (exit code 128)",
    f"fatal: bad config line 1 in file {SECRET}": "a settings file is invalid (exit code 128)",
    f"fatal: Unable to create '/p/.git/{SECRET}.lock': File exists.": (
        "another git works there, or one left its lock file (exit code 128)"
    ),
    f"fatal: bad object {SECRET}": "an object is missing (exit code 128)",
    f"fatal: {SECRET}": "exit code 128",
    f"error: {SECRET}: patch does not apply": "the patch does not apply (exit code 128)",
    f"error: unable to stat '{SECRET}': File name too long": "file name too long (exit code 128)",
    f"hint: {SECRET}\nfatal: cannot read {SECRET}: Input/output error\n": "input/output error (exit code 128)",
    f"fatal: cannot read x: {SECRET}": "exit code 128",
}


@each("message", MESSAGES)
def test_a_message_of_git_is_not_repeated(message: str) -> None:
    assert explain(message.encode(), 128) == MESSAGES[message]


def test_an_error_after_which_git_went_on_has_no_exit_code() -> None:
    assert explain(f"error: lstat({SECRET}): File name too long".encode(), 0) == "file name too long"
    assert explain(f"error: {SECRET}".encode(), 0) == "it printed an error and went on"
