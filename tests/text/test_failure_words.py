"""Why a call failed, in words for the user: from the fields of its record, whatever the text for the model says."""

import pytest

from opencode_tui.engine.permission.defaults import rule
from opencode_tui.schema.error import (
    CommandRefusedError,
    DeniedError,
    MissingFileError,
    OpencodeError,
    QuestionDismissedError,
    RejectedError,
    ToolError,
)
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.session.part import ToolPart, parse_part
from opencode_tui.schema.session.tool_state import (
    StopReason,
    ToolStateError,
    ToolStateRunning,
    ToolTime,
    details_of,
    fail,
)
from opencode_tui.text.tool import failure_facts, failure_text
from tests.support.rows import each
from tests.support.sessions.records import call

RULES = [Rule(permission="*", pattern="*", action="allow"), Rule(permission="bash", pattern="rm *", action="deny")]
MISSING = MissingFileError("/p/a.py does not exist", advice="create it", nearest=["/p/b.py", "/q/a.py"])
CASES: list[tuple[str, OpencodeError, StopReason | None, str, str]] = [
    ("bash", RejectedError(), "rejected", "You rejected this.", "rejected"),
    ("bash", RejectedError("use make"), "rejected", "You rejected this: use make", "rejected"),
    (
        "read",
        RejectedError(subject="to repeat read: the same calls were made 3 times in a row"),
        "rejected",
        "You rejected the request to repeat read: the same calls were made 3 times in a row.",
        "rejected",
    ),
    ("question", QuestionDismissedError(), "rejected", "You dismissed the question without an answer.", "rejected"),
    (
        "bash",
        DeniedError("bash", "rm x", RULES[1], RULES),
        "denied",
        'Denied by your rule "rm *" (bash).',
        "denied by rule",
    ),
    ("edit", DeniedError("edit", "a", RULES[0], RULES), "denied", 'Denied by your rule "*" (edit).', "denied by rule"),
    (
        "edit",
        DeniedError("edit", "a", rule("edit", "*", "deny"), RULES),
        "denied",
        'Denied by a built-in rule of this agent, "*" (edit).',
        "denied by rule",
    ),
    (
        "bash",
        CommandRefusedError("This agent may not edit files.", "Ask the user to do it."),
        "denied",
        "This agent may not edit files. Switch to an agent that may edit, such as build, to run it.",
        "denied",
    ),
    ("edit", MISSING, None, "No such file. Nothing was changed. Nearest: b.py or /q/a.py", "failed"),
    ("read", MISSING, None, "No such file. Nearest: b.py or /q/a.py", "failed"),
    ("list", MissingFileError("/p/a does not exist", advice="leave it out"), None, "No such file.", "failed"),
    (
        "edit",
        ToolError("oldString is gone", "quote it", lines="1: a"),
        None,
        "The text to replace is gone\n1: a",
        "failed",
    ),
]


def failed(tool: str, error: OpencodeError, stop_reason: StopReason | None) -> tuple[ToolPart, ToolStateError]:
    running = ToolStateRunning(input={}, time=ToolTime(start=0))
    state = fail(running, error=str(error), now=1, stop_reason=stop_reason, details=details_of(error))
    part = parse_part(call("c", tool).changed(state=state).to_json())  # as it is read from the disk
    assert isinstance(part, ToolPart) and isinstance(part.state, ToolStateError)
    return part, part.state


@each(("tool", "error", "stop_reason", "words", "fact"), CASES)
def test_the_words_do_not_depend_on_the_text_for_the_model(
    tool: str, error: OpencodeError, stop_reason: StopReason | None, words: str, fact: str
) -> None:
    part, state = failed(tool, error, stop_reason)
    changed = state.changed(error="Texte pour le modèle; à réécrire. Rules for x: y: deny and said: z")
    assert state.error == str(error)
    for one in (state, changed):
        assert failure_text(part.changed(state=one), one, "/p") == words
        assert [fact.text for fact in failure_facts(one)] == [fact]
        assert one.stop_reason == stop_reason


@pytest.mark.parametrize(
    ("tool", "text", "words"),
    [
        ("bash", "The user rejected permission and said: use make", "The user rejected permission and said: use make"),
        ("bash", "A permission rule denies bash for 'rm'.", "A permission rule denies bash for 'rm'."),
        ("read", "file not found: /p/a.py; did you mean /p/b.py?", "File not found: /p/a.py; did you mean /p/b.py?"),
        ("bash", "", "failed (no details)"),
    ],
)
def test_a_record_without_fields_shows_its_text(tool: str, text: str, words: str) -> None:
    state = ToolStateError(error=text, time=ToolTime(start=0))
    assert "feedback" not in state.to_dict()
    assert failure_text(call("c", tool).changed(state=state), state) == words
