"""The search page on the real engine: type, see hits, open the part."""

from pathlib import Path

import pytest
from textual.events import Paste

from opencode_tui.storage.paths import Paths
from opencode_tui.tui.pages.search import SearchScreen
from tests.support.hostile.strings import HOSTILE
from tests.support.sessions.records import assistant, call, user
from tests.support.sessions.searched import SearchStore
from tests.support.terminal.screen import Page, screen

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def store(paths: Paths, folder: Path) -> SearchStore:
    """A long session of this folder with two needles far from its end, and one of another project."""
    made = SearchStore(paths)
    made.searcher.close()
    first = [
        user("where is it?"),
        assistant(call("1", "bash", given={"command": "ls hay"}, output="one needle"), "The needle is in the hay."),
    ]
    filler = [one for number in range(40) for one in (user(f"question {number}"), assistant(f"answer {number}"))]
    made.write(
        "ses_long",
        *first,
        *filler,
        title="Look for it",
        directory=str(folder),
    )
    made.write("ses_other", user("no needle here"), title="Elsewhere", directory="/nowhere", project_id="other")
    return made


async def searched(page: Page, words: str) -> SearchScreen:
    await page.press("ctrl+x", "l")
    await page.sees("to search the content")
    await page.press("slash")
    await page.sees("Search the content of all sessions")
    await page.type(words)
    await page.sees("matches in")
    shown = page.app.screen
    assert isinstance(shown, SearchScreen)
    return shown


async def test_enter_opens_the_session_at_the_part_and_marks_the_words(environ, folder, store):
    async with screen(environ, folder) as page:
        await searched(page, "needle")
        text = page.text()
        assert "3 matches in 2 sessions" in text and "The needle is in the hay." in text
        assert text.index("Elsewhere") < text.index("Look for it")
        await page.press("down", "down", "down")
        await page.press("enter")
        await page.sees("where is it?")
        assert page.session_id == "ses_long"
        text = await page.sees("2 of 2")  # the first one is in the output of the call
        assert "The needle is in the hay." in text and "answer 39" not in text
        view = page.app.chat.opened.view
        assert view.found is not None and view.found.shown is not None
        shown = [placed for placed in view.viewport.lines if placed.key == view.found.shown[0]]
        assert [placed.line.strip.text[view.found.shown[1] :][:6] for placed in shown] == ["needle"]
        await page.press("escape")
        await page.sees_no_more("2 of 2")
        assert view.found is None


async def test_this_project_only_and_by_relevance(environ, folder, store):
    async with screen(environ, folder) as page:
        shown = await searched(page, "needle")
        await page.press("tab")
        await page.sees("by relevance · 3 matches")
        await page.press("down", "full_stop")
        text = await page.sees("this project · by relevance · ")
        await page.sees_no_more("Elsewhere")
        assert "all projects" in text.split("\n")[-2]
        await page.press("slash")
        await page.type(" hay")
        assert shown.typed == "needle hay"
        await page.press("ctrl+w", "backspace")
        assert shown.typed == "needl"


async def test_escape_leads_back_to_the_sessions_with_their_filter(environ, folder, store):
    async with screen(environ, folder) as page:
        await page.press("ctrl+x", "l")
        await page.sees("to search the content")
        await page.type("look")
        await page.press("slash")
        await page.sees("Search")
        await page.sees("look")
        await page.press("escape")
        await page.sees("Sessions")
        assert "Look for it" in page.text()


async def test_a_session_of_a_folder_that_is_gone_is_reported(environ, folder, store):
    async with screen(environ, folder) as page:
        await page.type("/search needle")
        await page.press("enter")
        await page.sees("Elsewhere")
        await page.press("enter")
        await page.sees("/nowhere does not exist anymore")


async def test_what_this_engine_wrote_is_found(environ, folder, store):
    async with screen(environ, folder) as page:
        await searched(page, "needle")
        await page.press("escape", "escape")
        await page.send("please say xylophone")
        await page.sees("Echo: please say xylophone")
        await page.type("/search xylophone")
        await page.press("enter")
        text = await page.sees("matches in 1 session")
        assert "prompt" in text and "answer" in text


async def test_hostile_queries_and_texts_do_no_harm(environ, folder, store):
    store.write(
        "ses_bad", user("xyzzy \x1b[31m\x9b2J\u202e\u2066 \ud800 end"), title="\x1b]0;t\x07", directory=str(folder)
    )
    async with screen(environ, folder) as page:
        await page.type("/search xyzzy")
        await page.press("enter")
        text = await page.sees("1 match in 1 session")
        assert "xyzzy [31m" in text and "\\u202e" in text and "\x1b" not in text
        shown = page.app.screen
        assert isinstance(shown, SearchScreen)
        for query in HOSTILE:
            await page.press("ctrl+u")
            await page.pilot.pause()
            shown.on_paste(Paste(query))
            await page.pilot.pause()
            assert not shown.result.problem
        await page.press("ctrl+u")
        await page.type("xyzzy")
        await page.sees("1 match in 1 session")
