"""What stays on the screen at 60 and 80 columns and without colors: keys, commands, ages, what waits for the user."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from opencode_tui.tui.dialogs.overlay import Listing
from opencode_tui.tui.dialogs.panel import Panel
from opencode_tui.tui.pages.page import PageFoot, PageScreen
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import look, resize, screen, screen_lines, screen_text
from tests.support.world.repo import make_repo
from tests.tui.screens.test_comfort_looks import SITUATIONS as COMFORTS
from tests.tui.screens.test_looks import SITUATIONS, Situation, opened_app, press
from tests.tui.screens.test_page_looks import SITUATIONS as PAGES
from tests.tui.screens.test_panel_looks import SITUATIONS as PANELS

pytestmark = pytest.mark.slow


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
        await page.resize(170, 30)
        await page.sees("no sandbox: experimental.sandbox.mode is off")


@pytest.mark.usefixtures("jumping_clock")
async def test_a_low_and_narrow_sessions_page_shows_at_least_three_sessions() -> None:
    text = await text_of(PAGES["sessions-in-60-columns"], 34, 12)
    rows = text.splitlines()
    query = next(at for at, row in enumerate(rows) if "Type to filter" in row)
    keys = next(at for at, row in enumerate(rows) if "esc back" in row)
    listed = [row for row in rows[query + 1 : keys] if re.search(r" \d+ [a-z]+$", row)]  # each ends with its age
    assert len(listed) >= 3, text
    assert "f1 help" in rows[keys], text


@pytest.mark.usefixtures("jumping_clock")
@pytest.mark.parametrize("name", PAGES)
async def test_a_page_of_any_size_keeps_rows_of_its_list_and_the_way_to_all_keys(name: str) -> None:
    app, act = opened_app(PAGES[name])
    async with app.run_test(size=(100, 24)) as pilot:
        await act(pilot)
        page = app.screen
        for size in ((100, 24), (60, 24), (34, 24), (34, 12)):
            await resize(pilot, *size)
            await pilot.pause()
            if isinstance(page, PageScreen) and not page.query(Panel):
                assert page.listing.size.height >= 3, screen_text(app)
            for foot in page.query(PageFoot):
                text = "\n".join(row.text for row in foot.rows(foot.size.width, foot.size.height))
                words = [one.words for one in foot._actions if one.words and app.keymap.first(one.id, foot.scope)]
                assert words and words[-1] in text
                assert "f1 help" in text or all(f" {one}" in text for one in words), screen_text(app)


@pytest.mark.usefixtures("jumping_clock")
async def test_the_page_of_changes_shows_all_its_keys_in_60_columns() -> None:
    text = await text_of(SITUATIONS["changes-in-one-column-light"], 60)
    assert "u side by side" in text and "o open" in text and "esc back" in text


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
        await resize(pilot, 60, 30)
        narrow = screen_text(app)
        await resize(pilot, 110, 30)
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


@pytest.mark.usefixtures("jumping_clock")
@pytest.mark.parametrize(("width", "height"), [(60, 24), (80, 24), (100, 24)])
async def test_the_keys_after_the_leader_have_whole_names(width: int, height: int) -> None:
    text = await text_of(COMFORTS["leader-keys"], width, height)
    listed = [row for row in text.splitlines() if "Choose an agent" in row or "Parent session" in row]
    assert len(listed) == 2, "the first and the last key are there"
    assert "…" not in text


@pytest.mark.usefixtures("jumping_clock")
@pytest.mark.parametrize("height", [14, 16, 20, 24, 30])
async def test_each_heading_of_a_low_start_page_has_an_entry(height: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/you")
    rows = (await text_of(SITUATIONS["first-run-in-an-untrusted-folder"], 60, height)).splitlines()
    heads = ("   Try  ", "   Add a key", "   Inactive until", "   Settings")
    shown = [at for at, row in enumerate(rows) if row.startswith(heads)]
    assert shown, rows
    for at in shown:
        assert rows[at + 1].strip() and not rows[at + 1].startswith((*heads, " ▎")), (rows[at], rows)
        if height >= 20:
            assert not rows[at - 1].strip(), "without colors only the empty row tells a heading from an entry"
    if height >= 14:
        assert any("/trust  review and trust" in row for row in rows)


@pytest.mark.usefixtures("jumping_clock")
async def test_notes_move_to_the_names_before_they_are_cut() -> None:
    text = await text_of(SITUATIONS["commands-completed"], 60)
    assert "/connect      Connect a provider (API key)" in text and "…" not in text
    assert "ended by OpenAI: invalid_grant" in await text_of(PANELS["login-accounts"], 60)
    wide = await text_of(SITUATIONS["commands-completed"], 80)
    assert "/copy                         Copy the last response" in wide


@pytest.mark.usefixtures("jumping_clock")
async def test_a_heading_of_a_list_keeps_the_margin() -> None:
    text = await text_of(COMFORTS["code-blocks-to-copy"], 60)
    (heading,) = [row for row in text.splitlines() if "The last row of every CSV" in row and "…" in row]
    assert len(heading) <= 57


@pytest.mark.usefixtures("jumping_clock")
async def test_the_hint_of_a_field_is_whole_below_the_fields() -> None:
    text = await text_of(COMFORTS["new-agent"], 60)
    assert "you choose it, and agents call it" in text


@pytest.mark.usefixtures("jumping_clock")
async def test_examples_in_a_hint_are_whole() -> None:
    text = await text_of(PAGES["search-without-a-query"], 60)
    (hint,) = [row for row in text.splitlines() if "a phrase" in row]
    assert hint.endswith("tool:bash")


@pytest.mark.usefixtures("jumping_clock")
async def test_the_last_column_of_what_runs_is_whole_below_the_list() -> None:
    runs = replace(PAGES["what-runs-in-80-columns"], act=press("ctrl+x", "z", "down"))
    text = await text_of(runs, 60)
    assert "process 41 ended in the middle of it" in text


@pytest.mark.usefixtures("jumping_clock")
async def test_no_heading_ends_the_visible_part_of_a_list() -> None:
    rows = (await text_of(PANELS["login-providers"], 60, 24)).splitlines()
    last = next(at for at, row in enumerate(rows) if "enter connect" in row)
    assert [row for row in rows[:last] if row.strip()][-1].split()[0] == "Groq"


@pytest.mark.usefixtures("jumping_clock")
async def test_the_subagents_of_a_deleted_session_are_named_whole() -> None:
    assert "and 1 subagent " in await text_of(PANELS["trash-light"], 60)


async def test_a_sentence_of_a_page_goes_on_in_the_next_row(environ: dict[str, str], tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "project")
    repo.commit("begin", **{"a.txt": "1", "b.txt": "1"})
    repo.write("a.txt", "2")
    repo.write("b.txt", "2")
    async with screen(environ, repo.path, size=(60, 20)) as page:
        for command, words in (
            ("/plugins", "No plugins yet. Install one: opencode-tui plugin install FOLDER|GIT"),
            ("/import", "From another folder: opencode-tui import opencode FOLDER"),
            ("/import", "No sessions of OpenCode, Claude Code or Codex were found in their usual folders."),
            ("/changes", "Nothing is marked: space marks the selected row, a marks everything"),
        ):
            await page.send(command)
            await page.sees(words[:20])
            assert words in " ".join(page.text().split())
            if command != "/changes":
                await page.press("escape")
                await page.sees("Ask anything")
        rows = page.text().splitlines()
        at = next(at for at, row in enumerate(rows) if "b.txt" in row)
        await page.pilot.click(offset=(20, at))
        await page.press("space")
        assert "☑ ▸ M b.txt" in await page.sees("1 of 2 pieces marked")


async def test_the_names_of_rules_are_whole_where_the_patterns_leave_room(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, size=(60, 20)) as page:
        await page.send("/permissions")
        await page.sees("ask   external_directory")


async def test_the_title_of_a_change_has_the_end_of_the_path_and_which_file_it_is(
    environ: dict[str, str], folder: Path
) -> None:
    name = "source/of/the/program/a_file_with_a_long_name.py"
    write = Call("write", {"filePath": name, "content": "x = 1\n"})
    async with screen(environ, folder, Answer(calls=(write,)), Answer(text="Written."), size=(60, 20)) as page:
        await page.send("write it")
        await page.sees("Written.")
        await page.press("ctrl+x", "d")
        text = await page.sees("file 1 of 1")
        assert "a_file_with_a_long_name.py  file 1 of 1" in text
