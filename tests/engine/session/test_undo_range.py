import pytest

from opencode_tui.engine.session.repair import UNSEEN
from opencode_tui.engine.session.revert.range import (
    Boundary,
    ChildCall,
    UncoveredCall,
    changes_of,
    find_boundary,
    hidden_parts,
    last_turn,
    scope_of,
    stored_boundary,
    visible,
    work_of,
)
from opencode_tui.schema.error import NoSuchMessageError, NothingToRevertError
from opencode_tui.schema.session.message import MessageTime
from opencode_tui.schema.session.part import PatchPart
from opencode_tui.schema.session.session import RevertState
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolTime
from tests.support.sessions.records import assistant, call, compaction, owner, step_start, text, user


def conversation():
    """Two turns; the second has two answers."""
    u1 = user("first")
    a1 = assistant(step_start(), text("done"), parent=u1)
    u2 = user("second")
    a2 = assistant(step_start(), text("I will"), call("c1"), call("c2"), parent=u2)
    a3 = assistant(step_start(), call("c3"), parent=u2)
    return [u1, a1, u2, a2, a3]


def ids(messages):
    return [message.info.id for message in messages]


def test_a_request_is_its_own_boundary():
    messages = conversation()
    assert find_boundary(messages, messages[2].info.id) == Boundary(2)
    scope = scope_of(messages, Boundary(2))
    assert (scope.messages, scope.requests, scope.answers) == (ids(messages)[2:], 1, 2)


def test_an_answer_counts_as_its_request():
    messages = conversation()
    assert find_boundary(messages, messages[4].info.id) == Boundary(2)


def test_a_part_with_text_before_it_keeps_the_text():
    messages = conversation()
    part = messages[3].parts[2]
    boundary = find_boundary(messages, messages[3].info.id, part.id)
    assert boundary == Boundary(3, 2)
    kept = visible(messages, RevertState(message_id=messages[3].info.id, part_id=part.id))
    assert ids(kept) == ids(messages)[:4] and kept[3].parts == messages[3].parts[:2]
    assert hidden_parts(messages, boundary) == [*messages[3].parts[2:], *messages[4].parts]
    assert scope_of(messages, boundary).messages == [messages[4].info.id]


def test_the_first_part_of_an_answer_counts_as_the_request():
    messages = conversation()
    assert find_boundary(messages, messages[4].info.id, messages[4].parts[1].id) == Boundary(2)


def test_an_answer_without_parts_can_be_undone():
    messages = [user("hi"), assistant()]
    assert find_boundary(messages, messages[1].info.id) == Boundary(0)


def test_unknown_ids_are_named():
    messages = conversation()
    with pytest.raises(NoSuchMessageError, match="msg_gone"):
        find_boundary(messages, "msg_gone")
    with pytest.raises(NoSuchMessageError, match="prt_gone"):
        find_boundary(messages, messages[1].info.id, "prt_gone")


def test_without_an_undo_all_is_visible():
    assert visible(conversation(), None)[0].info.role == "user"


def test_a_boundary_of_a_deleted_message_is_found_by_its_position():
    messages = conversation()
    gone = messages.pop(2)
    assert stored_boundary(messages, RevertState(message_id=gone.info.id)) == Boundary(2)
    assert stored_boundary(messages[:2], RevertState(message_id=gone.info.id)) is None


def test_each_message_that_is_there_is_found_the_last_one_too():
    messages = conversation()
    found = [stored_boundary(messages, RevertState(message_id=message.info.id)) for message in messages]
    assert found == [Boundary(at) for at in range(len(messages))]


def test_across_an_overflow_of_the_ids_no_message_is_mistaken_for_a_later_one():
    messages = [user("old"), assistant("answer")]
    for message, name in zip(messages, ("ffffffffff00", "ffffffffff01"), strict=True):
        object.__setattr__(message, "info", message.info.changed(id=f"msg_{name}00000000000000"))
    assert stored_boundary(messages, RevertState(message_id="msg_00000000000100000000000000")) is None


def test_the_last_turn_is_the_last_request_of_the_user():
    u1, marker = user("first"), user(compaction())
    summary = assistant(step_start(), "summary", parent=marker, summary=True)
    go_on = user(text("go on", synthetic=True))
    a2 = assistant(step_start(), "done", parent=go_on)
    assert last_turn([u1, assistant("half", parent=u1), marker, summary, go_on, a2]) == u1.info.id


def test_a_command_line_and_a_summary_asked_for_are_turns():
    asked = user(compaction().changed(auto=False))
    shell = user(text("the person ran this", synthetic=True))
    ran = assistant(call("c1", "bash"), parent=shell)
    assert last_turn([user("hi"), asked]) == asked.info.id
    assert last_turn([user("hi"), shell, ran]) == shell.info.id


def test_without_a_request_there_is_nothing_to_undo():
    with pytest.raises(NothingToRevertError):
        last_turn([])


def test_changes_are_patches_and_the_calls_of_agents_in_order():
    task = call("c1", "task")
    state = ToolStateCompleted(input={}, output="", metadata={"sessionId": "ses_child"}, time=ToolTime(start=5, end=9))
    patch = PatchPart(**owner(), hash="0" * 40, files=["/p/a"])
    found = list(changes_of([text("x"), call("c0"), task.changed(state=state), patch]))
    assert found == [ChildCall("ses_child", 5, 9), patch]


def test_a_call_of_an_agent_in_the_background_is_one_that_its_work_outlives():
    task = call("c1", "task", details={"sessionId": "ses_child", "background": "bg1"}, start=5, end=6)
    assert list(changes_of([task])) == [ChildCall("ses_child", 5, 6, is_background=True)]


def at(time: int, message):
    object.__setattr__(message, "info", message.info.changed(time=MessageTime(created=time)))
    return message


@pytest.mark.parametrize(
    ("start", "found"),
    [(1, [0, 1]), (4, [0, 1]), (5, [2, 3, 4, 5, 6]), (10, [2, 3, 4, 5, 6]), (11, [7]), (21, [7]), (31, [])],
)
def test_the_work_of_a_background_agent_is_its_first_request_from_the_call_on_with_what_answers_it(start, found):
    messages = [
        at(4, user("an earlier task")),
        at(5, assistant(step_start(), "done")),
        at(10, user("the task")),
        at(11, assistant(step_start(), call("c1"))),
        at(12, user(compaction())),
        at(20, user(text("go on", synthetic=True))),
        at(21, assistant(step_start(), "done")),
        at(30, user("of the user, or a later task")),
    ]
    work = work_of(ChildCall("ses_child", start, start + 1, is_background=True), messages)
    assert [messages.index(message) for message in work] == found


def test_a_childs_work_for_a_call_is_what_it_did_meanwhile():
    messages = [user(str(time)) for time in (4, 5, 9, 10)]
    for message, time in zip(messages, (4, 5, 9, 10), strict=True):
        object.__setattr__(message, "info", message.info.changed(time=MessageTime(created=time)))
    assert work_of(ChildCall("ses_child", 5, 9), messages) == messages[1:3]


def agent_conversation():
    """Return three requests of the user in a child session with their answers, the second of which was compacted."""
    messages = [user("one"), assistant(step_start(), "1")]
    messages += [user("two"), assistant(step_start(), call("c1")), user(compaction()), assistant(step_start(), "2")]
    messages += [user("three"), assistant(step_start(), "3")]
    for at, message in enumerate(messages):
        object.__setattr__(message, "info", message.info.changed(id=f"msg_{at:012x}00000000000000"))
    return messages


@pytest.mark.parametrize(
    ("after", "last", "found"),
    [
        ("", 1, [0, 1]),
        ("", None, [0, 1]),
        (1, 5, [2, 3, 4, 5]),
        (1, None, [2, 3, 4, 5]),
        (5, None, [6, 7]),
        (1, 7, [2, 3, 4, 5, 6, 7]),
        (7, None, []),
        (7, 7, []),
    ],
)
@pytest.mark.parametrize("is_background", [False, True])
def test_a_childs_work_is_what_stands_between_two_messages_whatever_the_clock_said(after, last, found, is_background):
    messages = agent_conversation()
    name = lambda at: at if not isinstance(at, int) else messages[at].info.id  # noqa: E731 - shorter than its use
    one = ChildCall("ses_child", 10**15, 5, is_background, after=name(after), last=name(last))
    assert [messages.index(message) for message in work_of(one, messages)] == found


def test_a_childs_work_is_found_although_the_message_before_it_is_gone():
    messages = agent_conversation()
    one = ChildCall("ses_child", 1, 2, after=messages[1].info.id, last=messages[5].info.id)
    assert work_of(one, [messages[0], *messages[2:5], *messages[6:]]) == messages[2:5]


@pytest.mark.parametrize("metadata", [{"work": 3}, {"work": {"after": None, "last": 4}}, {}])
def test_a_record_without_positions_or_with_other_ones_is_read_by_its_times(metadata):
    task = call("c1", "task", details={"sessionId": "ses_child", **metadata}, start=5, end=6)
    assert list(changes_of([task])) == [ChildCall("ses_child", 5, 6)]


def test_by_its_times_an_answer_after_the_clock_went_back_is_part_of_the_work():
    minute = 60_000
    messages = [
        at(10 * minute, user("the task")),
        at(9 * minute, assistant(step_start(), "done")),
        at(12 * minute, user("later")),
    ]
    assert work_of(ChildCall("ses_child", 10 * minute, 9 * minute + 5), messages) == messages[:2]


LOST = {"unprotected": "it is full"}
SAID = "what {} changed was not recorded: it is full"
EDIT = {"filediff": {"file": "/p/a"}}


@pytest.mark.parametrize(
    ("tool", "status", "details", "found"),
    [
        ("bash", "completed", {}, None),
        ("bash", "completed", LOST, UncoveredCall([], SAID.format("bash"))),
        ("bash", "error", LOST, UncoveredCall([], SAID.format("bash"))),
        ("bash", "running", LOST, UncoveredCall([], SAID.format("bash"))),
        ("bash", "error", {}, None),
        ("bash", "error", {"unprotected": UNSEEN}, None),
        ("bash", "pending", {}, None),
        ("an_mcp_tool", "completed", LOST, UncoveredCall([], SAID.format("an_mcp_tool"))),
        ("an_mcp_tool", "error", LOST, UncoveredCall([], SAID.format("an_mcp_tool"))),
        ("edit", "completed", {**EDIT, **LOST}, UncoveredCall(["/p/a"], "it is full")),
        ("edit", "completed", EDIT, None),
        ("edit", "error", LOST, None),
        (
            "apply_patch",
            "completed",
            {"files": [{"filePath": "/p/a", "movePath": "/p/b"}], **LOST},
            UncoveredCall(["/p/a", "/p/b"], "it is full"),
        ),
        ("read", "completed", LOST, None),
    ],
)
def test_a_call_without_a_record_is_a_change_of_what_it_may_have_changed(tool, status, details, found):
    part = call("c1", tool, status=status, details=details)
    if status == "error":
        part = part.changed(state=part.state.changed(metadata=details))
    assert list(changes_of([part])) == ([] if found is None else [found])
