"""Addresses of texts reach the terminal as hyperlinks (OSC 8), and only as safe ones."""

import pytest
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from opencode_tui.tui.conversation.links import link_style
from opencode_tui.tui.output.canvas import cells_of
from opencode_tui.tui.output.hyperlink import CLOSE, begin, linked_file
from opencode_tui.tui.output.painter import Abilities, Frame, Painter


def painted(*segments: tuple[str, Style], abilities: Abilities = Abilities()) -> str:  # noqa: B008 - an immutable value
    written: list[str] = []
    row = cells_of(Strip([Segment(*one) for one in segments]), ColorSystem.TRUECOLOR)
    Painter(abilities).paint(Frame([row], (0, 0)), lambda text: not written.append(text))
    return "".join(written)


def test_a_link_is_opened_before_its_text_and_closed_after_it():
    address = "https://example.org/a;b"
    text = painted(("see ", Style()), ("the page", link_style(Style(bold=True), address)), (" now", Style()))
    assert f"{begin(address)}\x1b[1mthe page{CLOSE}" in text
    assert text.count("\x1b]8;") == 2
    assert text.index("see ") < text.index(begin(address)) < text.index(" now")


def test_a_link_at_the_end_of_a_frame_is_closed():
    text = painted(("page", link_style(Style(), "http://a.example/")))
    assert text.rindex(CLOSE) > text.index("page")


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "file:///etc/passwd", "https://a\x1b]0;x\x07", "", "https://" + "a" * 3000, "ssh://h"],
)
def test_an_address_of_a_model_is_no_order_to_the_terminal(address: str):
    text = painted(("x", link_style(Style(), address)))
    assert "\x07" not in text
    assert "\x1b]0" not in text
    for piece in text.split("\x1b]8;")[1:]:
        assert piece.startswith((";\x1b\\", "id="))
        assert "javascript" not in piece and "passwd" not in piece


def test_a_path_is_a_link_to_a_file_of_this_machine_with_its_signs_encoded():
    text = painted(("a b.py", linked_file(Style(), "/w/a b;é.py", "here")))
    assert ";file://here/w/a%20b%3B%C3%A9.py\x1b\\a b.py" in text
    assert "\x1b]8" not in painted(
        ("a", linked_file(Style(), "/w/a.py", "")), ("b", linked_file(Style(), "a.py", "here"))
    )


def test_a_terminal_without_links_gets_none():
    text = painted(("page", link_style(Style(), "http://a.example/")), abilities=Abilities(links=False))
    assert "\x1b]8" not in text
    assert "page" in text
