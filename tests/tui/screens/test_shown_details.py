"""Thoughts and finished tools can be opened all at once, rows of a long prompt have edges, a fork costs nothing yet."""

from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import screen

pytestmark = pytest.mark.slow


KEYS = {"display_thinking": "ctrl+y", "tool_details": "ctrl+o"}


async def test_thoughts_are_opened_and_folded_all_at_once(environ: dict[str, str], tmp_path: Path) -> None:
    answer = Answer(reasoning="A secret plan.", text="Done so.")
    async with screen(environ, tmp_path, answer, settings={"keybinds": KEYS}) as page:
        await page.send("think")
        text = await page.sees("Done so.")
        assert "A secret plan." not in text
        await page.press("ctrl+y")
        await page.sees("A secret plan.")
        await page.press("ctrl+y")
        await page.sees_no_more("A secret plan.")


async def test_finished_tools_are_opened_and_folded_all_at_once(environ: dict[str, str], tmp_path: Path) -> None:
    call = Call("bash", {"command": "printf 'one\\ntwo\\n'", "description": "x"})
    settings = {"keybinds": KEYS, "permission": {"bash": "allow"}}
    async with screen(environ, tmp_path, Answer(calls=(call,)), Answer(text="Printed."), settings=settings) as page:
        await page.send("print")
        text = await page.sees("Printed.")
        assert "  two" not in text
        await page.press("ctrl+o")
        await page.sees("two\n")
        await page.press("ctrl+o")
        await page.sees_no_more("two\n")


async def test_the_edges_of_a_row_are_not_those_of_its_line(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path, size=(60, 30)) as page:
        editor = page.app.chat.prompt.editor
        editor.put("word " * 30)
        editor.move_cursor((0, 75))
        await page.press("alt+a")
        start = editor.cursor_location[1]
        await page.press("alt+e")
        end = editor.cursor_location[1]
        assert 0 < start < 75 < end < 149
        await page.press("alt+shift+a")
        assert editor.selected_text == editor.text[start:end]


async def test_the_status_line_tells_the_cost_that_the_list_tells(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path, Answer(text="Hi.", usage=(400_000, 0, 0)), size=(110, 34)) as page:
        await page.send("hello")
        await page.sees("Done  $0.40")  # before its end the turn cannot be forked
        await page.press("ctrl+x", "f")
        await page.sees("Forked")
        assert "$0.40" not in page.text().splitlines()[-1]
        await page.press("ctrl+x", "l")
        text = await page.sees("0.40")
        assert [line.split()[-3] for line in text.splitlines() if "done" in line] == ["0.40"]
        assert "2 sessions · $0.40" in text
