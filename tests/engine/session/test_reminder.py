from opencode_tui.engine.session.request.builder import request_of
from opencode_tui.engine.session.request.reminder import (
    late_texts,
    with_last_step,
    wrap_late,
)
from opencode_tui.schema.session.history import with_parts
from tests.support.sessions.records import assistant, text, user
from tests.support.sessions.reminders import marked, reminded

WRAPPED = """<system-reminder>
The user sent the following message:
also this

Please address this message and continue with your tasks.
</system-reminder>"""


def texts(message):
    return [part.text for part in message.parts]


def planned():
    answer = assistant("a plan")
    return with_parts(answer.info.changed(agent="plan"), answer.parts)


def test_a_request_that_came_while_the_model_worked_is_wrapped_in_all_later_requests():
    first, late = user("do it"), user("also this", text("hidden", ignored=True), text("made", synthetic=True))
    messages = marked([first, assistant("on it", finish="tool-calls"), late], 1)
    sent = wrap_late(messages)
    assert texts(sent[0]) == ["do it"]
    assert texts(sent[2]) == [WRAPPED, "hidden", "made"]
    assert texts(late)[0] == "also this"
    later = [*messages, assistant("both", finish="tool-calls")]
    assert wrap_late(marked(later, 3))[:3] == sent
    assert late_texts(later, 1) == []


def test_nothing_is_wrapped_before_there_is_an_answer():
    messages = [user("do it"), user("also this")]
    assert wrap_late(marked(messages, None)) == messages


def test_every_request_in_plan_mode_gets_the_reminder_and_keeps_it():
    sent = reminded([user("a")], "plan")
    assert "Plan mode is on" in texts(sent[0])[-1]
    assert texts(sent[0])[-1].startswith("<system-reminder>")
    later = reminded([*sent, assistant("b"), user("c")], "plan")
    assert later[0] == sent[0]
    assert "Plan mode is on" in texts(later[2])[-1]


def test_the_first_request_after_plan_mode_alone_has_a_reminder_of_its_end():
    for history in ([user("a"), planned()], [*reminded([user("a")], "plan"), planned()]):
        sent = reminded([*history, user("go")], "build")
        assert "from plan to build" in texts(sent[2])[-1]
        assert texts(reminded([*sent, assistant("done"), user("more")], "build")[4]) == ["more"]
    untouched = [user("a"), assistant("b"), user("c")]
    assert reminded(untouched, "build") == untouched


def test_the_reminder_of_the_last_step_follows_all_messages():
    messages = [user("a"), assistant("b", finish="tool-calls")]
    sent = with_last_step(messages, request_of(messages))
    assert sent[:2] == messages
    assert texts(sent[2])[0].startswith("<system-reminder>\nThis is the last step")
