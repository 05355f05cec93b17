"""A terminal's report of its background is read as dark or light."""

import pytest

from opencode_tui.tui.terminal_input import is_dark


@pytest.mark.parametrize(
    ("color", "dark"), [("0000/0000/0000", True), ("15/16/1b", True), ("fc/fb/f9", False), ("8/8/8", False)]
)
def test_dark_is_what_the_eye_calls_dark(color: str, dark: bool) -> None:
    assert is_dark(*color.split("/")) is dark
