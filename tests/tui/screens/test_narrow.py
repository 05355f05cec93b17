"""What stays on the screen at 60 and 80 columns and without colors: keys, commands, ages, what waits for the user."""

from dataclasses import replace
from pathlib import Path

import pytest

from opencode_tui.tui.dialogs.listing import Listing
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import look, screen, screen_lines, screen_text
from tests.tui.screens.test_looks import SITUATIONS, Situation, opened_app, press
from tests.tui.screens.test_page_looks import SITUATIONS as PAGES
from tests.tui.screens.test_panel_looks import SITUATIONS as PANELS

TICKETS = replace(PAGES["mcp-servers"], act=press("slash", *"mcp", "enter", "down", "down"))
"""The page of MCP servers with the row that names a command."""


async def text_of(situation: Situation, width: int, height: int = 30) -> str:
    """Return the screen of a situation at another size."""
    app, act = opened_app(situation)
    async with app.run_test(size=(width, height)) as pilot:
        await act(pilot)
        return screen_text(app)


async def test_the_reason_of_no_sandbox_gives_way_to_a_key(environ: dict[str, str], folder: Path) -> None:
    settings = {"permission": {"bash": "ask"}, "experimental": {"sandbox": {"mode": "off"}}}
    touch = Call("bash", {"command": "touch asked", "description": "ask"})
    async with screen(environ, folder, Answer(calls=(touch,)), settings=settings, size=(80, 24)) as page:
        await page.send("begin")
        text = await page.sees("read the chat")
        assert "□ no sandbox" in text.splitlines()[-1]
        await page.pilot.resize_terminal(170, 30)
        await page.sees("no sandbox: experimental.sandbox.mode is off")


@pytest.mark.usefixtures("jumping_clock")
@pytest.mark.parametrize("width", [60, 80])
async def test_a_command_below_a_list_is_whole(width: int) -> None:
    text = await text_of(TICKETS, width)
    assert "it asks for a sign-in: `opencode-tui mcp auth tickets`" in " ".join(text.split())


@pytest.mark.usefixtures("jumping_clock")
@pytest.mark.parametrize("width", [40, 60, 80])
async def test_recent_sessions_have_their_ages(width: int) -> None:
    rows = (await text_of(SITUATIONS["new-session-with-earlier-ones"], width)).splitlines()
    first = next(number for number, row in enumerate(rows) if "Recent sessions" in row) + 1
    ages = [row.split()[-2:] for row in rows[first : first + 3]]
    assert [unit for _, unit in ages] == ["s", "m", "m"], rows


@pytest.mark.usefixtures("jumping_clock")
async def test_the_sidebar_over_a_narrow_chat_leaves_the_status_line() -> None:
    last = (await text_of(SITUATIONS["sidebar-over-a-narrow-chat"], 80)).splitlines()[-1]
    assert "1 needs you" in last
    assert "sidebar" in last or "help" in last


@pytest.mark.usefixtures("jumping_clock")
async def test_costs_fit_after_a_resize() -> None:
    app, act = opened_app(PANELS["cost"])
    async with app.run_test(size=(110, 30)) as pilot:
        await act(pilot)
        wide = screen_text(app)
        await pilot.resize_terminal(60, 30)
        narrow = screen_text(app)
        await pilot.resize_terminal(110, 30)
        assert screen_text(app) == wide
    assert "cost" in next(row for row in narrow.splitlines() if "requests" in row)


@pytest.mark.usefixtures("jumping_clock")
@pytest.mark.parametrize("width", [60, 80])
async def test_a_list_leaves_no_sign_of_the_conversation_beside_its_rows(width: int) -> None:
    app, act = opened_app(replace(SITUATIONS["working-in-100-columns"], act=press("ctrl+p")))
    async with app.run_test(size=(width, 30)) as pilot:
        await act(pilot)
        assert app.screen.query_one(Listing).region.width == width


@pytest.mark.usefixtures("jumping_clock")
async def test_without_colors_the_current_match_differs_from_the_others() -> None:
    situation = replace(SITUATIONS["find-in-the-conversation"], worn=look(depth="none"))
    app, act = opened_app(situation)
    async with app.run_test(size=(80, 30)) as pilot:
        await act(pilot)
        found = [one.style for strip in screen_lines(app) for one in strip if one.text == "parse" and one.style]
        assert sorted(bool(style.reverse) for style in found) == [False, True]
        assert sorted(bool(style.underline) for style in found) == [False, True]
