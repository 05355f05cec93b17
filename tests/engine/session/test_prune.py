"""Which old outputs are pruned: the cases of the original's tests, then each rule by itself."""

from opencode_tui.engine.session.compaction.prune import output_tokens, prunable, pruned
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import restore
from tests.support.sessions.records import assistant, call, text, user

LARGE = "x" * 49_000
"""An output of 12,250 tokens."""


def turn(*parts: ToolPart) -> list[MessageWithParts]:
    return [user("do it"), assistant(*parts, finish="tool-calls"), assistant("done")]


def calls(count: int, *, output: str = LARGE, tool: str = "read", pruned: bool = False) -> list[ToolPart]:
    return [call(f"{tool}{number}", tool, output=output, pruned=pruned) for number in range(count)]


def names(parts: list[ToolPart]) -> list[str]:
    return [part.call_id for part in parts]


def kept(part: ToolPart) -> ToolPart:
    return part.changed(state=restore(part.state))


def test_six_large_outputs_are_pruned_from_the_third_turn_on() -> None:
    first = turn(*calls(6))
    assert prunable(first) == []
    assert prunable([*first, *turn()]) == []
    assert names(prunable([*first, *turn(), *turn()])) == ["read2", "read1", "read0"]


def test_the_two_newest_turns_are_safe_at_any_size() -> None:
    messages = [*turn(), *turn(*calls(10)), *turn(*calls(10))]
    assert prunable(messages) == []


def test_fewer_than_twenty_thousand_tokens_are_not_worth_it() -> None:
    below, enough = "x" * 4 * 19_999, "x" * 4 * 20_000
    protected = call("new", output="x" * 4 * 40_000)
    for output, expected in ((below, []), (enough, ["old"])):
        assert names(prunable([*turn(call("old", output=output), protected), *turn(), *turn()])) == expected


def test_forty_thousand_tokens_before_the_safe_turns_are_not_pruned() -> None:
    exactly = [call("old", output=LARGE * 2), call("new", output="x" * 4 * 40_000)]
    assert names(prunable([*turn(*exactly), *turn(), *turn()])) == ["old"]
    more = [call("old", output=LARGE * 2), call("new", output="x" * 4 * 40_001)]
    assert names(prunable([*turn(*more), *turn(), *turn()])) == ["new", "old"]


def test_the_walk_stops_at_a_summary() -> None:
    old, later = turn(*calls(9)), [user("go on"), assistant("summary", summary=True)]
    assert prunable([*old, *later, *turn(*calls(2)), *turn(), *turn()]) == []


def test_the_walk_stops_at_a_pruned_output() -> None:
    parts = [*calls(5), call("gone", output=LARGE, pruned=True), *calls(4)]
    assert prunable([*turn(*parts), *turn(), *turn()]) == []


def test_skill_outputs_stay_and_count_for_nothing() -> None:
    parts = [*calls(6), *calls(9, tool="skill")]
    assert names(prunable([*turn(*parts), *turn(), *turn()])) == ["read2", "read1", "read0"]


def test_a_restored_output_stays_and_counts_for_nothing() -> None:
    parts = [kept(call("mine", output=LARGE * 9)), *calls(6)]
    assert names(prunable([*turn(*parts), *turn(), *turn()])) == ["read2", "read1", "read0"]


def test_only_completed_calls_are_pruned() -> None:
    open_calls = [call(status, status=status, output=LARGE * 9) for status in ("pending", "running", "error")]
    assert prunable([*turn(*open_calls), *turn(), *turn()]) == []


def test_texts_are_never_pruned() -> None:
    messages = [user(text("x" * 900_000)), assistant("y" * 900_000), *turn(), *turn()]
    assert prunable(messages) == []


def test_what_is_pruned_is_found_again() -> None:
    parts = [call("a", pruned=True), call("b"), call("c", status="error")]
    assert names(pruned(turn(*parts))) == ["a"]
    assert output_tokens(parts[1]) == 1 and output_tokens(parts[2]) == 0
