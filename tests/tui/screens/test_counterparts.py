"""Whole screens of which the design has a picture and no other test has one: an answer that streams, a compaction with a wait."""

from collections.abc import Callable

import pytest

from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import Tokens
from opencode_tui.schema.session.session import UNDO_KEY, RetryStatus, RevertState, SessionSummary
from opencode_tui.schema.session.undo import RevertReport, UndoNote
from tests.support.terminal import conversation as stories
from tests.support.terminal.conversation import SESSION
from tests.support.terminal.scripted_client import Script
from tests.tui.screens.test_looks import (
    DARK,
    LIGHT,
    NOW_MS,
    Situation,
    idle,
    opened_app,
    undoing,
    working,
)

pytestmark = pytest.mark.usefixtures("jumping_clock")


def streaming() -> Script:
    """An answer while it is written."""
    script = working()
    script.messages = _weighed(stories.chat_light().messages, 31)
    script.todos = [one.changed(status="completed") for one in script.todos[:3]] + [
        script.todos[3].changed(status="in_progress")
    ]
    return script


def compacted() -> Script:
    """A long session with a compaction, pruned outputs, past retries and a present one."""
    script = idle()
    script.messages = _weighed(stories.compaction_and_retry().messages, 0)
    script.statuses = {
        SESSION: RetryStatus(attempt=3, message="Rate limited by anthropic", next=NOW_MS + 12_000, attempts=8)
    }
    return script


def undone() -> Script:
    """A session of which the last turn is undone."""
    script = undoing()
    assert script.undo is not None and script.undo.scope is not None
    report = RevertReport.model_validate(script.undo.to_dict())
    info = script.sessions[0]
    script.sessions[0] = info.changed(
        revert=RevertState(message_id=script.undo.scope.message_id),
        metadata={UNDO_KEY: UndoNote(report=report).to_dict()},
        summary=SessionSummary(additions=3, deletions=0, files=1),
    )
    return script


def _weighed(messages: list[MessageWithParts], seconds: int) -> list[MessageWithParts]:
    """The same with the figures of the pictures on the last answer, which began so many seconds ago."""
    last = messages[-1]
    time = last.info.time.changed(created=NOW_MS - seconds * 1000) if seconds else last.info.time
    used = {"tokens": Tokens(input=96_000, output=8_000), "cost": 0.42}
    return [*messages[:-1], last.changed(info=last.info.changed(time=time, **used))]


SITUATIONS: dict[str, Situation] = {
    "answer-that-streams-light": Situation(streaming, (140, 42), LIGHT),
    "compaction-and-a-wait": Situation(compacted, (110, 39), DARK),
    "undone-stretch": Situation(undone, (110, 28), DARK),
}


@pytest.mark.fast_cases("compaction-and-a-wait")
@pytest.mark.parametrize("name", SITUATIONS)
def test_counterpart(name: str, snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/you")
    situation = SITUATIONS[name]
    app, act = opened_app(situation)
    assert snap_compare(app, terminal_size=situation.size, run_before=act)
