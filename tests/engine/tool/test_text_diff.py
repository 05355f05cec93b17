import difflib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencode_tui.engine.tool.edit.diff import compare

TEXTS = st.text("ab\n", max_size=40)


def test_equal_texts_have_no_diff() -> None:
    assert compare("a", "x\n", "x\n").text == ""
    assert compare("a", "x\r\n", "x\n").additions == 0


def test_hunks_are_those_of_a_unified_diff() -> None:
    before = "".join(f"{number}\n" for number in range(30))
    after = before.replace("4\n", "four\n", 1).replace("25\n", "")
    expected = difflib.unified_diff(before.splitlines(True), after.splitlines(True), "a", "a", n=3)
    diff = compare("a", before, after)
    assert diff.text.split("\n", 2)[2] == "".join(expected).replace("--- a\t\n", "--- a\n")
    assert (diff.additions, diff.deletions) == (1, 2)


@pytest.mark.slow
@settings(max_examples=40)
@given(TEXTS, TEXTS)
def test_patch_makes_the_one_text_of_the_other(tmp_path_factory, before: str, after: str) -> None:
    folder: Path = tmp_path_factory.mktemp("diff")
    (folder / "a").write_text(before)
    diff = compare("a", before, after)
    if diff.text:
        patch = diff.text.split("\n", 2)[2]
        subprocess.run(
            ["git", "apply", "--whitespace=nowarn", "-p0", "--unidiff-zero", "-"],
            cwd=folder,
            input=patch.encode(),
            check=True,
        )
    assert (folder / "a").read_text() == after


@pytest.mark.slow
def test_unlike_large_texts_are_one_block_at_once() -> None:
    before = "".join(f"a{number}\n" for number in range(200_000))
    after = "".join(f"b{number}\n" for number in range(200_000))
    assert (compare("a", before, after).additions, compare("a", before, after).deletions) == (200_000, 200_000)
