"""What the time of turns went to."""

from typing import Any

from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import MessageTime
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.stored_error import PROGRAM_ENDED, aborted
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.text.time_shares import TimeShares, shares_line, shares_table, time_shares
from tests.support.sessions import records


def call(start: int, end: int, **time: int) -> ToolPart:
    part = records.call(records.new_id("call"), "bash", start=start, given={"command": "ls"}, end=end)
    assert isinstance(part.state, ToolStateCompleted)
    return part.changed(state=part.state.changed(time=part.state.time.changed(**time)))


def step(start: int, end: int, *calls: ToolPart, **fields: Any) -> list[MessageWithParts]:
    user = records.user("go", time=MessageTime(created=start))
    time = MessageTime(created=start, completed=end)
    return [user, records.assistant(records.step_start(), *calls, parent=user, time=time, **fields)]


def test_the_model_has_what_no_tool_and_no_user_has() -> None:
    messages = step(0, 10_000, call(4_000, 9_000, waited=2_000))
    assert time_shares(messages) == TimeShares(model=5_000, tools=3_000, you=2_000)


def test_parallel_calls_count_once_and_a_call_that_works_is_no_wait_for_the_user() -> None:
    messages = step(0, 10_000, call(1_000, 9_000), call(1_000, 9_000, waited=5_000))
    assert time_shares(messages) == TimeShares(model=2_000, tools=8_000)


def test_files_that_are_recorded_before_a_call_are_no_wait_for_the_user() -> None:
    messages = step(0, 10_000, call(1_000, 9_000, waited=4_000, recorded=3_000))
    assert time_shares(messages) == TimeShares(model=2_000, tools=7_000, you=1_000)


def test_the_time_between_turns_is_nobodys() -> None:
    assert time_shares([*step(0, 1_000), *step(90_000, 91_000)]) == TimeShares(model=2_000)


def test_a_command_of_the_user_is_no_part_of_a_turn() -> None:
    user = records.user("", time=MessageTime(created=0))
    answer = records.assistant(call(0, 5_000), parent=user, time=MessageTime(created=0, completed=5_000))
    assert time_shares([user, answer]) == TimeShares()


def test_a_killed_step_ends_with_its_last_sign_of_life_and_not_when_it_was_found() -> None:
    late = 3_600_000
    messages = step(0, late, call(1_000, 3_000), call(4_000, late), error=aborted(PROGRAM_ENDED))
    assert time_shares(messages) == TimeShares(model=2_000, tools=2_000)


def test_a_step_that_still_runs_is_not_counted() -> None:
    user = records.user("go", time=MessageTime(created=0))
    running = records.assistant(records.step_start(), parent=user, time=MessageTime(created=0))
    assert time_shares([user, running]) == TimeShares()


def test_the_percentages_add_up_to_a_hundred() -> None:
    shares = TimeShares(model=1_000, tools=1_000, you=1_000)
    assert [share for _, _, share in shares.named()] == [34, 33, 33]
    assert TimeShares(model=60_000, you=1).named() == [("model", 60_000, 100)]


def test_the_words_of_the_shares() -> None:
    shares = TimeShares(model=61_000, tools=22_000, you=17_000)
    assert shares_line(shares, 10) == "model ██████ 61 %   tools ██ 22 %   you █▌ 17 %"
    assert shares_line(shares, 0) == "model 61 %   tools 22 %   you 17 %"
    assert shares_table(shares, 10).splitlines() == [
        "Time of the turns  1 m 40 s",
        "  model    1 m 1 s   61 %  ██████",
        "  tools       22 s   22 %  ██",
        "  you         17 s   17 %  █▌",
    ]
    assert (shares_line(TimeShares(model=900), 10), shares_table(TimeShares(), 10)) == ("", "")
