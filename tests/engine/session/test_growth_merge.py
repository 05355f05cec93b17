from opencode_tui.engine.session.records.open_records import LiveText
from opencode_tui.engine.session.step.part_machine import Grew, Stored, merge_growth
from tests.support.sessions.records import text


def test_consecutive_growth_of_one_part_is_merged_and_the_order_stays():
    one, other, stored = LiveText(text("")), LiveText(text("")), Stored(text("x"))
    changes = [Grew(one, "a"), Grew(one, "b"), Grew(other, "c"), Grew(one, "d"), stored, Grew(one, "e"), Grew(one, "f")]
    assert merge_growth(changes) == [Grew(one, "ab"), Grew(other, "c"), Grew(one, "d"), stored, Grew(one, "ef")]


def test_nothing_stays_nothing():
    assert merge_growth([]) == []
