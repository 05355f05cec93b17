"""Inexact matches are what their definitions say, and no texts take long to compare."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.tool.edit.match import find_replacements
from tests.support.rows import each

WORDS = st.lists(st.sampled_from(["a", "b", "ab", "-", "a-b", "-a"]), min_size=1, max_size=4)


@given(content=st.text("ab\n", max_size=20), old=st.text("ab\n", min_size=1, max_size=4))
def test_every_exact_occurrence_is_found(content: str, old: str) -> None:
    expected = [at for at in range(len(content)) if content.startswith(old, at)]
    matches = find_replacements(content, old, "x")
    found = [] if matches.adaptation else matches.replacements
    assert [(item.start, item.end) for item in found] == [(at, at + len(old)) for at in expected]


@pytest.mark.slow
@given(content=WORDS.map(" ".join), extra=WORDS.map(" ".join), old=WORDS)
def test_words_match_whatever_white_space_is_between_them(content: str, extra: str, old: list[str]) -> None:
    line = f"({content} {extra})"
    pattern = r"[ \t]+".join(re.escape(word) for word in old)
    left, right = r"(?<!\w)" if old[0][0] != "-" else "", r"(?!\w)" if old[-1][-1] != "-" else ""
    expected = [match.span() for match in re.finditer(left + pattern + right, line)]
    found = find_replacements(line, "  ".join([*old, ""]) if len(old) == 1 else "  ".join(old), "x").replacements
    assert [(item.start, item.end) for item in found] == expected


@given(
    lines=st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=12),
    start=st.integers(0, 11),
    length=st.integers(1, 12),
)
def test_every_run_of_lines_is_found(lines: list[str], start: int, length: int) -> None:
    wanted = lines[start % len(lines) :][:length]
    expected = [at for at in range(len(lines)) if lines[at : at + len(wanted)] == wanted]
    found = find_replacements("\n".join(lines), "\n".join(f"{line} " for line in wanted), "x").replacements
    starts = [sum(len(line) + 1 for line in lines[:at]) for at in expected]
    assert [item.start for item in found] == starts


N = 300_000
HARD = {
    "words and a slip": ("a " * N, "a  " + "a " * 10_000 + "b"),
    "many words": ("a\tb " * (N // 4), "a b " * 5_000 + "a a"),
    "words of a pattern": ("a b a a b a b a " * 15_000, "a  b a a b a b a " * 400 + "c"),
    "two words": ("a a" * (N // 3), "a  a"),
    "words with other letters": ("ä " * N, "ä  " + "ä " * 5_000 + "b"),
    "long words": (("a" * 1_000 + " ") * 300, "a " + ("a" * 1_000 + " ") * 100 + "b"),
    "one long word": ("a" * N, "a" * 10_000 + " "),
    "dashes": ("-" * N, f" {'-' * 10_000} "),
    "dashes and words": ("-a" * (N // 2), " -a-a-a" * 1_000),
    "overlapping occurrences": ("a" * N, "a" * 10_000),
    "a pattern of letters": ("abaababaabaab" * 20_000, "abaababaabaab" * 400 + "c"),
    "spaces": (" " * N + "b", " " * 10_000 + "c"),
    "one long line": ("x" * 1_000_000, "x " * 10),
    "equal lines": ("a\n" * N, "a\n" * 5_000),
    "equal lines and a slip": ("a\n" * N, "a\n" * 5_000 + "b\na"),
    "lines of a pattern": ("a\nb\na\na\nb\na\nb\na\n" * 10_000, "a\nb\na\na\nb\na\nb\na\n" * 400 + "c\na"),
    "indented lines": ("  a\n" * 100_000, " a\n" * 5_000),
    "lines of two indentations": ("  a\n a\n" * 50_000, " a\n" * 5_000),
    "a deep indentation": ("a\n" + "\t" * 50_000 + "b\n", "a\n" + " " * 50_000 + "b\n"),
    "empty lines": ("\n" * N, "\n" * 10_000 + "a"),
    "white lines": (" \n" * 200_000 + "a", "\n" * 10_000 + "a"),
    "words in lines": (("ab " * 10 + "\n") * 30_000, "ab  ab\nab"),
    "frames": ("a\n" * 100_000, "a\n" + "b\n" * 2_000 + "a\n" * 3_000),
    "frames that are half equal": ("a\n" * 100_000, "a\n" + "b\n" * 2_400 + "a\n" * 2_600),
    "long lines in frames": (
        ("a\n" + ("xy " * 300 + "\n") * 20 + "b\n") * 30,
        "a\n" + ("xy " * 299 + "z\n") * 10 + ("xy " * 300 + "\n") * 10 + "b\n",
    ),
    "a huge line in a frame": (f"a\n{'x' * 400_000}\nc\nb", f"a\ny{'x' * 399_999}\nc\nb"),
    "escaped lines": ("a\n" * 100_000, "a\\n" * 5_000 + "b"),
    "escaped equal lines": ("a\n" * 100_000, "a\\n" * 5_000),
    "backslashes": ("\\" * N, "\\" * 10_000 + "n"),
    "quotes": ("'" * N, "\\'" * 5_000),
}


@pytest.mark.slow
@each("name", HARD)
def test_no_texts_take_long(name: str) -> None:
    content, old = HARD[name]
    found = find_replacements(content, old, "new").replacements
    assert sum(item.end - item.start for item in found) <= 4 * len(content) + 20_000


def test_separate_occurrences_are_all_found_where_others_overlap() -> None:
    found = find_replacements("-" * 30_000, "-" * 1_000, "new").replacements
    assert {item.start for item in found} >= set(range(0, 30_000, 1_000))
