"""A paste is text, however it is cut into pieces; what is typed passes at once."""

import pytest

from opencode_tui.tui.terminal_input import PASTE_BEGINS, PASTE_ENDS, PasteFilter

HOSTILE = "a\x1b[13u\x1b\r\x03b\tc\n"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
def test_no_control_character_of_a_paste_passes(size: int) -> None:
    pastes = PasteFilter()
    written = f"x{PASTE_BEGINS}{HOSTILE}{PASTE_ENDS}y\x1b[A{PASTE_BEGINS}é{PASTE_ENDS}"
    passed = "".join(pastes.feed(written[at : at + size]) for at in range(0, len(written), size))
    assert passed == f"x{PASTE_BEGINS}a[13u\rb\tc\n{PASTE_ENDS}y\x1b[A{PASTE_BEGINS}é{PASTE_ENDS}"


def test_an_escape_that_is_typed_passes_at_once() -> None:
    pastes = PasteFilter()
    assert pastes.feed("\x1b") == "\x1b"
    assert pastes.feed("[") == "["
    assert pastes.feed("200~\x1b") == "200~"


def test_what_looks_like_the_end_of_a_paste_and_is_not_is_kept_without_its_escape() -> None:
    pastes = PasteFilter()
    assert pastes.feed(PASTE_BEGINS + "a\x1b[20") == PASTE_BEGINS + "a"
    assert pastes.feed("2~b" + PASTE_ENDS) == "[202~b" + PASTE_ENDS
