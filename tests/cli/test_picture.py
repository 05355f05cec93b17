"""The README's picture of a turn."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

pytest.importorskip("rich", reason="the picture is drawn with rich")

from tests.support.terminal.picture import draw, final_text

PICTURE = Path(__file__).parents[2] / "assets" / "run.svg"


def test_of_a_line_that_was_drawn_anew_its_last_form_stays():
    assert final_text("head\r\n\r\x1b[2K| Thinking\r\x1b[2K/ Thinking\r\x1b[2Ktext\r\nend\r\n") == "head\ntext\nend"


def test_a_drawing_holds_the_text_in_the_palette():
    drawing = draw("\x1b[92m✓\x1b[0m done")
    text = "".join(ET.fromstring(drawing).itertext()).replace("\N{NO-BREAK SPACE}", " ")
    assert "✓" in text and "done" in text and "#86cf9c" in drawing


def test_the_picture_shows_a_turn_and_names_no_other_place():
    drawing = PICTURE.read_text(encoding="utf-8")
    text = "".join(ET.fromstring(drawing).itertext()).replace("\N{NO-BREAK SPACE}", " ")
    assert "opencode-tui run" in text and "Wrote" in text and "Done" in text
    assert drawing.count("http") == 1 and "/tmp" not in drawing and "/home" not in drawing
