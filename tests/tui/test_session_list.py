"""The list of sessions behind the sidebar, the session browser and the sessions page, without a screen."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from opencode_tui.schema.session.listed import listed
from opencode_tui.tui.keys.keyed import FAR
from opencode_tui.tui.sessions.known_sessions import KnownSessions
from opencode_tui.tui.sessions.rows import Row
from opencode_tui.tui.sessions.session_list import SessionList
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.state.session_map import SessionMap
from opencode_tui.tui.theme.look import UNICODE
from opencode_tui.tui.widgets.selection import Selection
from tests.support.terminal.conversation import NOON, ROOT
from tests.support.terminal.scripted_client import Script, ScriptedClient, as_client, session

DAY_MS = 86_400_000


def controlled(*titles: str) -> SessionController:
    """Return the controller of a folder with sessions of these titles, each a day older than the one before."""
    infos = [session(title, id=f"ses_{title}", updated=NOON - at * DAY_MS) for at, title in enumerate(titles)]
    control = SessionController(
        as_client(ScriptedClient(Script(infos, directory=Path(ROOT)))),
        opened=lambda: None,
        lagged=lambda _reason: None,
        requested=lambda _event: None,
        clock=lambda: NOON / 1000,
    )
    control.folder.sessions = SessionMap(map(listed, infos))
    return control


def list_of(*titles: str, chosen: str = "") -> SessionList:
    sessions = SessionList(KnownSessions(controlled(*titles)), chosen=chosen)
    sessions.read(UNICODE)
    return sessions


def titles_of(sessions: SessionList) -> Sequence[str]:
    return [one if isinstance(one, str) else one.title for one in sessions.lines]


def test_each_group_has_a_heading_below_an_empty_line() -> None:
    assert titles_of(list_of("new", "old")) == ["Today", "new", "", "Yesterday", "old"]


def test_a_filter_shows_matches_without_headings_and_then_what_was_found_in_texts() -> None:
    sessions = list_of("parser", "docs", "tests")
    sessions.type("doc")
    sessions.add_found(["ses_docs", "ses_tests"])
    assert titles_of(sessions) == ["docs", "tests"]
    assert sessions.found_in_text == ["ses_tests"]
    sessions.clear_filter()
    assert [one for one in titles_of(sessions) if one in ("parser", "docs", "tests")] == ["parser", "docs", "tests"]


def test_the_selection_stays_on_its_session_and_then_in_its_place() -> None:
    control = controlled("a", "b", "c")
    sessions = SessionList(KnownSessions(control), chosen="ses_b")
    sessions.read(UNICODE)
    assert sessions.chosen == "ses_b"
    del control.folder.sessions["ses_b"]
    sessions.read(UNICODE)
    assert sessions.chosen == "ses_c"


def test_a_filter_selects_the_best_match_and_its_end_the_first_row() -> None:
    sessions = list_of("parser", "docs", "the retries", "let it retry", chosen="ses_docs")
    sessions.type("retry")
    assert titles_of(sessions) == ["let it retry"]
    sessions.erase()
    sessions.selection.move(1)
    assert titles_of(sessions) == ["the retries", "let it retry"] and sessions.chosen == "ses_let it retry"
    sessions.clear_filter()
    assert sessions.chosen == "ses_parser"


def test_of_sessions_that_match_alike_the_latest_is_first_however_long_its_title_is() -> None:
    sessions = list_of("reformat the csv reader of the importer", "csv", "excsv", "csv export")
    sessions.type("csv")
    assert titles_of(sessions) == ["reformat the csv reader of the importer", "csv", "csv export", "excsv"]


def test_actions_are_for_the_marked_sessions_in_the_order_of_the_list_else_for_the_selected_one() -> None:
    sessions = list_of("a", "b", "c")
    assert [row.title for row in sessions.targets] == ["a"]
    sessions.mark()
    sessions.selection.move(1)
    sessions.mark()
    assert [row.title for row in sessions.targets] == ["a", "c"]
    sessions.show_next_view()
    assert sessions.view == "archived" and sessions.marked == []


def test_headings_cannot_be_selected_and_the_selected_row_stays_visible() -> None:
    rows = Selection()
    rows.show(["", "a", "b", "", "", "c"])
    assert (rows.chosen, rows.at) == ("a", 1)
    rows.move(2)
    assert rows.chosen == "c" and 5 in rows.visible(3)
    rows.move(-9)
    assert rows.chosen == "a" and list(rows.visible(3)) == [0, 1, 2]
    rows.show([])
    assert rows.chosen == "" and not rows.move(1)


class CountedRows(list[str]):
    """Counts the rows that are looked at one by one."""

    looks = 0

    def __getitem__(self, at: Any) -> Any:
        self.looks += 1
        return super().__getitem__(at)


@pytest.mark.parametrize("count", [3, 100_000])
def test_the_first_and_the_last_row_are_selected_without_looking_at_those_between(count: int) -> None:
    rows, selection = CountedRows(["", *(f"row {number}" for number in range(count)), ""]), Selection()
    selection.show(rows)
    assert selection.move(FAR) and selection.chosen == f"row {count - 1}"
    assert selection.move(-FAR) and selection.chosen == "row 0"
    assert 0 < rows.looks < 20


@pytest.mark.slow
def test_typing_on_finds_what_typing_all_at_once_finds() -> None:
    chance = random.Random(3)
    words = ["fix", "the", "fixture", "retry", "login", "let it", "log", "in", "parser", "v12", "12"]
    titles = dict.fromkeys(" ".join(chance.choices(words, k=chance.randrange(1, 5))) for _ in range(120))
    for number in range(60):
        typed = " ".join(chance.choices([*words, "ret", "fxi", "l"], k=chance.randrange(1, 4)))
        by_key, at_once = list_of(*titles), list_of(*titles)
        for at, letter in enumerate(typed):
            by_key.type(letter)
            if number % 3 == at % 5:
                by_key.type("x")
                by_key.erase()
        at_once.type(typed)
        assert titles_of(by_key) == titles_of(at_once), typed


def test_rows_are_made_anew_only_when_something_that_they_show_has_changed() -> None:
    control = controlled("a", "b", "c")
    known = KnownSessions(control)

    def rows() -> Sequence[Row]:
        return known.rows("active", UNICODE, is_everywhere=False)

    first = rows()
    assert rows() is first
    control.folder.ended["ses_a"] = "failed"
    second = rows()
    assert second is not first and rows() is second
    info = control.folder.sessions["ses_b"]
    control.folder.sessions["ses_b"] = replace(info, title="another")
    third = rows()
    assert third is not second and "another" in [row.title for row in third]
    del control.folder.sessions["ses_c"]
    assert rows() is not third
