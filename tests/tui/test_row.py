"""Rows of cells: what is cut where."""

import pytest

from opencode_tui.tui.row import clip_middle, measure

READ_ONLY = "cannot write /home/person/.local/share/opencode-tui/storage/session: read-only; set XDG_DATA_HOME to a folder of yours"


@pytest.mark.parametrize("room", [60, 80, 100])
def test_the_middle_goes_before_the_remedy(room: int) -> None:
    cut = clip_middle(READ_ONLY, room)
    assert cut.startswith("cannot write") and "…" in cut and cut.endswith(" set XDG_DATA_HOME to a folder of yours")
    assert measure([(cut, None)]) <= room  # pyright: ignore[reportArgumentType] - only the text is measured


def test_of_a_long_path_the_front_goes_and_no_word() -> None:
    text = f"/tmp{'/long' * 20}/taken.md is there already; give another name"
    assert clip_middle(text, 60) == "…long/long/long/taken.md is there already; give another name"


def test_a_text_of_one_clause_keeps_both_of_its_ends() -> None:
    assert clip_middle("one " * 20 + "and the end", 30) == "one one one o… one and the end"
    assert clip_middle("short", 30) == "short"
    assert measure([(clip_middle("漢字" * 40, 31), None)]) <= 31  # pyright: ignore[reportArgumentType] - as above
