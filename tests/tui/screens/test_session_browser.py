"""The session browser in the sidebar: keys, filter, live states, questions that arrive, other projects."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from opencode_tui.schema.api.request import CreateSession, UpdateSession
from opencode_tui.schema.session.session import PINNED_KEY
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import Page, screen
from tests.support.world.engine import opened
from tests.support.world.repo import make_repo

pytestmark = pytest.mark.slow


OPEN = ("ctrl+x", "s")


@asynccontextmanager
async def browsing(environ: dict[str, str], folder: Path, *titles: str) -> AsyncGenerator[Page]:
    """Open the browser on sessions with these titles; the last one is the newest."""
    async with screen(environ, folder, size=(140, 36)) as page:
        for title in titles:
            await page.world.client.sessions.create(CreateSession(title=title))
        await page.press(*OPEN)
        await page.sees("tab all projects")
        while not all(title in listed(page) for title in titles):  # the rows follow the events of the engine
            await page.pilot.pause(0.02)
        yield page


def listed(page: Page) -> str:
    """Return the text of the browser, whose left edge is at cell 100."""
    return "\n".join(line[100:] for line in page.text().split("\n"))


def selected(page: Page) -> str:
    """Return the title of the selected session; empty while it is unknown."""
    browser, control = page.app.chat.opened.browser, page.app.chat.opened.control
    info = control.folder.sessions.get(browser.sessions.chosen)
    return info.title if info is not None else ""


async def selects(page: Page, title: str) -> None:
    """Wait until this session is selected."""
    while selected(page) != title:
        await page.pilot.pause(0.02)


async def test_one_key_opens_it_and_escape_returns_to_the_prompt(environ: dict[str, str], folder: Path) -> None:
    async with browsing(environ, folder, "First", "Second") as page:
        assert page.app.focused is page.app.chat.opened.browser
        await page.press("escape")
        await page.sees_no_more("tab all projects")
        await page.type("hello")
        await page.sees("hello")


async def test_arrows_move_and_enter_opens(environ: dict[str, str], folder: Path) -> None:
    async with browsing(environ, folder, "First", "Second", "Third") as page:
        await page.press("home")
        await selects(page, "Third")
        await page.press("down", "j", "up")
        await selects(page, "Second")
        await page.press("enter")
        await page.sees_no_more("tab all projects")
        assert page.app.chat.opened.control.facts is not None
        assert page.app.chat.opened.control.facts.info.title == "Second"
        assert page.app.focused is page.app.chat.prompt.editor


async def test_a_slash_filters_by_title(environ: dict[str, str], folder: Path) -> None:
    async with browsing(environ, folder, "Parse dates", "Write docs", "Parse numbers") as page:
        await page.press("slash")
        await page.type("docs???")
        assert "No matches" in await page.sees("/ docs???")
        await page.press("backspace", "backspace", "backspace", "enter")
        await selects(page, "Write docs")
        text = listed(page)
        assert "Parse dates" not in text and "Parse numbers" not in text
        await page.press("escape")
        await page.sees("Parse dates")
        await page.sees("tab all projects")


async def test_rename_keeps_the_browser_and_its_selection(environ: dict[str, str], folder: Path) -> None:
    async with browsing(environ, folder, "First", "Second") as page:
        await page.press("end", "r")
        await page.sees("Rename this session")
        await page.press("ctrl+u")
        await page.type("Renamed")
        await page.press("enter")
        await page.sees_no_more("Rename this session")
        await page.sees("Renamed")
        await selects(page, "Renamed")
        assert page.app.focused is page.app.chat.opened.browser


async def test_delete_asks_and_selects_the_next_session(environ: dict[str, str], folder: Path) -> None:
    async with browsing(environ, folder, "First", "Second", "Third") as page:
        await page.press("home", "down", "d")
        assert "  Second" in await page.sees("Move this session to the trash?")
        await page.answer("y")
        await page.sees_no_more("Move this session to the trash?")
        await page.sees("Moved to the trash")
        await selects(page, "First")
        assert [info.title for info in await page.world.client.sessions.list()] == ["Third", "First"]
        await page.press("up")
        await selects(page, "Third")


async def test_u_brings_back_what_was_deleted_and_archived_last_first(environ: dict[str, str], folder: Path) -> None:
    async with browsing(environ, folder, "First", "Second", "Third") as page:
        await page.press("home", "d")
        await page.sees("Move this session to the trash?")
        await page.answer("y")
        await selects(page, "Second")
        await page.sees("u undo")
        await page.press("a")
        await selects(page, "First")
        await page.press("u")
        await selects(page, "Second")
        assert [entry.title for entry in await page.world.client.trash.list()] == ["Third"]
        await page.press("u")
        await selects(page, "Third")
        await page.sees_no_more("u undo")
        assert await page.world.client.trash.list() == []
        shown = await page.world.client.sessions.list()
        assert [(info.title, info.time.archived) for info in shown] == [
            ("Third", None),
            ("Second", None),
            ("First", None),
        ]


async def test_archive_hides_a_session_and_u_restores_it(environ: dict[str, str], folder: Path) -> None:
    async with browsing(environ, folder, "First", "Second") as page:
        await page.press("home", "a")
        await page.sees("u undo")
        await selects(page, "First")
        archived = (await page.world.client.sessions.list())[0]
        assert archived.title == "Second" and archived.time.archived
        await page.press("u")
        await page.sees_no_more("u undo")
        await selects(page, "Second")
        assert (await page.world.client.sessions.list())[0].time.archived is None


async def test_a_pinned_session_is_listed_first_until_it_is_unpinned(environ: dict[str, str], folder: Path) -> None:
    async with browsing(environ, folder, "First", "Second") as page:
        await page.press("end", "p")
        text = await page.sees("★")
        assert text.index("Pinned") < text.index("First") < text.index("Today") < text.index("Second")
        assert (await page.world.client.sessions.list())[1].metadata == {PINNED_KEY: True}
        await page.press("p")
        await page.sees_no_more("★")
        assert (await page.world.client.sessions.list())[1].metadata is None


async def test_fork_and_new_session(environ: dict[str, str], folder: Path) -> None:
    async with browsing(environ, folder, "First") as page:
        await page.press("home", "f")
        await page.sees("First (fork #1)")
        await selects(page, "First (fork #1)")
        await page.press("n")
        await page.sees_no_more("tab all projects")
        assert page.session_id is None


async def test_a_question_that_appears_gets_no_key_of_the_browser(environ: dict[str, str], folder: Path) -> None:
    settings = {"permission": {"bash": "ask"}}
    command = Call("bash", {"command": "echo yes > answered", "description": "write"})
    answers = (Answer(calls=(command,)), Answer(text="finished"))
    async with screen(environ, folder, *answers, settings=settings, size=(140, 36)) as page:
        await page.world.client.sessions.create(CreateSession(title="Other"))
        await page.press(*OPEN)
        await page.sees("Other")
        page.app.chat.prompt.editor.put("go")
        page.app.chat.opened.run("input_submit")
        await page.sees("Run this")
        await page.answer("y", "a", "e", "p")
        assert not (folder / "answered").exists()
        await page.press("escape")
        await page.sees_no_more("tab all projects")
        await page.answer("y")
        await page.sees("finished")
        assert (folder / "answered").exists()


async def test_the_agents_of_an_archived_session_are_hidden_with_it(environ: dict[str, str], folder: Path) -> None:
    async with browsing(environ, folder, "Parent", "Other") as page:
        parent = next(info for info in await page.world.client.sessions.list() if info.title == "Parent")
        child = CreateSession(title="child of it", parent_id=parent.id)
        await page.world.client.sessions.create(child)
        await page.sees("child of it")
        await page.world.client.sessions.update(parent.id, UpdateSession(archived=1))
        await page.sees_no_more("child of it")
        assert "Other" in page.text()


@pytest.mark.parametrize("width", [60, 100])
async def test_it_covers_a_narrow_chat(environ: dict[str, str], folder: Path, width: int) -> None:
    async with screen(environ, folder, size=(width, 24)) as page:
        await page.world.client.sessions.create(CreateSession(title="Only one"))
        await page.press(*OPEN)
        assert "Only one" in await page.sees("tab all projects")
        assert page.app.chat.query_one("#talk").size.width == width
        await page.press(*OPEN)
        await page.sees_no_more("tab all projects")


async def test_tab_lists_the_sessions_of_all_projects(environ: dict[str, str], folder: Path, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "elsewhere")
    repo.write("a.txt", "a")
    repo.commit("begin")
    other = repo.path
    async with opened(environ, other) as world:
        await world.client.sessions.create(CreateSession(title="In the other project"))
    async with browsing(environ, folder, "Here") as page:
        assert "In the other project" not in page.text()
        await page.press("tab")
        await page.sees("All projects")
        text = await page.sees("In the other project")
        assert "elsewhere" in text and "tab this project" in text
        await page.press("end", "enter")
        await page.ends()
        ending = page.app.return_value
        assert ending is not None and ending.reopen == other and ending.session_id


async def test_a_second_slash_searches_the_content_for_what_was_typed(environ: dict[str, str], folder: Path) -> None:
    async with browsing(environ, folder, "First", "Second") as page:
        await page.press("slash")
        await page.type("needle")
        assert "/ search the content" in await page.sees("No matches")
        await page.press("slash")
        text = await page.sees("tab by relevance")
        assert "needle" in text
