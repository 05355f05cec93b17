"""Themes of the person's own, as files."""

import json
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.schema.api.project import Places
from opencode_tui.schema.api.theme import ELSEWHERE, SHIPPED, theme_fault
from opencode_tui.tui.theme.themes import TERMINAL, Themes, theme_folders
from tests.support.rows import each

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


def places(root: Path) -> Places:
    """A repository below a folder, where one works in `src`."""
    names = {name: str(root / name) for name in ("home", "state", "config")}
    return Places(**names, worktree=str(root / "work"), directory=str(root / "work" / "src"))


def test_a_file_becomes_a_theme_with_a_dark_and_a_light_side(tmp_path: Path) -> None:
    write(tmp_path / "config" / "themes", "mine", OWN)
    themes = Themes(theme_folders(places(tmp_path)))
    assert "mine" in themes.names()
    assert themes.palette("mine", dark=True, depth="truecolor").background == "#101014"
    assert themes.palette("mine", dark=False, depth="truecolor").background == "#fafafa"


def test_a_file_of_the_worktree_wins_over_one_of_the_person(tmp_path: Path) -> None:
    write(tmp_path / "config" / "themes", "mine", OWN)
    other = {**OWN, "theme": {**OWN["theme"], "background": "#000000"}}
    write(tmp_path / "work" / ".opencode" / "themes", "mine", other)
    themes = Themes(theme_folders(places(tmp_path)))
    assert themes.palette("mine", dark=True, depth="truecolor").background == "#000000"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "mine.json"),
        ({"theme": {"background": "#000000"}}, "`theme.text` is missing"),
        ({"theme": {**OWN["theme"], "primary": "nowhere"}, "defs": {}}, "'night' is neither a color"),
        ({"theme": {**OWN["theme"], "background": "a"}, "defs": {"a": "b", "b": "a"}}, "circular reference"),
        ({"theme": []}, "`theme` is not an object"),
        ({"theme": {**OWN["theme"], "background": "#12"}, "defs": OWN["defs"]}, "'#12' is not a color"),
    ],
)
def test_a_wrong_file_says_what_is_wrong_with_it(tmp_path: Path, content: object, words: str) -> None:
    write(tmp_path / "themes", "mine", content)
    themes = Themes([tmp_path / "themes"])
    with pytest.raises(ValueError, match=r"mine\.json") as caught:
        themes.palette("mine", dark=True, depth="truecolor")
    assert words in str(caught.value)


def test_an_unknown_name_is_answered_with_the_nearest_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="did you mean 'gruvbox'"):
        Themes([tmp_path / "themes"]).palette("gruvbocks", dark=True, depth="truecolor")


@pytest.mark.parametrize("folder", ["config", "home/.opencode", "work/.opencode", "work/src/.opencode", "elsewhere"])
def test_a_theme_is_found_in_every_folder_of_settings(tmp_path: Path, folder: str) -> None:
    write(tmp_path / folder / "themes", "mine", OWN)
    write(tmp_path / ".opencode" / "themes", "above-the-repository", OWN)
    own = Themes(theme_folders(places(tmp_path), str(tmp_path / "elsewhere"))).names()
    assert "mine" in own and "above-the-repository" not in own


def test_what_is_said_to_come_with_the_program_can_be_worn_and_nothing_else() -> None:
    themes = Themes([])
    for name in SHIPPED:
        assert bool(themes.palette(name, dark=True, depth="truecolor").background) == (name != TERMINAL)
    assert {*themes.names()} <= SHIPPED


@each("name", [*sorted(ELSEWHERE), "gruvbocks"])
def test_the_screen_says_the_words_of_the_settings_check(name: str) -> None:
    for depth in ("truecolor", "16"):
        with pytest.raises(ValueError, match="theme") as caught:
            Themes([]).palette(name, dark=True, depth=depth)
        assert str(caught.value) == theme_fault(name)
