"""Themes of the person's own, as files."""

import json
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.tui.theme.themes import Themes

OWN: dict[str, Any] = {
    "defs": {"night": "#101014", "day": "#fafafa", "ink": "#e8e8e8"},
    "theme": {
        "background": {"dark": "night", "light": "day"},
        "text": {"dark": "ink", "light": "#202020"},
        "textMuted": "#909090",
        "primary": "#ff8800",
        "success": "#33aa55",
        "error": "#dd3344",
    },
}


def write(folder: Path, name: str, content: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content))


def test_a_file_becomes_a_theme_with_a_dark_and_a_light_side(tmp_path: Path) -> None:
    write(tmp_path / "config" / "themes", "mine", OWN)
    themes = Themes(tmp_path / "config", tmp_path / "work")
    assert "mine" in themes.names()
    assert themes.palette("mine", dark=True, depth="truecolor").background == "#101014"
    assert themes.palette("mine", dark=False, depth="truecolor").background == "#fafafa"


def test_a_file_of_the_worktree_wins_over_one_of_the_person(tmp_path: Path) -> None:
    write(tmp_path / "config" / "themes", "mine", OWN)
    other = {**OWN, "theme": {**OWN["theme"], "background": "#000000"}}
    write(tmp_path / "work" / ".opencode" / "themes", "mine", other)
    themes = Themes(tmp_path / "config", tmp_path / "work")
    assert themes.palette("mine", dark=True, depth="truecolor").background == "#000000"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "mine.json"),
        ({"theme": {"background": "#000000"}}, "`theme.text` is missing"),
        ({"theme": {**OWN["theme"], "primary": "nowhere"}, "defs": {}}, "'night' is neither a colour"),
        ({"theme": {**OWN["theme"], "background": "a"}, "defs": {"a": "b", "b": "a"}}, "circle"),
        ({"theme": []}, "`theme` is no object"),
        ({"theme": {**OWN["theme"], "background": "#12"}, "defs": OWN["defs"]}, "'#12' is no colour"),
    ],
)
def test_a_wrong_file_says_what_is_wrong_with_it(tmp_path: Path, content: object, words: str) -> None:
    write(tmp_path / "themes", "mine", content)
    themes = Themes(tmp_path, tmp_path)
    with pytest.raises(ValueError, match=r"mine\.json") as caught:
        themes.palette("mine", dark=True, depth="truecolor")
    assert words in str(caught.value)


def test_an_unknown_name_is_answered_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="gruvbox"):
        Themes(tmp_path, tmp_path).palette("gruvbocks", dark=True, depth="truecolor")
