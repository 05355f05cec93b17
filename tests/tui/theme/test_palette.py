"""Every text can be read on every area, in every theme and at every number of colors."""

import pytest
from rich.color import Color, ColorSystem

from opencode_tui.tui.theme.derive import contrast
from opencode_tui.tui.theme.look import FIRST_GRAY, Palette, built_in, find_depth, first_look, is_dark
from opencode_tui.tui.theme.themes import BUILT_IN, TERMINAL, Themes
from tests.support.rows import each

TEXTS = ("text", "muted", "accent", "success", "warning", "error", "diff_add", "diff_del", "assistant", "user")
CODE = ("code_keyword", "code_string", "code_number", "code_function", "code_builtin", "code_comment")
AREAS = ("background", "panel", "surface", "selection")


def worst(palette: Palette) -> tuple[float, str, str]:
    pairs = [(text, area) for text in (*TEXTS, *CODE) for area in AREAS]
    return min((contrast(getattr(palette, text), getattr(palette, area)), text, area) for text, area in pairs)


@pytest.mark.slow
@each("dark", [True, False])
@each("name", [name for name in Themes([]).names() if name != TERMINAL])
def test_every_text_of_every_theme_can_be_read_on_every_area(name: str, dark: bool) -> None:
    palette = Themes([]).palette(name, dark=dark, depth="truecolor")
    assert worst(palette)[0] >= 4.45, worst(palette)


def test_the_contrast_of_two_colors_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#ffffff", "#777777") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == 1


def test_there_are_a_dozen_themes_and_the_built_in_one_comes_first() -> None:
    names = Themes([]).names()
    assert names[0] == BUILT_IN
    assert len(names) >= 12


@pytest.mark.parametrize("dark", [True, False])
def test_areas_differ_with_256_colors(dark: bool) -> None:
    palette = built_in(dark, "256")
    numbers = [Color.parse(getattr(palette, area)).downgrade(ColorSystem.EIGHT_BIT).number for area in AREAS]
    assert len(set(numbers)) == 4
    assert 16 not in numbers


def test_grays_of_256_colors_are_found_again() -> None:
    palette = built_in(True, "256")
    found = Color.parse(palette.text).downgrade(ColorSystem.EIGHT_BIT).number
    assert found is not None
    assert found >= FIRST_GRAY
    assert found == 253


def test_sixteen_colors_use_no_tone_and_reverse_the_selection() -> None:
    palette = built_in(True, "16")
    assert not palette.tones
    assert palette.style("text", "selection").reverse
    assert palette.style("muted").dim
    assert palette.style("muted").color is None


def test_no_color_means_no_hue_anywhere() -> None:
    palette = built_in(False, "none")
    styles = [palette.style(text, area) for text in (*TEXTS, *CODE) for area in AREAS]
    assert styles and all(style.color is None and style.bgcolor is None for style in styles)
    assert palette.style("error").bold


def test_the_same_style_is_made_once() -> None:
    palette = built_in(True, "truecolor")
    assert palette.style("muted", "surface") is palette.style("muted", "surface")


@pytest.mark.parametrize(
    ("environ", "depth"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "truecolor"),
        ({"TERM": "xterm-256color"}, "256"),
        ({"TERM": "screen-256color"}, "256"),
        ({"TERM": "xterm"}, "16"),
        ({"TERM": "linux"}, "16"),
        ({"TERM": "dumb"}, "none"),
        ({}, "none"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"}, "none"),
    ],
)
def test_the_terminal_says_how_many_colors_it_shows(environ: dict[str, str], depth: str) -> None:
    assert find_depth(environ) == depth


@pytest.mark.parametrize(
    ("said", "dark"), [("15;0", True), ("0;15", False), ("0;default;7", False), ("", True), ("x", True)]
)
def test_the_terminals_background_is_followed_where_it_is_told(said: str, dark: bool) -> None:
    assert is_dark({"COLORFGBG": said}) is dark


def test_glyphs_are_ascii_where_the_terminal_is_not_utf8() -> None:
    assert first_look({}, "ascii").glyphs.done == "v"
    assert first_look({}, "UTF-8").glyphs.done == "✓"


def test_own_words_lose_their_special_separators_with_plain_glyphs() -> None:
    assert first_look({}, "latin-1").words("1 turn · 12:04 …") == "1 turn . 12:04 ~"


@pytest.mark.parametrize(
    ("environ", "done"),
    [({"LC_ALL": "C", "LANG": "de_DE.UTF-8"}, "v"), ({"LANG": "POSIX"}, "v"), ({"LC_ALL": "C.UTF-8"}, "✓"), ({}, "✓")],
)
def test_the_c_locale_asks_for_plain_signs(environ: dict[str, str], done: str) -> None:
    assert first_look(environ, "utf-8").glyphs.done == done
