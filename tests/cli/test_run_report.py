"""The report of a turn, event by event."""

import asyncio
import io

import pytest

from opencode_tui.cli.run.answer_text import AnswerText
from opencode_tui.cli.run.report import TerminalReporter
from opencode_tui.cli.style import PLAIN, Style
from opencode_tui.engine.session.records.open_records import LiveText
from opencode_tui.schema.event.event import (
    BusLagged,
    MessageUpdated,
    PartGrowth,
    PartRemoved,
    PartUpdated,
    SessionStatusChanged,
)
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.session.message import MessageTime, Tokens
from opencode_tui.schema.session.part import PartTime, StepFinishPart
from opencode_tui.schema.session.session import BusyStatus, RetryStatus, Wait
from tests.support.hostile.strings import HOSTILE, steering
from tests.support.sessions.records import SESSION, assistant, call, owner, reasoning, text, user

BEGIN = MessageUpdated(info=assistant(finish=None).info.changed(time=MessageTime(created=1)))
TOOL = PartUpdated(part=call("c", "bash"))
END = StepFinishPart.model_validate({**owner(), "reason": "stop", "cost": 0.04, "tokens": Tokens(input=100, output=20)})


class Screen:
    """A terminal, or two pipes: what was written where, and in which order."""

    def __init__(self, out: Style = PLAIN, err: Style = PLAIN) -> None:
        self.all = io.StringIO()
        self.out, self.err = Copy(self.all), Copy(self.all)
        self.reporter = TerminalReporter(SESSION, answer=AnswerText(self.out, out), err=self.err, style=err)

    def show(self, *events) -> "Screen":
        for event in events:
            self.reporter.show(event)
        return self


class Copy(io.StringIO):
    encoding = "utf-8"

    def __init__(self, both: io.StringIO) -> None:
        super().__init__()
        self._both = both

    def write(self, text: str) -> int:
        self._both.write(text)
        return super().write(text)


def said(content: str, *deltas: str) -> list:
    part = text("", time=PartTime(start=1))
    live = LiveText(part)
    growth = [PartGrowth(SESSION, part.message_id, part.id, delta, live.record) for delta in deltas or (content,)]
    return [
        PartUpdated(part=part),
        *growth,
        PartUpdated(part=part.changed(text=content, time=PartTime(start=1, end=2))),
    ]


def thought(milliseconds: int) -> PartUpdated:
    return PartUpdated(part=reasoning("hm").changed(time=PartTime(start=0, end=milliseconds)))


TURN = [BEGIN, thought(4_200), *said("I look.\n\n"), TOOL, TOOL, *said("Found it."), PartUpdated(part=END)]


def test_a_pipe_gets_the_answer_alone_and_everything_else_goes_to_stderr():
    screen = Screen().show(*TURN)
    screen.reporter.end(assistant())
    assert screen.out.getvalue() == "I look.\nFound it.\n"
    assert screen.err.getvalue().splitlines() == [
        "build · fake/fake-model",
        "  Thought for 4 s",
        "✓ Bash   a",
        "✓ Bash   a",
        "Done  2 tools · $0.04",
    ]


def test_in_a_terminal_one_empty_line_separates_prose_and_tools(terminal):
    style = terminal(40)
    screen = Screen(style, style).show(*TURN)
    screen.reporter.end(assistant())
    assert screen.all.getvalue().splitlines() == [
        "build · fake/fake-model",
        "",
        "  Thought for 4 s",
        "",
        "I look.",
        "",
        "✓ Bash   a",
        "✓ Bash   a",
        "",
        "Found it.",
        "",
        "Done  2 tools · $0.04",
    ]


def test_text_is_shown_while_it_comes_only_where_it_is_seen(terminal):
    begun = [BEGIN, *said("one two", "one ", "two")[:-1]]
    assert Screen().show(*begun).out.getvalue() == ""
    assert Screen(terminal(40)).show(*begun).out.getvalue() == "one"


def test_a_short_thought_and_texts_of_the_program_are_not_shown():
    hidden = [thought(900), PartUpdated(part=text("reminder", synthetic=True)), PartUpdated(part=text("the request"))]
    screen = Screen().show(*hidden)
    assert screen.all.getvalue() == ""


def test_another_sessions_events_are_not_shown():
    other = [event.changed(part=event.part.changed(session_id="ses_other")) for event in (TOOL, thought(9000))]
    assert Screen().show(*other).all.getvalue() == ""


def wait(attempt: int, message: str = "fake: slow down (429)", attempts: int | None = 5) -> SessionStatusChanged:
    status = RetryStatus(attempt=attempt, message=message, next=0, attempts=attempts)
    return SessionStatusChanged(session_id=SESSION, status=status)


def test_a_wait_names_the_party_the_time_and_the_attempt():
    assert Screen().show(wait(2)).err.getvalue() == "↻ fake: slow down (429)  next try in 0 s, attempt 3 of 5\n"


def test_a_wait_of_an_engine_that_does_not_report_its_limit_names_the_attempt_alone():
    shown = Screen().show(wait(2, attempts=None)).err.getvalue()
    assert shown == "↻ fake: slow down (429)  next try in 0 s, attempt 3\n"


async def test_in_a_terminal_waits_count_down_and_leave_one_line(terminal):
    style = terminal(90, is_live=True)
    screen = Screen(style, style)
    screen.show(BEGIN, wait(1), wait(2), SessionStatusChanged(session_id=SESSION, status=BusyStatus()), TOOL)
    screen.reporter.close()
    shown = screen.err.getvalue()
    assert "next try in 0 s, attempt 3 of 5" in shown and shown.count("retried 2 times") == 1


async def test_the_activity_line_leaves_no_trace_and_never_wraps(terminal):
    style = terminal(30, is_live=True)
    screen = Screen(style, style)
    running = call("c", "bash", status="running")
    screen.show(BEGIN, PartUpdated(part=running.changed(state=running.state.changed(input={"command": "x" * 200}))))
    last = screen.err.getvalue().rpartition("\x1b[2K")[2]
    assert "Running xxx" in last and len(last) < 30 + len("\x1b[95m\x1b[0m")
    screen.reporter.close()
    assert screen.err.getvalue().endswith("\r\x1b[2K")


def test_an_interrupted_response_is_reported(terminal):
    begun = said("half of", "half ", "of ")[:-1]
    removed = PartRemoved(session_id=SESSION, message_id="msg_x", part_id=begun[0].part.id)
    style = terminal(60)
    assert "The response was interrupted; retrying." in Screen(style, style).show(*begun, removed).all.getvalue()
    assert Screen().show(*begun, removed).all.getvalue() == ""


def test_a_lagging_reader_gets_a_hint():
    assert f"session show {SESSION}" in Screen().show(BusLagged()).err.getvalue()


@pytest.mark.parametrize(
    ("answer", "last"),
    [
        (assistant(), "Done  1 tool"),
        (assistant(finish="tool-calls"), "Stopped  1 tool"),
        (assistant(finish="length"), "Done  1 tool"),
        (None, "✗ Stopped  1 tool"),
    ],
)
def test_the_last_line_reports_the_outcome(answer, last):
    screen = Screen().show(TOOL)
    screen.reporter.end(answer)
    assert screen.err.getvalue().splitlines()[-1] == last


def test_a_turn_that_never_began_has_no_bill():
    screen = Screen()
    screen.reporter.end(None)
    assert screen.all.getvalue() == ""


def test_a_question_gets_a_line_of_its_own(terminal):
    style = terminal(60)
    screen = Screen(style, style).show(BEGIN, *said("open", "open text ")[:-1])
    screen.reporter.pause()
    assert screen.all.getvalue().endswith("open text\n\n")


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_no_event_text_controls_the_terminal(terminal, hostile):
    style = terminal(60, is_live=True)
    screen = Screen(style, style)
    head = BEGIN.info.changed(agent=hostile, model_id=hostile)
    screen.show(MessageUpdated(info=head), wait(1, hostile), *said(hostile, hostile), TOOL)
    screen.reporter.end(assistant())
    assert steering(screen.all.getvalue().replace("\r\x1b[2K", "")) == []


def test_a_users_message_opens_nothing():
    assert Screen().show(MessageUpdated(info=user("hi").info)).all.getvalue() == ""


async def test_a_wait_that_lasts_has_one_line_where_lines_stay() -> None:
    screen, old = Screen(), Wait(on="first_byte", name="fake", since=1, limit=300_000)
    screen.show(BEGIN, SessionStatusChanged(session_id=SESSION, status=BusyStatus(wait=old)))
    await asyncio.sleep(0.01)
    new = old.changed(since=system_clock())
    screen.show(SessionStatusChanged(session_id=SESSION, status=BusyStatus(wait=new)))
    screen.show(SessionStatusChanged(session_id=SESSION, status=BusyStatus()))
    await asyncio.sleep(0.01)
    assert screen.err.getvalue().count("Waiting for the first byte of fake, at most 5 m\n") == 1
    screen.reporter.close()
