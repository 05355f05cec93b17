import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.cli.run.answer_text import AnswerText
from opencode_tui.cli.style import PLAIN, Style
from opencode_tui.text.cells import width
from tests.support.hostile.strings import HOSTILE, steering
from tests.support.rows import each
from tests.support.terminal.command import terminal_style

LONG = "word " * 40


def written(pieces: list[str], style: Style = PLAIN) -> str:
    stream = io.StringIO()
    answer = AnswerText(stream, style)
    for piece in pieces:
        answer.write(piece)
    answer.end()
    return stream.getvalue()


def test_a_text_ends_with_one_line_feed_and_has_no_empty_lines_around_it():
    assert written(["\n\n", "Hello", " there\n", "\n\n"]) == "Hello there\n"
    assert written(["  \n"]) == written([]) == ""


def test_line_ends_of_two_characters_are_one_even_when_they_come_apart():
    assert written(["a\r", "\nb\r\n", "\r\nc"]) == "a\nb\n\nc\n"


@each("text", HOSTILE)
def test_no_answer_steers_the_terminal_however_it_is_cut(text):
    assert steering(written([f"a{text}b"])) == steering(written(list(f"a{text}b"))) == []


def test_a_pipe_gets_the_text_as_it_was_written():
    assert written([LONG + "end"]) == LONG + "end\n"


def test_a_terminal_breaks_lines_between_words_and_indents_lists(terminal):
    eleven = " ".join(["word"] * 11)
    shown = written(["- " + LONG + "end"], terminal(60)).splitlines()
    assert shown == [f"- {eleven}", f"  {eleven}", f"  {eleven}", "  word word word word word word word end"]
    assert [width(line) for line in written([LONG], terminal(140)).splitlines()] == [84, 84, 29]


def test_code_and_tables_are_never_broken(terminal):
    code = f"```\n{LONG}end\n```\n\n    {LONG}end\n| {LONG}|"
    assert written([code], terminal(60)) == code + "\n"


def test_scripts_without_blanks_are_broken_and_shown_as_they_come(terminal):
    stream = io.StringIO()
    AnswerText(stream, terminal(60)).write("漢字" * 40)
    assert [width(line) for line in stream.getvalue().split("\n")] == [58, 58, 44]


def test_letters_that_the_stream_lacks_are_written_as_escapes():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    answer = AnswerText(stream, PLAIN)
    answer.write("漢")
    answer.end()
    assert stream.buffer.getvalue() == b"\\u6f22\n"


@pytest.mark.slow
@given(st.lists(st.text(alphabet="ab \n`-1.漢", max_size=12), max_size=12))
def test_the_same_text_comes_out_however_it_was_cut(pieces):
    with terminal_style(24) as style:
        assert written(pieces, style) == written(["".join(pieces)], style)
    assert written(pieces) == written(["".join(pieces)])
