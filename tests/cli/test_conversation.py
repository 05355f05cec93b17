import re

import pytest

from opencode_tui.cli.commands.session.conversation import render_conversation
from opencode_tui.cli.style import PLAIN
from opencode_tui.schema.session.part import PartTime, RetryPart, RetryTime
from opencode_tui.schema.session.session import SessionTime
from opencode_tui.schema.session.stored_error import ApiData, MessageData, StoredAbortedError, StoredApiError
from tests.support.hostile.strings import HOSTILE, steering
from tests.support.sessions.records import SESSION, assistant, call, image, owner, reasoning, session_info, text, user

INFO = session_info(SESSION, updated=0, title="A title")


def shown(*messages) -> list[str]:
    return [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "DATE", line) for line in render_conversation(INFO, messages, PLAIN)]


def test_requests_answers_and_tools_are_shown_in_order():
    answer = assistant(text("I look.\n"), call("1", "bash"), call("2", "bash"), "Found it.")
    assert shown(user("Find it\nnow", image()), answer) == [
        "A title",
        "ses_test · /p · DATE",
        "",
        "> Find it  DATE · build · fake/fake-model",
        "> now",
        "> [a.png]",
        "",
        "I look.",
        "",
        "✓ Bash   a",
        "✓ Bash   a",
        "",
        "Found it.",
    ]


def test_long_thoughts_and_retries_are_one_line_each():
    error = StoredApiError(data=ApiData(message="slow down"))
    retry = RetryPart.model_validate({**owner(), "attempt": 1, "error": error, "time": RetryTime(created=1)})
    thought = reasoning("hm").changed(time=PartTime(start=0, end=4_000))
    assert shown(assistant(retry, thought, reasoning("short")))[3:] == [
        "↻ retried after: slow down",
        "  Thought for 4 s",
    ]


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (StoredAbortedError(data=MessageData(message="aborted")), "■ interrupted by you"),
        (StoredApiError(data=ApiData(message="anthropic refused\nthe key")), "✗ anthropic refused the key"),
    ],
)
def test_an_answer_that_failed_ends_with_its_reason(error, line):
    answer = assistant("So far")
    assert shown(answer.__class__(info=answer.info.changed(error=error), parts=answer.parts))[-1] == line


def test_what_the_program_wrote_for_the_model_is_left_out():
    assert shown(user(text("seen"), text("reminder", synthetic=True)))[3:] == ["> seen  DATE · build · fake/fake-model"]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_nothing_stored_steers_the_terminal(terminal, hostile):
    info = INFO.changed(title=hostile, directory=hostile)
    style = terminal(60, is_live=True)
    assert steering("\n".join(render_conversation(info, [user(hostile), assistant(hostile)], style))) == []


def test_a_time_beyond_the_calendar_is_a_question_mark():
    time = SessionTime(created=10**18, updated=0)
    assert "?" in "".join(render_conversation(INFO.changed(time=time), [], PLAIN))
