import io

import pytest

from opencode_tui.cli.style import PLAIN, Style, style_of


class Tty(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 99


def test_a_pipe_gets_no_attributes_and_no_width():
    style = style_of(io.StringIO(), {"TERM": "xterm"})
    assert (style.paint("x", "bold", "error"), style.columns(), style.is_terminal) == ("x", None, False)


def test_a_closed_stream_is_shown_nothing():
    assert style_of(None, {}) == PLAIN


@pytest.mark.parametrize(
    ("environ", "painted"),
    [
        ({"TERM": "xterm"}, "\x1b[1;91mx\x1b[0m"),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "\x1b[1mx\x1b[0m"),
        ({"TERM": "xterm", "NO_COLOR": ""}, "\x1b[1;91mx\x1b[0m"),
        ({"TERM": "xterm", "COLORFGBG": "0;15"}, "\x1b[1;31mx\x1b[0m"),
        ({"TERM": "dumb"}, "x"),
        ({}, "x"),
    ],
)
def test_hues_follow_the_terminal_and_no_color(environ, painted):
    assert style_of(Tty(), environ).paint("x", "bold", "error") == painted


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({}, "✓ +1 −2 …"),
        ({"LANG": "de_DE.UTF-8"}, "✓ +1 −2 …"),
        ({"LANG": "C"}, "v +1 -2 ~"),
        ({"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}, "v +1 -2 ~"),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, "v +1 -2 ~"),  # what Python makes of the locale C
        ({"LC_CTYPE": "de_DE.ISO-8859-1"}, "v +1 -2 ~"),
    ],
)
def test_signs_follow_the_locale(environ, words):
    assert style_of(Tty(), environ).words("✓ +1 −2 …") == words


def test_signs_follow_the_encoding_of_the_stream():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert style_of(stream, {"LANG": "C.UTF-8"}).words("✓") == "v"


def test_facts_end_before_column_120_and_the_last_cell_stays_free(terminal):
    assert terminal(0).columns() == 79  # a serial console
    assert (terminal(100).width(), terminal(200).width(), terminal(200).columns()) == (99, 120, 199)


def test_a_terminal_that_is_gone_has_no_width():
    assert Style(is_terminal=True, descriptor=-1).columns() is None
