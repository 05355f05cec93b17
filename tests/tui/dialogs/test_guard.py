"""No key that was typed for something else answers a question."""

import pytest

from opencode_tui.tui.dialogs.panel import Guard


def test_it_is_deaf_for_the_first_400_ms() -> None:
    guard = Guard(0)
    assert not guard.accepts(399)


def test_it_listens_after_400_ms_of_silence() -> None:
    assert Guard(0).accepts(400)


def test_a_key_shortly_before_makes_it_wait_for_150_ms_of_silence() -> None:
    guard = Guard(0)
    assert not guard.accepts(390)
    assert not guard.accepts(450)
    assert not guard.accepts(590)
    assert guard.accepts(740)


def test_once_it_listens_it_goes_on_listening() -> None:
    guard = Guard(0)
    assert guard.accepts(500)
    assert guard.accepts(501)


@pytest.mark.parametrize(("typed", "first"), [(-1, 1000), (-2999, 1000), (-3001, 400), (None, 400)])
def test_a_text_that_was_typed_shortly_before_makes_it_wait_longer(typed: int | None, first: int) -> None:
    assert not Guard(0, typed).accepts(first - 1)
    assert Guard(0, typed).accepts(first)


@pytest.mark.parametrize(("is_text", "gap"), [(True, 1000), (False, 150)])
def test_a_character_makes_it_wait_longer_for_silence_than_another_key(is_text: bool, gap: int) -> None:
    guard = Guard(0)
    assert not guard.accepts(390, is_text=is_text)
    assert guard.wait(390 + gap - 1) == 1
    assert guard.accepts(390 + gap)


def test_it_says_how_long_it_will_be_deaf() -> None:
    guard = Guard(1000)
    assert guard.wait(1100) == 300
    assert guard.wait(1400) == 0
