import pytest

from opencode_tui.schema.error import ApprovalUnavailableError
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.session.tool_state import (
    ErrorDetails,
    ToolStateCompleted,
    ToolStateError,
    ToolStatePending,
    ToolStateRunning,
    ToolTime,
    ToolTransitionError,
    complete,
    details_of,
    fail,
    progress,
    prune,
    restore,
    start,
)

PENDING = ToolStatePending()
RUNNING = start(PENDING, input={"a": 1}, now=10)
DONE = complete(RUNNING, output="out", title="t", metadata={}, now=20)
FAILED = fail(RUNNING, error="no", now=20)


def test_a_call_goes_from_pending_over_running_to_completed():
    assert RUNNING == ToolStateRunning(input={"a": 1}, time=ToolTime(start=10))
    assert DONE == ToolStateCompleted(input={"a": 1}, output="out", title="t", time=ToolTime(start=10, end=20))


def test_progress_keeps_the_start_time_and_joins_metadata():
    first = progress(RUNNING, title="one", metadata={"output": "a", "pid": 1})
    second = progress(first, metadata={"output": "ab"})
    assert second == ToolStateRunning(
        input={"a": 1}, time=ToolTime(start=10), title="one", metadata={"output": "ab", "pid": 1}
    )


def test_a_failing_call_keeps_its_input_and_what_it_reported():
    reported = progress(RUNNING, metadata={"output": "so far"})
    assert fail(reported, error="killed", now=30) == ToolStateError(
        input={"a": 1}, error="killed", time=ToolTime(start=10, end=30), metadata={"output": "so far"}
    )
    assert fail(PENDING, error="never ran", now=5).time == ToolTime(start=5, end=5)


def test_a_failing_call_says_what_its_error_is_about_next_to_the_text():
    ended = fail(RUNNING, error="no", now=20, details=ErrorDetails(subject="", feedback="later"))
    assert ended.to_dict() == FAILED.to_dict() | {"subject": "", "feedback": "later"}


def test_every_detail_of_an_error_is_stored():
    rule = Rule(permission="bash", pattern="*", action="deny")
    details = ErrorDetails(
        subject="s", dismissed=True, feedback="f", unasked=True, rule=rule, built_in=True, nearest=["a"], problem="p"
    )
    assert details.model_fields_set == ErrorDetails.model_fields.keys()
    assert fail(RUNNING, error="no", now=20, details=details).to_dict() == FAILED.to_dict() | details.to_dict()


def test_pruning_and_restoring_leave_the_output():
    pruned = prune(DONE, now=99)
    assert pruned.time.compacted == 99 and pruned.output == "out"
    restored = restore(pruned)
    assert restored.time == DONE.time and restored.metadata == {"keep": True}


@pytest.mark.parametrize("state", [RUNNING, DONE, FAILED])
def test_only_a_pending_call_can_start(state):
    with pytest.raises(ToolTransitionError, match=state.status):
        start(state, input={}, now=1)


@pytest.mark.parametrize("state", [PENDING, DONE, FAILED])
def test_only_a_running_call_can_complete_or_report(state):
    with pytest.raises(ToolTransitionError):
        complete(state, output="", title="", metadata={}, now=1)
    with pytest.raises(ToolTransitionError):
        progress(state, title="x")


@pytest.mark.parametrize("state", [DONE, FAILED])
def test_an_ended_call_cannot_fail(state):
    with pytest.raises(ToolTransitionError):
        fail(state, error="late", now=1)


def test_a_call_that_nobody_could_approve_says_so_next_to_the_text():
    assert details_of(ApprovalUnavailableError("bash", ["ls"])).to_dict() == {"unasked": True}
