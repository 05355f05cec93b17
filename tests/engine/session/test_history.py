import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.session.request.history import Position, filter_compacted, is_answered, position
from opencode_tui.schema.session.stored_error import aborted
from tests.support.sessions.records import assistant, compaction, user


def test_history_without_a_compaction_is_complete():
    messages = [user("a"), assistant("b"), user("c")]
    assert filter_compacted(messages) == messages


def test_a_finished_compaction_hides_what_came_before_it():
    old, marker, later = [user("a"), assistant("b")], user(compaction()), user("c")
    summary = assistant("so far", parent=marker, summary=True)
    assert filter_compacted([*old, marker, summary, later]) == [marker, summary, later]


def test_only_the_newest_compaction_counts():
    first, second = user(compaction()), user(compaction())
    one, two = assistant("1", parent=first, summary=True), assistant("2", parent=second, summary=True)
    assert filter_compacted([user("a"), first, one, user("b"), second, two]) == [second, two]


def test_an_unfinished_or_failed_summary_hides_nothing_and_is_not_sent_itself():
    old, marker = [user("a"), assistant("b")], user(compaction())
    unfinished = assistant("so", parent=marker, summary=True, finish=None)
    failed = assistant("so", parent=marker, summary=True, error=aborted())
    for summary in (unfinished, failed):
        assert filter_compacted([*old, marker, summary]) == old


def test_after_a_failed_compaction_the_one_before_still_counts():
    first, second = user(compaction()), user(compaction())
    one = assistant("1", parent=first, summary=True)
    failed = assistant("2", parent=second, summary=True, error=aborted())
    later = user("b")
    assert filter_compacted([user("a"), first, one, later, second, failed]) == [first, one, later]


def test_a_summary_of_generation_one_is_a_boundary_by_itself():
    trigger, later = user("a"), user("b")
    summary = assistant("so far", parent=trigger, summary=True)
    assert filter_compacted([trigger, summary, later]) == [summary, later]


def test_a_request_that_came_while_the_summary_was_written_follows_it():
    marker, late = user(compaction()), user("late")
    summary = assistant("so far", parent=marker, summary=True)
    assert filter_compacted([user("a"), marker, late, summary]) == [marker, summary, late]


def test_a_tail_that_is_kept_in_full_follows_the_summary():
    kept, answer = user("kept"), assistant("kept too")
    marker = user(compaction(tail_id=kept.info.id))
    summary = assistant("so far", parent=marker, summary=True)
    found = filter_compacted([user("old"), kept, answer, marker, summary])
    assert found == [marker, summary, kept, answer]


@pytest.mark.slow
@given(st.lists(st.sampled_from("uac")))
def test_filtering_twice_changes_nothing(kinds):
    messages = []
    for kind in kinds:
        if kind == "c":
            messages.append(user(compaction()))
            messages.append(assistant("s", parent=messages[-1], summary=True))
        else:
            messages.append(user("u") if kind == "u" else assistant("a"))
    once = filter_compacted(messages)
    assert filter_compacted(once) == once


def test_the_newest_of_each_kind_are_found_by_order():
    messages = [user("a"), assistant("b"), user("c"), assistant("d", finish=None)]
    assert position(messages) == Position(last_user=2, last_assistant=3, last_finished=1)


def test_a_request_is_answered_when_its_answer_stopped():
    assert is_answered(*_with_position([user("a"), assistant("b")]))
    assert is_answered(*_with_position([user("a"), assistant("b", finish=None, error=aborted())]))


def test_a_request_is_open_while_tools_or_an_unknown_end_call_for_more():
    for messages in (
        [user("a")],
        [user("a"), assistant("b", finish="tool-calls")],
        [user("a"), assistant("b", finish="unknown")],
        [user("a"), assistant("b"), user("c")],
        [],
    ):
        assert not is_answered(*_with_position(messages))


def _with_position(messages):
    return messages, position(messages)


def test_a_request_that_came_while_an_answer_started_follows_it_and_is_not_answered():
    one, two, late = user("one"), user("two"), user("three")
    messages = filter_compacted([one, two, late, assistant("For one and two.", parent=two)])
    assert messages[-1] is late
    assert not is_answered(*_with_position(messages))


def test_what_an_answer_had_read_stays_before_it():
    one, two = user("one"), user("two")
    calls, done = assistant("a", parent=two, finish="tool-calls"), assistant("b", parent=two)
    assert filter_compacted([one, two, calls, done]) == [one, two, calls, done]
    assert filter_compacted([one, two, assistant("of another program")])[:2] == [one, two]
