"""The settings page: typed search, a change with the widget of its type, where it is saved, and how it is taken back."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.provider.model_script import Answer
from tests.support.terminal.screen import Page, screen

pytestmark = pytest.mark.slow


OPEN = ("ctrl+x", "comma")


def own_file(environ: dict[str, str]) -> Path:
    return Path(environ["HOME"]) / ".config" / "opencode-tui" / "opencode.json"


def project(environ: dict[str, str], tmp_path: Path, settings: dict[str, Any] | None = None) -> Path:
    """Write the user's settings, and return an empty folder."""
    own_file(environ).parent.mkdir(parents=True, exist_ok=True)
    own_file(environ).write_text(json.dumps(settings or {}))
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def own(environ: dict[str, str]) -> dict[str, Any]:
    return json.loads(own_file(environ).read_text())


async def find(page: Page, words: str, key: str) -> None:
    """Filter by words, and wait until the row of a key is the first."""
    await page.press("ctrl+u")
    await page.type(words)
    await page.sees(key)
    assert page.app.screen.listing.chosen == key  # pyright: ignore[reportAttributeAccessIssue] - the page has one


async def test_a_switch_is_found_by_typing_changed_at_once_and_taken_back(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with screen(environ, project(environ, tmp_path, {"tui": {"vim": False}}), size=(150, 34)) as page:
        before = own(environ)
        await page.press(*OPEN)
        await page.sees("Type to find a setting")
        await find(page, "keys of vim", "tui.vim")
        await page.press("enter")
        await page.sees("Saved in ~/.config/opencode-tui/opencode.json")
        assert own(environ)["tui"] == {"vim": True}
        assert page.app.chat.prompt.vim_mode
        await page.press("ctrl+z")
        await page.sees("Changed back in")
        assert own(environ) == before and not page.app.chat.prompt.vim_mode
        await page.press("ctrl+r")
        await page.sees("Removed from")
        assert "tui" not in own(environ)
        await page.press("escape")
        await page.sees("Ask anything")


async def test_a_row_shows_its_default_and_enter_switches_away_from_it(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, project(environ, tmp_path), size=(150, 34)) as page:
        await page.press(*OPEN)
        await page.sees("Type to find a setting")
        await find(page, "tui.tips", "tui.tips")
        (row,) = [
            line for line in (await page.sees("empty chat")).splitlines() if "tui.tips " in line and "on " in line
        ]
        assert row.split()[:3] == ["tui.tips", "on", "default"]
        await page.press("enter")
        await page.sees("Saved in")
        assert own(environ)["tui"] == {"tips": False}


async def test_a_number_is_typed_and_checked_as_in_the_file(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, project(environ, tmp_path), size=(150, 34)) as page:
        await page.press(*OPEN)
        await find(page, "scroll_speed", "tui.scroll_speed")
        await page.press("enter")
        await page.type("fast")
        await page.press("enter")
        await page.sees("expected a number")
        await page.press("ctrl+u")
        await page.type("1000")
        await page.press("enter")
        await page.sees("tui.scroll_speed: expected")
        await page.press("backspace", "backspace", "backspace", "enter")
        await page.sees("Saved in ~/.config/opencode-tui/opencode.json")
        assert own(environ)["tui"] == {"scroll_speed": 1}
        assert page.app.chat.opened.settings.scroll_lines == 1


async def test_a_choice_is_a_list_and_a_theme_is_seen_at_once(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, project(environ, tmp_path), size=(150, 34)) as page:
        before = page.app.look.palette.name
        await page.press(*OPEN)
        await find(page, "theme", "theme")
        await page.press("enter")
        await page.sees("built-in" if "built-in" in page.text() else "nord")
        await page.type("nord")
        await page.press("enter")
        await page.sees("Saved in")
        assert own(environ)["theme"] == "nord" == page.app.look.palette.name
        await page.press("ctrl+r")
        await page.sees("Removed from")
        assert page.app.look.palette.name == before


async def test_a_list_is_typed_with_commas_and_escape_leaves_it_as_it_was(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with screen(environ, project(environ, tmp_path, {"instructions": ["a.md", "b.md"]}), size=(150, 34)) as page:
        await page.press(*OPEN)
        await find(page, "instructions", "instructions")
        await page.press("enter")
        await page.sees("a.md, b.md")
        await page.type(", c.md")
        await page.press("escape")
        assert own(environ)["instructions"] == ["a.md", "b.md"]
        await page.press("enter")
        await page.type(", c d.md")
        await page.press("enter")
        await page.sees("Saved in")
        assert own(environ)["instructions"] == ["a.md", "b.md", "c d.md"]


async def test_the_engine_uses_a_change_when_the_page_is_closed(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, project(environ, tmp_path), Answer(text="seen"), size=(150, 34)) as page:
        await page.press(*OPEN)
        await find(page, "default_agent", "default_agent")
        await page.press("enter")
        await page.type("plan")
        await page.press("enter")
        await page.sees("Saved in")
        await page.press("escape")
        await page.sees("Plan mode")
        assert (await page.world.client.settings.effective())["default_agent"] == "plan"
        await page.send("hello")
        await page.sees("seen")


async def test_what_needs_a_start_and_what_another_source_overrides_say_so(
    environ: dict[str, str], tmp_path: Path
) -> None:
    folder, text = project(environ, tmp_path), '{"tui": {"vim": true}}'
    (folder / "opencode.json").write_text(text)
    async with screen(environ, folder, size=(80, 24)) as page:
        await page.send("/settings server.port")
        await page.sees("The port; 0 means any free port.")
        await page.press("enter")
        await page.type("0")
        await page.press("enter")
        await page.sees("used from the next start")
        await page.press("ctrl+u")
        await find(page, "tui.vim", "tui.vim")
        await page.press("enter")
        await page.sees("but opencode.json overrides")
        assert (folder / "opencode.json").read_text() == text
        await page.press("ctrl+z", "ctrl+r")
        await page.sees("Not changed: the value is from opencode.json")


async def test_ctrl_e_opens_the_file_and_shows_what_was_written_there(
    environ: dict[str, str], tmp_path: Path, monkeypatch: Any
) -> None:
    editor = Path(environ["HOME"]) / "code"  # an editor with a window: the test has no terminal to give away
    editor.write_text('#!/bin/sh\nfor one; do :; done\nprintf \'{"theme": "light"}\' > "$one"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    async with screen(environ, project(environ, tmp_path, {"theme": "dark"}), size=(150, 34)) as page:
        await page.press(*OPEN)
        await find(page, "theme", "theme")
        await page.press("ctrl+e")
        await page.sees("light")


async def test_no_typed_character_does_anything_but_filter(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, project(environ, tmp_path), size=(110, 34)) as page:
        before = own_file(environ).read_bytes()
        await page.press(*OPEN)
        await page.type("q e?/ j5:")
        await page.sees("q e?/ j5:")
        await page.sees("No matches")
        await page.press("enter", "ctrl+r", "escape")
        await page.sees("Ask anything")
        assert own_file(environ).read_bytes() == before


async def test_the_key_of_an_action_is_pressed_and_one_that_is_in_use_is_named(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with screen(environ, project(environ, tmp_path), size=(150, 34)) as page:
        await page.press(*OPEN)
        await find(page, "keybinds", "keybinds")
        await page.press("enter")
        await page.sees("Which action gets another key?")
        await page.type("new session")
        await page.press("enter")
        await page.sees("Press the new key")
        await page.press("x")
        await page.sees("it would be text")
        await page.press("ctrl+x", "l")
        await page.sees("ctrl+x l is already: Session manager")
        assert "keybinds" not in own(environ)
        await page.press("f6")
        await page.sees("New session: f6, saved in")
        assert own(environ)["keybinds"] == {"session_new": "f6"}
        assert page.app.chat.opened.keymap.first("session_new") == "f6"
        await page.press("ctrl+z")
        await page.sees("Changed back in")
        assert "session_new" not in own(environ).get("keybinds", {})
        await page.press("enter")
        await page.type("new session")
        await page.press("enter")
        await page.sees("Press the new key")
        await page.press("escape")
        await page.sees_no_more("Press the new key")


async def test_a_value_that_is_the_default_is_named_once_in_its_row(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, project(environ, tmp_path), size=(150, 34)) as page:
        await page.press(*OPEN)
        rows = [row for row in (await page.sees("Type to find a setting")).splitlines() if "default" in row]
        assert rows
        listed = [row[: page.app.screen.listing.size.width] for row in rows]  # pyright: ignore[reportAttributeAccessIssue]
        assert [row for row in listed if row.count("  default") > 1] == []


async def test_a_long_source_is_shown_whole_where_there_is_room(environ: dict[str, str], tmp_path: Path) -> None:
    folder = project(environ, tmp_path)
    (folder / ".opencode").mkdir()
    (folder / ".opencode" / "opencode.jsonc").write_text(json.dumps({"username": "s" * 90}))
    for width, source in ((200, " .opencode/opencode.jsonc "), (100, " .opencode/ope…")):
        async with screen(environ, folder, size=(width, 34)) as page:
            await page.press(*OPEN)
            await page.sees("Type to find a setting")
            await find(page, "username", "username")
            row = next(row for row in page.text().splitlines() if row.strip().startswith("username  "))
            assert source in row and "s" * 20 in row and "s" * 90 not in row, row
