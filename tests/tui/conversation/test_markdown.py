"""Markdown is cut into blocks line by line, however the text arrives, and never twice."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencode_tui.tui.conversation.markdown import (
    CODE_LINES,
    CUT,
    TABLE_ROWS,
    Block,
    Code,
    Markdown,
    Paragraph,
    Rule,
    Table,
)
from opencode_tui.tui.conversation.prose import fit_columns, parse_inline, split_cells


def blocks_of(text: str) -> list[Block]:
    markdown = Markdown()
    markdown.feed(text)
    markdown.close()
    return markdown.blocks


def told(block: Block) -> tuple[object, ...]:
    """What a block is, for comparison."""
    own = (getattr(block, name, None) for name in ("lines", "mark", "level", "language", "delimiter", "task"))
    return (type(block).__name__, block.indent, block.quote, block.gap, *own)


PIECES = st.lists(
    st.sampled_from(
        [
            "- ",
            "- [x] ",
            "1. ",
            "> ",
            "\n",
            "\n\n",
            "```",
            "```py\n",
            "text ",
            "| a | b |",
            "|---|---|",
            "---",
            "===",
            "# ",
            "  ",
            "    ",
            "\t",
            "`",
            "*x*",
            "日本",
            "~~~",
            "\r\n",
        ]
    ),
    max_size=40,
)


@pytest.mark.slow
@settings(max_examples=100)
@given(PIECES, st.randoms(use_true_random=False))
def test_any_split_of_the_text_gives_the_same_blocks(pieces: list[str], dice) -> None:
    text = "".join(pieces)
    markdown, at = Markdown(), 0
    while at < len(text):
        size = dice.randint(1, 5)
        markdown.feed(text[at : at + size])
        at += size
    markdown.close()
    assert [told(block) for block in markdown.blocks] == [told(block) for block in blocks_of(text)]


@given(PIECES)
def test_blocks_before_the_told_index_are_the_same_ones(pieces: list[str]) -> None:
    markdown = Markdown()
    for piece in pieces:
        before = list(markdown.blocks)
        kept = [told(block) for block in before]
        first = markdown.feed(piece)
        assert markdown.blocks[:first] == before[:first]
        assert [told(block) for block in markdown.blocks[:first]] == kept[:first]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("one\ntwo\n\nthree", [(Paragraph, ["one", "two"]), (Paragraph, ["three"])]),
        ("Title\n=====\ntext", [(Paragraph, ["Title"]), (Paragraph, ["text"])]),
        ("```py\na\n\nb\n```\nend", [(Code, ["a", "", "b"]), (Paragraph, ["end"])]),
        ("~~~\n```\n~~~", [(Code, ["```"])]),
        ("| a |\n|---|\n| 1 |\n\nend", [(Table, ["| a |", "| 1 |"]), (Paragraph, ["end"])]),
        ("***", [(Rule, None)]),
        ("- a\n  more\n- b", [(Paragraph, ["a", "more"]), (Paragraph, ["b"])]),
        ("a | b is no table", [(Paragraph, ["a | b is no table"])]),
    ],
)
def test_blocks(text: str, kinds: list[tuple[type, object]]) -> None:
    assert [(type(block), getattr(block, "lines", None)) for block in blocks_of(text)] == kinds


def test_lists_nest_and_numbers_go_on() -> None:
    blocks = blocks_of("1. a\n   - b\n     - c\n1. d\n\nplain")
    found = [(block.mark, block.indent) for block in blocks if isinstance(block, Paragraph)]
    assert found == [("1.", 3), ("•", 5), ("•", 7), ("2.", 3), ("", 0)]


def test_code_in_a_list_keeps_its_own_indent() -> None:
    (_, code) = blocks_of("- a\n  ```py\n  if x:\n      y\n  ```\n")
    assert isinstance(code, Code)
    assert (code.indent, code.lines) == (2, ["if x:", "    y"])


def test_an_open_fence_is_frozen_in_pieces_and_whole_when_it_closes() -> None:
    markdown = Markdown()
    markdown.feed("```py\n" + "x = 1\n" * 100)
    assert [len(block.lines) for block in markdown.blocks if isinstance(block, Code)] == [CODE_LINES, CODE_LINES, 20]
    assert markdown.feed("```\n") == 0
    assert [len(block.lines) for block in markdown.blocks if isinstance(block, Code)] == [100]


def test_a_very_long_fence_stays_in_pieces() -> None:
    assert len(blocks_of("```\n" + "x\n" * 2_000 + "```")) == 2_000 // CODE_LINES


def test_a_long_line_becomes_pieces_that_lose_nothing() -> None:
    text = "word " * 3_000
    blocks = [block for block in blocks_of(text) if isinstance(block, Paragraph)]
    assert max(len(block.text) for block in blocks) <= CUT
    assert " ".join(block.text for block in blocks).split() == text.split()
    assert [block.gap for block in blocks] == [False] * len(blocks)


def test_a_long_line_of_code_loses_no_letter() -> None:
    code = "x" * 10_000
    blocks = blocks_of(f"```\n{code}\n```")
    assert "".join(line for block in blocks if isinstance(block, Code) for line in block.lines) == code


def test_a_long_table_is_cut_into_pieces_that_know_what_stands_above() -> None:
    blocks = blocks_of("| a |\n|---|\n" + "| 1 |\n" * 100)
    tables = [block for block in blocks if isinstance(block, Table)]
    assert [len(table.lines) for table in tables] == [TABLE_ROWS, 101 - TABLE_ROWS]
    assert tables[1].above is tables[0]


def test_the_unfinished_last_line_is_seen_and_taken_back() -> None:
    markdown = Markdown()
    markdown.feed("a\n\n- b")
    assert told(markdown.blocks[-1])[4] == ["b"]
    markdown.feed("old** no list\n")
    assert [told(block)[4] for block in markdown.blocks] == [["a"], ["bold** no list"]]


def test_a_line_that_may_become_a_mark_is_not_shown_yet() -> None:
    markdown = Markdown()
    markdown.feed("a\n\n``")
    assert len(markdown.blocks) == 1


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("| a | b |", ["a", "b"]),
        ("a | b", ["a", "b"]),
        (r"| a \| b | c |", ["a | b", "c"]),
        ("| `a|b` | c |", ["`a|b`", "c"]),
        ("| | b |", ["", "b"]),
    ],
)
def test_cells_of_a_table(line: str, cells: list[str]) -> None:
    assert split_cells(line) == cells


@pytest.mark.parametrize(
    ("natural", "room", "widths"),
    [([5, 5], 20, [5, 5]), ([30, 5], 20, [15, 5]), ([30, 30, 4], 24, [10, 10, 4]), ([50, 50], 4, [6, 6])],
)
def test_wide_columns_give_way_first(natural: list[int], room: int, widths: list[int]) -> None:
    assert fit_columns(natural, room) == widths


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("plain", [("plain", "text")]),
        ("a `b` c", [("a ", "text"), ("b", "code"), (" c", "text")]),
        ("snake_case_name", [("snake_case_name", "text")]),
        ("[a](http://x.y)", [("a", "link"), (" (http://x.y)", "url")]),
        ("see https://x.y/z.", [("see ", "text"), ("https://x.y/z", "link"), (".", "text")]),
        ("<b>", [("<b>", "text")]),
        ("![alt](u)", [("[image: alt]", "link"), (" (u)", "url")]),
        ("a ~~b~~", [("a ", "text"), ("~~", "tildes"), ("b", "text"), ("~~", "tildes")]),
    ],
)
def test_inline_pieces(text: str, pieces: list[tuple[str, str]]) -> None:
    assert [(piece.text, piece.kind) for piece in parse_inline(text)] == pieces


def test_emphasis_nests() -> None:
    found = [(piece.text, piece.bold, piece.italic) for piece in parse_inline("**a *b* c** d") if piece.text]
    assert found == [("a ", True, False), ("b", True, True), (" c", True, False), (" d", False, False)]


@pytest.mark.parametrize(
    "line",
    [
        "1234567890" * 40 + "x",
        "# a" + " " * 3_900 + "x",
        "# a" + " #" * 1_900 + "x",
        "a | b\n--" + " " * 3_900 + "x",
        "a | b\n" + "|-" * 1_900 + "x",
        "- " * 1_900 + "x",
    ],
)
def test_no_line_takes_long_to_draw(line: str) -> None:
    markdown = Markdown()
    for at in range(0, len(line), 500):
        markdown.feed(line[at : at + 500])
    markdown.close()
    assert markdown.blocks


@pytest.mark.parametrize(
    ("line", "shown"),
    [("# a #", "a"), ("## a ## ", "a"), ("# a#", "a#"), ("# #", "#"), ("#", ""), ("# a # b", "a # b")],
)
def test_the_signs_that_close_a_heading_are_left_out(line: str, shown: str) -> None:
    [block] = blocks_of(line)
    assert isinstance(block, Paragraph)
    assert (block.level, block.lines) == (len(line.split()[0]), [shown])
