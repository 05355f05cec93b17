"""The page of sessions: keys of the settings, what sessions cost, what a row says."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from opencode_tui.schema.api.search import SearchGroup, SearchResult
from opencode_tui.schema.session.session import BusyStatus
from opencode_tui.tui.actions.lists import help_choices
from opencode_tui.tui.app import OpenCodeApp
from opencode_tui.tui.keys.keymap import Keymap
from opencode_tui.tui.sessions.page import SessionsScreen
from opencode_tui.tui.sessions.session_list import SessionList
from tests.support.terminal.conversation import SESSION, Story
from tests.support.terminal.screen import screen_text
from tests.support.terminal.scripted_client import NOON, Script, session
from tests.tui.screens.test_looks import Situation, opened_app
from tests.tui.screens.test_page_looks import many_sessions

pytestmark = pytest.mark.usefixtures("jumping_clock")


class Opened:
    """The page of sessions over a scripted door; `acts` are those that it asked for."""

    def __init__(self, app: OpenCodeApp, pilot: Pilot[Any], page: SessionsScreen, acts: list[tuple[str, str]]) -> None:
        self.app, self.pilot, self.page, self.acts = app, pilot, page, acts

    async def text(self) -> str:
        """Everything on the screen."""
        await self.pilot.pause()
        return screen_text(self.app)


@asynccontextmanager
async def listed(script: Script, keybinds: Mapping[str, str] | None = None) -> AsyncGenerator[Opened]:
    script.settings = {"keybinds": dict(keybinds or {})}
    app, act = opened_app(Situation(lambda: script))
    async with app.run_test(size=(140, 35)) as pilot:
        await act(pilot)
        acts: list[tuple[str, str]] = []
        chat = app.chat.opened
        sessions = SessionList(chat.sessions, chosen=chat.control.session_id or "")
        page = SessionsScreen(chat.control, sessions, lambda what: acts.append((what, sessions.chosen)))
        await app.push_screen(page)
        opened = Opened(app, pilot, page, acts)
        while "esc back" not in await opened.text():
            await pilot.pause(0.01)
        yield opened


def foot(text: str) -> str:
    return "   ".join(line.strip() for line in text.split("\n")[-3:-1])


DEFAULTS = (
    "enter open   space mark   ctrl+d delete   ctrl+a archive   ctrl+r rename   ctrl+e export   "
    "ctrl+f fork   ctrl+p pin   tab all projects   ctrl+t archived   esc back"
)


@pytest.mark.slow
async def test_the_usual_keys_stand_below_the_list() -> None:
    async with listed(many_sessions()) as opened:
        assert foot(await opened.text()) == DEFAULTS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keybinds", "shown", "keys", "act"),
    [
        ({}, "ctrl+d delete", ("ctrl+d",), "delete"),
        ({"session_rename": "f4,ctrl+y"}, "f4 rename", ("ctrl+y",), "rename"),
        ({"session_delete": "<leader>d"}, "ctrl+x d delete", ("ctrl+x", "d"), "delete"),
        ({"leader": "ctrl+g", "session_delete": "<leader>D"}, "ctrl+g d delete", ("ctrl+g", "d"), "delete"),
        ({"session_export": "ctrl+u"}, "ctrl+u export", ("ctrl+u",), "export"),
    ],
)
async def test_the_keys_of_the_settings_act_and_are_named(
    keybinds: dict[str, str], shown: str, keys: tuple[str, ...], act: str
) -> None:
    async with listed(many_sessions(), keybinds) as opened:
        assert shown in foot(await opened.text())
        await opened.pilot.press(*keys)
        assert opened.acts == [(act, SESSION)]


@pytest.mark.slow
async def test_a_key_that_the_settings_moved_or_took_away_acts_no_more() -> None:
    async with listed(many_sessions(), {"session_delete": "none", "session_rename": "f4"}) as opened:
        text = foot(await opened.text())
        assert "delete" not in text and "ctrl+r" not in text
        await opened.pilot.press("ctrl+d", "ctrl+r")
        assert opened.acts == [] and opened.app.screen is opened.page


@pytest.mark.slow
async def test_letters_filter_whatever_the_settings_say() -> None:
    async with listed(many_sessions(), {"session_delete": "d", "session_fork": "escape"}) as opened:
        await opened.pilot.press("q", "j", "backspace", "backspace", "d", "a", "r", "k")
        text = await opened.text()
        assert "Dark mode" in text and "Release 0.9" not in text and opened.acts == []
        await opened.pilot.press("escape")
        assert opened.acts == [] and opened.app.screen is not opened.page


@pytest.mark.slow
async def test_an_arrow_goes_one_row_down() -> None:
    async with listed(many_sessions()) as opened:
        await opened.pilot.press("down", "enter")
        assert opened.acts == [("open", "ses_note")]


@pytest.mark.slow
async def test_a_sequence_that_means_nothing_is_used_up_and_said() -> None:
    async with listed(many_sessions()) as opened:
        await opened.pilot.press("ctrl+x")
        assert "ctrl+x  …" in await opened.text()
        await opened.pilot.press("z")
        text = await opened.text()
        assert "ctrl+x  …" not in text and "Release 0.9" in text and opened.acts == []


@pytest.mark.slow
async def test_a_click_on_a_key_of_the_settings_is_that_key() -> None:
    async with listed(many_sessions(), {"session_fork": "<leader>o"}) as opened:
        lines = (await opened.text()).split("\n")
        at = next(at for at, line in enumerate(lines) if "ctrl+x o fork" in line)
        await opened.pilot.click(offset=(lines[at].index("ctrl+x o fork") + 2, at))
        assert opened.acts == [("fork", SESSION)]


def test_help_names_the_keys_of_the_page() -> None:
    keymap = Keymap({"session_rename": "f4", "session_delete": "none"})
    found = [(one.id, one.key) for one in help_choices(keymap) if one.id.startswith("page ")]
    keys = {"archive": "ctrl+a", "rename": "f4", "export": "ctrl+e", "fork": "ctrl+f", "pin": "ctrl+p"}
    assert found == [(f"page session_{name}", keys[name]) for name in ("rename", "fork", "export", "archive", "pin")]


@pytest.mark.slow
async def test_a_cost_is_that_of_the_session_with_its_agents_and_the_sum_counts_each_once() -> None:
    async with listed(many_sessions()) as opened:
        lines = (await opened.text()).splitlines()
        costs = {line[3:60].strip("│├└╴ ").split("  ")[0]: line[60:95].split() for line in lines}
        assert "0.42" in costs["Fix the off-by-one in the parser"]  # 0.39 + 0.02 + 0.01
        assert "14 sessions · $3.13" in lines[1]


@pytest.mark.slow
async def test_what_was_free_costs_nothing_and_a_trifle_is_told_as_one() -> None:
    script = many_sessions()
    script.costs = {"ses_slow": 0.004}
    async with listed(script) as opened:
        width = opened.page.listing.size.width
        lines = [line[:width] for line in (await opened.text()).splitlines()]
        [slow] = [line for line in lines if "Why is import" in line]
        assert slow.split()[-3:] == ["<0.01", "4", "d"]
        assert " 0.00 " not in "\n".join(lines) and "· $0.0040 " in lines[1]


@pytest.mark.slow
async def test_new_costs_are_seen_while_one_looks() -> None:
    script = many_sessions()
    async with listed(script) as opened:
        script.costs["ses_release"] = 1.5
        await opened.page._read_costs()
        assert "1.50" in await opened.text()


def hundreds() -> Script:
    """More sessions than a screen has lines, the first ones used last."""
    script = many_sessions()
    script.statuses, script.permissions = {}, []
    others = [session(f"Session {at:03d}", id=f"ses_{at:03d}", updated=NOON - at) for at in range(500)]
    script.sessions = [script.sessions[0], *others]
    script.costs = {one.id: 0.01 * (at + 1) for at, one in enumerate(others)}
    return script


async def test_costs_are_asked_for_near_the_visible_lines_only() -> None:
    script = hundreds()
    async with listed(script) as opened:
        assert "1.00" not in await opened.text() and "501 sessions · $1252.50" in await opened.text()
        first = {one for asked in script.asked_costs for one in asked}
        assert "ses_000" in first and "ses_300" not in first and len(first) < 150
        await opened.pilot.press("end")
        assert "5.00" in await opened.text()
        assert script.asked_costs[-1][-1] == "ses_499" and len(script.asked_costs[-1]) < 150
        asked = len(script.asked_costs)
        await opened.pilot.press("up", "up")
        assert len(script.asked_costs) == asked  # what is near is known


async def test_costs_are_asked_for_again_only_while_a_session_runs_or_after_a_change() -> None:
    script = hundreds()
    async with listed(script) as opened:
        await opened.text()
        asked = len(script.asked_costs)
        opened.page._update_costs()
        await opened.text()
        assert len(script.asked_costs) == asked
        script.costs["ses_000"] = 9.87
        opened.app.chat.opened.control.folder.statuses["ses_000"] = BusyStatus()
        opened.page._update_costs()
        assert "9.87" in await opened.text() and len(script.asked_costs) == asked + 1


async def test_the_sum_of_all_costs_comes_when_it_is_known() -> None:
    script, known = hundreds(), asyncio.Event()
    sums: list[bool] = []

    async def total(is_archived: bool) -> float:
        sums.append(is_archived)
        await known.wait()
        return 0.5 if is_archived else 12.5

    async with listed(script) as opened:
        facet: Any = opened.app.chat.opened.control.client.sessions
        facet.answer(total_cost=total)
        opened.page._totals.clear()
        opened.page._update_costs()
        await opened.pilot.press("ctrl+t")
        opened.page._update_costs()
        text = await opened.text()
        assert "0 sessions" in text and "$" not in text.split("\n")[1] and sums == [False]
        known.set()
        await opened.text()
        opened.page._update_costs()
        assert "0 sessions · $0.50" in await opened.text() and sums == [False, True]
        await opened.pilot.press("ctrl+t")
        asked = len(script.asked_costs)
        opened.page._update_costs()
        assert "$" not in (await opened.text()).split("\n")[1] and len(script.asked_costs) == asked
        await opened.pilot.press("ctrl+t")
        assert "501 sessions · $12.50" in await opened.text()


async def test_the_filter_finds_titles_first_and_then_sessions_by_their_content() -> None:
    script = many_sessions()
    group = SearchGroup(
        session_id="ses_asv", project_id="p", directory="/p", title="", marks=[], updated=0, count=1, hits=[]
    )
    script.found = SearchResult(groups=[group])
    async with listed(script) as opened:
        await opened.pilot.press(*"retry")
        await opened.pilot.pause(0.5)
        text = await opened.text()
        lines = [line for line in text.split("\n") if "Move the benchmarks to asv" in line]
        assert "in the text" in lines[0]
        assert text.index("Add retry to the client") < text.index("Move the benchmarks to asv")
        assert "Type hints for the writer" not in text
        await opened.pilot.press("x", "x")
        assert "in the text" not in await opened.text()


@pytest.mark.slow
async def test_the_preview_counts_the_turns_of_a_long_session() -> None:
    script = many_sessions()
    story = Story()
    for number in range(9):
        story.user(f"request {number}", "4")
        story.answer([f"answer {number}"], at="5")
    script.messages = story.messages
    async with listed(script) as opened:
        await opened.pilot.press("down")
        for _ in range(20):
            await opened.pilot.pause(0.1)
            if "9 turns" in await opened.text():
                break
        assert "9 turns" in await opened.text()


@pytest.mark.fast_cases("80-False")
@pytest.mark.parametrize(("words", "is_cut"), [(80, False), (4_000, True)])
async def test_the_preview_shows_as_much_of_the_response_as_fits_and_marks_where_it_is_cut(
    words: int, is_cut: bool
) -> None:
    script = many_sessions()
    story = Story()
    story.user("explain it", "4")
    story.answer([" ".join(f"word{number}" for number in range(1, words + 1))], at="5")
    script.messages, script.diffs, script.todos = story.messages, [], []
    async with listed(script) as opened:
        await opened.pilot.press("down")
        for _ in range(20):
            if "Last response" in await opened.text():
                break
            await opened.pilot.pause(0.1)
        size, preview = opened.page.preview.size, opened.page.preview
        rows = [one.text.strip() for one in preview.rows(size.width, size.height)]
        response = [one for one in rows[rows.index("Last response") + 1 :] if one]
        assert response[0].startswith("word1 word2 ")
        assert response[-1].endswith("…") if is_cut else response[-1].endswith(" word80")
        assert len(response) > 8
        assert not is_cut or rows[-1] == response[-1]  # the last row of the screen
