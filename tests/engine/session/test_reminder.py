from opencode_tui.engine.session.request.reminder import remind_of_mode, with_reminder, wrap_late
from tests.support.sessions.records import assistant, text, user

WRAPPED = """<system-reminder>
The user sent the following message:
also this

Please address this message and continue with your tasks.
</system-reminder>"""


def texts(message):
    return [part.text for part in message.parts]


def test_a_request_that_came_while_the_model_worked_is_wrapped():
    first, late = user("do it"), user("also this", text("hidden", ignored=True), text("made", synthetic=True))
    sent = wrap_late([first, assistant("on it", finish="tool-calls"), late], 1)
    assert texts(sent[0]) == ["do it"]
    assert texts(sent[2]) == [WRAPPED, "hidden", "made"]
    assert texts(late)[0] == "also this"


def test_nothing_is_wrapped_before_there_is_an_answer():
    messages = [user("do it"), user("also this")]
    assert wrap_late(messages, None) == messages


def test_every_request_has_the_reminder_of_plan_mode():
    sent = remind_of_mode([user("a"), assistant("b"), user("c")], "plan")
    assert "Plan mode is on" in texts(sent[2])[-1]
    assert texts(sent[2])[-1].startswith("<system-reminder>")
    assert texts(sent[0]) == ["a"]


def test_the_first_request_after_plan_mode_has_a_reminder_of_its_end():
    planned = assistant("a plan")
    planned = planned.changed(info=planned.info.changed(agent="plan"))
    assert "from plan to build" in texts(remind_of_mode([user("a"), planned, user("go")], "build")[2])[-1]
    untouched = [user("a"), assistant("b"), user("c")]
    assert remind_of_mode(untouched, "build") == untouched


def test_a_reminder_is_added_at_the_end_of_the_newest_request():
    sent = with_reminder([user("a"), assistant("b"), user("c"), assistant("d")], "mind the gap")
    assert texts(sent[2]) == ["c", "<system-reminder>\nmind the gap\n</system-reminder>"]
