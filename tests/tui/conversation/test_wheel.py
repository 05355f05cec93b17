"""How far the wheel scrolls."""

from opencode_tui.tui.widgets.wheel import MOST, Wheel


def test_fractions_of_lines_are_kept_for_the_next_step() -> None:
    wheel = Wheel(0.5)
    assert [wheel.turn(1) for _ in range(4)] == [0, 1, 0, 1]
    assert [wheel.turn(-1) for _ in range(4)] == [0, -1, 0, -1]


def test_fast_steps_scroll_further_only_when_that_is_wanted() -> None:
    seconds = iter([1 + at * 0.01 for at in range(40)])
    wheel = Wheel(2, accelerates=True, clock=lambda: next(seconds))
    steps = [wheel.turn(1) for _ in range(20)]
    assert steps[0] == 2
    assert steps[-1] == 2 * MOST
    slow = iter([1.0, 2.0, 3.0])
    calm = Wheel(2, accelerates=True, clock=lambda: next(slow))
    assert [calm.turn(1) for _ in range(3)] == [2, 2, 2]
    assert [Wheel(2).turn(1) for _ in range(3)] == [2, 2, 2]
