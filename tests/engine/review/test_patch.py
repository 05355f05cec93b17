"""Patches are read into pieces, and a piece is applied at its lines or not at all."""

import pytest

from opencode_tui.engine.review.message import clean_message
from opencode_tui.engine.review.patch import Mismatch, apply_hunks, hunks_of
from opencode_tui.schema.api.review import Hunk

SAME = "x\n" * 30
PATCH = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n x\n+new\n x\n@@ -20,2 +21,2 @@ def f():\n x\n-x\n+y\n"


def test_a_piece_alone_is_applied_at_its_line_even_where_all_lines_are_alike() -> None:
    first, second = hunks_of(PATCH, "a")
    assert (first.before, second.before, second.after, second.header) == (1, 20, 21, "def f():")
    assert apply_hunks(SAME, [second]).split("\n").index("y") == 20
    assert apply_hunks(SAME, [first, second]).split("\n").index("y") == 21
    with_new = apply_hunks(SAME, [first])
    later = Hunk(id="later", before=21, after=21, lines=[" x", "-x", "+z"])
    assert apply_hunks(with_new, [later]).split("\n").index("z") == 21
    assert apply_hunks(SAME, [later], left_out=[first]).split("\n").index("z") == 20


def test_a_piece_whose_lines_are_others_is_refused() -> None:
    second = hunks_of(PATCH, "a")[1]
    with pytest.raises(Mismatch):
        apply_hunks(SAME.replace("x", "y"), [second])
    with pytest.raises(Mismatch):
        apply_hunks("x\n", [second])


def test_the_end_of_a_file_without_a_line_end_is_kept() -> None:
    patch = "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
    assert apply_hunks("a\nb", hunks_of(patch, "a")) == "a\nc"
    assert apply_hunks("", hunks_of("@@ -0,0 +1 @@\n+a\n", "a")) == "a\n"
    assert apply_hunks("a\n", hunks_of("@@ -1 +0,0 @@\n-a\n", "a")) == ""


def test_a_message_has_no_reasoning_and_no_fence() -> None:
    assert clean_message("<think>hm</think>\n```text\nFix it\n\nBecause.\n```\nDone.") == "Fix it\n\nBecause."
    assert clean_message("  Fix it  ") == "Fix it"
