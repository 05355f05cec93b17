"""The page of what runs and waits in all folders: what its keys send, and that nothing unread is allowed."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from opencode_tui.schema.api.inbox import Ended, InboxView, Running, Waiting
from opencode_tui.schema.api.question import Question, QuestionOption, QuestionRequest
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session.session import BusyStatus
from opencode_tui.schema.totals import SessionTotals
from opencode_tui.tui.app import OpenCodeApp, load_actions
from opencode_tui.tui.dialogs.panel import Guard, Panel
from opencode_tui.tui.options import StartOptions
from tests.support.terminal.conversation import NOON, SESSION, Story
from tests.support.terminal.screen import Page, look
from tests.support.terminal.scripted_client import Script, ScriptedClient, as_client, session
from tests.support.world.waiting import until

pytestmark = pytest.mark.usefixtures("jumping_clock")

Sent = list[tuple[Any, ...]]


def running(name: str, *waiting: PermissionRequest | QuestionRequest, **fields: Any) -> Running:
    info = session(f"Work in {name}", id=f"ses_{name}", updated=NOON).changed(directory=f"/home/you/{name}")
    waits = [
        Waiting(permission=one) if isinstance(one, PermissionRequest) else Waiting(question=one) for one in waiting
    ]
    known: dict[str, Any] = {
        "state": "asks" if waits else "works",
        "pid": 41,
        "is_reachable": True,
        "status": BusyStatus(),
    }
    known |= {"info": info, "waiting": waits, "totals": SessionTotals(), **fields}
    return Running(**known)


def asks(name: str, command: str) -> PermissionRequest:
    return PermissionRequest(id=f"per_{name}", session_id=f"ses_{name}", permission="bash", patterns=[command])


@asynccontextmanager
async def page_of(
    *rows: Running, size: tuple[int, int] = (110, 30), ended: Sequence[Ended] = ()
) -> AsyncGenerator[tuple[Page, Sent, Script]]:
    """Show the page; the list gets what its keys send."""
    load_actions()
    story = Story()
    story.user("do it", "1")
    script = Script(
        [session("Shown")], story.messages, {}, inbox=InboxView(rows=list(rows), silent=[], ended=list(ended))
    )
    client, sent = ScriptedClient(script), Sent()

    def record(name: str, result: object) -> Callable[..., object]:
        def answer(*given: Any, **named: Any) -> object:
            sent.append((name, *given, *named.values()))
            script.inbox = InboxView(rows=[row for row in script.inbox.rows if given[0] not in str(row)], silent=[])
            return result

        return answer

    client.inbox.answer(reply=record("reply", True), stop=record("stop", None))
    app = OpenCodeApp(StartOptions(script.directory, session_id=SESSION), look(), clock=lambda: NOON / 1000)
    async with app.run_test(size=size) as pilot:
        app.attach(as_client(client))
        page = Page(app, pilot, world=None)  # pyright: ignore[reportArgumentType] - nothing here asks for the engine
        await page.sees("Ask anything")
        await page.press("ctrl+x", "z")
        await page.sees("What runs")
        yield page, sent, script


def wait_over(page: Page) -> None:
    """Let the shown question accept keys, as if it had appeared long ago."""
    panel = page.app.screen.query_one(Panel)
    panel._guard = Guard(0)
    panel._await_quiet()


@pytest.mark.fast_cases("n-reject")
@pytest.mark.parametrize(("key", "reply"), [("y", "once"), ("n", "reject")])
async def test_a_key_answers_the_question_that_is_shown_in_full(key: str, reply: str) -> None:
    async with page_of(running("one", asks("one", "rm notes.txt")), running("two")) as (page, sent, _):
        text = await page.sees("y run once")
        assert "1 asks you" in text and "rm notes.txt" in text and "always" not in text
        await page.press(key)
        assert sent == []  # it has just appeared
        wait_over(page)
        await page.press(key)
        await page.sees_no_more("rm notes.txt")
        assert sent == [("reply", "per_one", reply)]


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (60, 18), (60, 16)])
async def test_a_question_that_does_not_fit_is_read_to_its_end_before_it_is_allowed(size: tuple[int, int]) -> None:
    command = "\n".join(f"rm file{number}" for number in range(40))
    async with page_of(running("one", asks("one", command)), size=size) as (page, sent, _):
        assert "more, pgdn" in await page.sees("rm file0")
        for _ in range(60):
            wait_over(page)
            if "lines more" not in page.text():
                break
            await page.press("y")
            assert sent == []
        assert "rm file39" in page.text()
        await page.press("y")
        await page.sees_no_more("rm file39")
        assert sent == [("reply", "per_one", "once")]


async def test_a_key_stops_the_selected_session() -> None:
    async with page_of(running("one", asks("one", "rm a")), running("two")) as (page, sent, _):
        await page.press("down", "s")
        await page.sees_no_more("Work in two")
        assert sent == [("stop", "ses_two", False)]


@pytest.mark.slow
async def test_a_question_of_a_tool_is_shown_and_answered_in_its_session() -> None:
    question = Question(question="Which color?", options=[QuestionOption(label="red"), QuestionOption(label="blue")])
    request = QuestionRequest(id="que_1", session_id="ses_one", questions=[question])
    async with page_of(running("one", request)) as (page, sent, _):
        text = await page.sees("The agent asks")
        assert "blue" in text and "y run once" not in text
        await page.press("y", "n")
        assert sent == []


@pytest.mark.slow
async def test_what_was_asked_since_is_seen_without_a_key_and_is_not_answered_by_one_for_another() -> None:
    async with page_of(running("one", asks("one", "rm a"))) as (page, sent, script):
        await page.sees("y run once")
        wait_over(page)
        script.inbox = InboxView(rows=[running("two", asks("two", "rm -r everything"))], silent=[7])
        await page.sees("rm -r everything")
        await page.sees("process 7 does not respond")
        await page.press("y")
        assert sent == []


@pytest.mark.parametrize("is_changed", [False, True])
async def test_what_is_chosen_in_the_help_answers_the_question_it_was_opened_over_and_no_other(
    is_changed: bool,
) -> None:
    async with page_of(running("one", asks("one", "rm a"))) as (page, sent, script):
        await page.sees("y run once")
        await page.press("f1")
        await page.sees("Keyboard shortcuts")
        if is_changed:
            below = page.app.screen_stack[-2]
            panel = below.query_one(Panel)
            script.inbox = InboxView(rows=[running("one", asks("two", "rm -r everything"))], silent=[])
            await until(lambda: panel not in (found := below.query(Panel)) and len(found) == 1)
        await page.type("allow")
        await page.press("enter")
        await page.sees_no_more("Keyboard shortcuts")
        assert (sent == []) == is_changed


@pytest.mark.slow
async def test_enter_on_a_session_of_a_folder_that_is_gone_says_so() -> None:
    async with page_of(running("one", state="stopped", is_reachable=False)) as (page, _, _):
        assert "enter continue" in await page.sees("Work in one")
        await page.press("enter")
        await page.sees("/home/you/one does not exist anymore")


@pytest.mark.slow
async def test_without_anything_that_runs_the_page_says_so() -> None:
    async with page_of() as (page, _, script):
        await page.sees("Nothing runs")
        script.inbox = InboxView(rows=[running("one")], silent=[])
        await page.sees("Work in one")


@pytest.mark.slow
async def test_a_wide_screen_shows_long_titles_and_folders_whole() -> None:
    title, folder = "Keep the last row of every file that has no line end", "/home/you/csvkit-of-another-person"
    row = running("a", branch="fix/last")
    row = row.changed(info=row.info.changed(title=title, directory=folder))
    async with page_of(row, size=(240, 30)) as (page, _, _):
        text = await page.sees(f"{folder} (fix/last)")
        assert title in text
    async with page_of(row, size=(120, 30)) as (page, _, _):
        text = await page.sees(f"{title[:27]}…")
        assert f"{folder[:29]}…" in text


@pytest.mark.slow
async def test_what_ended_is_below_what_runs_and_is_seen_when_the_page_is_left() -> None:
    infos = [session(f"Work in {name}", id=f"ses_{name}", updated=NOON) for name in ("red", "blue")]
    ended = [
        Ended(info=infos[0], state="failed", at=NOON - 1, said="the key is wrong", cost=0.5),
        Ended(info=infos[1], state="done", at=NOON - 60_000, said="All is done."),
    ]
    async with page_of(running("one"), ended=ended) as (page, _, script):
        text = await page.sees("Ended since you looked")
        above, below = text.split("Ended since you looked")
        assert "Work in one" in above and "1 session, 2 ended" in above
        assert below.index("failed") < below.index("the key is wrong") < below.index("All is done.")
        await page.press("down")
        assert "enter open" in page.text() and "stop" not in page.text()
        assert (None, NOON - 1) not in script.looks
        await page.press("escape")
        await page.sees_no_more("What runs")
        assert script.looks[-1] == (None, NOON - 1)


@pytest.mark.slow
async def test_what_was_interrupted_says_so_in_a_column_that_holds_the_word() -> None:
    infos = [session(title, id=f"ses_{title}") for title in ("Stopped", "Whole")]
    ended = [
        Ended(info=infos[0], state="interrupted", at=NOON - 1, said="I will"),
        Ended(info=infos[1], state="done", at=NOON - 60_000, said="All is done."),
    ]
    async with page_of(ended=ended) as (page, _, _script):
        lines = (await page.sees("Ended since you looked")).splitlines()
        stopped, whole = (next(one for one in lines if title in one) for title in ("Stopped", "Whole"))
        assert stopped.split()[:3] == ["■", "interrupted", "Stopped"]
        assert stopped.index("Stopped") == whole.index("Whole")


@pytest.mark.slow
async def test_the_shown_session_is_seen_when_it_is_shown() -> None:
    async with page_of() as (_, _, script):
        assert set(script.looks) == {(SESSION, 0)}
