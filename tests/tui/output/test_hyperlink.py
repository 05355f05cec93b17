"""Addresses of texts reach the terminal as hyperlinks (OSC 8), and only as safe ones."""

from dataclasses import replace

import pytest
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from opencode_tui.tui.conversation.line import RenderContext, draw_open, draw_output, place_spans
from opencode_tui.tui.conversation.links import link_style
from opencode_tui.tui.conversation.prose import inline_spans
from opencode_tui.tui.output.hyperlink import CLOSE, begin, link_of, linked_file
from opencode_tui.tui.output.painter import Abilities, Frame, Painter, cells_of
from tests.support.terminal.screen import look


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


PAGE = RenderContext(80, look(), "/w", host="here", link_form="vscode")


def links(text: str, page: RenderContext = PAGE) -> dict[str, str]:
    """Return the linked pieces of a text with their addresses; no letter may be lost."""
    spans = list(place_spans(text, Style(), page))
    assert "".join(piece for piece, _ in spans) == text
    return {piece: link_of(style) for piece, style in spans if link_of(style)}


@pytest.mark.parametrize(
    ("text", "piece", "address"),
    [
        ("the fault is in src/a.py:14.", "src/a.py:14", "vscode://file/w/src/a.py:14"),
        ("./a.py:3:7: E501 too long", "./a.py:3:7", "vscode://file/w/a.py:3"),
        ("/tmp/x y.py:1 no, /tmp/b.c:9", "/tmp/b.c:9", "vscode://file/tmp/b.c:9"),
        ('  File "lib/a b.py", line 20, in f', 'File "lib/a b.py", line 20', "vscode://file/w/lib/a%20b.py:20"),
    ],
)
def test_a_path_with_a_line_is_a_link_to_the_line(text: str, piece: str, address: str):
    assert links(text)[piece] == address


@pytest.mark.parametrize(
    "text", ["at 10:30", "localhost:80", "http://a.example:80/x", "a.b:3/x", "", "x.1:2", "a@b.de"]
)
def test_other_texts_with_colons_are_no_paths(text: str):
    assert links(text) == {}


def test_without_an_editor_the_link_is_to_the_file_and_without_this_machine_there_is_none():
    assert links("a.py:14", replace(PAGE, link_form="")) == {"a.py:14": "file://here/w/a.py"}
    assert links("a.py:14", replace(PAGE, host="")) == {}


def test_answers_and_output_have_the_links():
    drawn = [*draw_output(["a.py:1: broken"], PAGE), *draw_open("b.py:2\n", PAGE)]
    spans = inline_spans("see `c.py:3` and **d.py:4**", PAGE)
    found = [link_of(style) for _, style in spans] + [
        link_of(one.style) for line in drawn for one in line.strip if one.style
    ]
    assert sorted(filter(None, found)) == [
        f"vscode://file/w/{name}" for name in ("a.py:1", "b.py:2", "c.py:3", "d.py:4")
    ]
