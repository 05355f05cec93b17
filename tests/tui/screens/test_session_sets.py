"""Several sessions at once on the page of sessions: marks, previews, the archive, the trash, and their undo."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from opencode_tui.schema.api.request import CreateSession
from opencode_tui.schema.session.session import PINNED_KEY, SessionInfo
from opencode_tui.tui.sessions.page import SessionsScreen
from tests.support.terminal.screen import Page, screen
from tests.support.world.engine import opened
from tests.support.world.repo import make_repo

pytestmark = pytest.mark.slow


@asynccontextmanager
async def listing(
    environ: dict[str, str], folder: Path, *titles: str, size: tuple[int, int] = (140, 36)
) -> AsyncGenerator[Page]:
    """Open the page on sessions with these titles; the last one is the newest and is selected."""
    async with screen(environ, folder, size=size) as page:
        for title in titles:
            await page.world.client.sessions.create(CreateSession(title=title))
        await page.press("ctrl+x", "l")
        await page.sees(f"{len(titles)} sessions")
        await page.press("home")
        yield page


def shown(page: Page) -> SessionsScreen:
    found = page.app.screen
    assert isinstance(found, SessionsScreen)
    return found


async def sessions(page: Page) -> Sequence[SessionInfo]:
    """Return all sessions, the newest first."""
    return await page.world.client.sessions.list()


async def selects(page: Page, title: str) -> None:
    """Wait until this session is selected on the page."""
    while True:
        found = page.app.screen
        if isinstance(found, SessionsScreen) and [row.title for row in found.sessions.targets] == [title]:
            return
        await page.pilot.pause(0.02)


async def test_a_deleted_session_comes_back_with_u_and_the_place_is_kept(environ: dict[str, str], folder: Path) -> None:
    async with listing(environ, folder, "alpha", "beta", "gamma") as page:
        await page.press("down", "ctrl+d")
        text = await page.sees("Move this session to the trash?")
        assert "beta" in text and "u brings it back" in text
        await page.answer("y")
        await page.sees("Moved to the trash: beta   u brings it back")
        await selects(page, "alpha")
        assert [info.title for info in await sessions(page)] == ["gamma", "alpha"]
        await page.press("u")
        await page.sees("Restored: beta")
        await page.sees("3 sessions")
        assert [info.title for info in await sessions(page)] == ["gamma", "beta", "alpha"]


async def test_u_is_a_letter_of_the_filter_once_the_message_is_gone(environ: dict[str, str], folder: Path) -> None:
    async with listing(environ, folder, "alpha", "up and away") as page:
        await page.press("ctrl+a")
        await page.sees("Archived: up and away   u brings it back")
        await page.press("down", "u")
        await page.sees_no_more("u brings it back")
        assert shown(page).sessions.typed == "u"
        await page.press("backspace", "ctrl+z")
        await page.sees("Restored: up and away")
        assert [info.time.archived for info in await sessions(page)] == [None, None]


async def test_three_marked_sessions_are_archived_after_one_preview(environ: dict[str, str], folder: Path) -> None:
    async with listing(environ, folder, "alpha", "beta", "gamma", "delta") as page:
        await page.press("space", "space", "space")
        await page.sees("3 marked")
        await page.press("ctrl+a")
        preview = await page.sees("Archive 3 sessions?")
        assert all(title in preview for title in ("delta", "gamma", "beta"))
        await page.answer("escape")
        await page.sees("3 marked")
        await page.press("ctrl+a")
        await page.sees("Archive 3 sessions?")
        await page.answer("y")
        await page.sees("Archived: 3 sessions   u brings it back")
        assert [info.title for info in await sessions(page) if info.time.archived is None] == ["alpha"]
        await page.press("ctrl+t")
        text = await page.sees("Archived sessions")
        assert "ctrl+a unarchive" in text
        await page.press("home", "ctrl+a")
        await page.sees("Listed again: delta")
        await page.press("ctrl+z")
        await page.sees("Restored: 3 sessions")
        assert [info.title for info in await sessions(page) if info.time.archived] == []


async def test_marked_sessions_are_deleted_and_restored_from_the_trash(environ: dict[str, str], folder: Path) -> None:
    async with listing(environ, folder, "alpha", "beta", "gamma") as page:
        await page.press("space", "space", "ctrl+d")
        preview = await page.sees("Move 2 sessions to the trash?")
        assert "gamma" in preview and "beta" in preview
        await page.answer("y")
        await page.sees("Moved to the trash: 2 sessions")
        await page.press("ctrl+t", "ctrl+t")
        text = await page.sees("enter restore")
        assert "Trash" in text and "ctrl+d remove" in text
        await page.sees("beta")
        await page.press("home", "space", "enter")
        await page.sees("Restored: ")
        left = await page.world.client.trash.list()
        assert len(left) == 1 and len(await sessions(page)) == 2
        await page.press("ctrl+d")
        preview = await page.sees("Remove this session permanently?")
        assert left[0].title in preview and "can't be undone" in preview
        await page.answer("y")
        await page.sees("The trash is empty")
        assert await page.world.client.trash.list() == []


async def test_marked_sessions_are_pinned_and_exported_together(environ: dict[str, str], folder: Path) -> None:
    async with listing(environ, folder, "alpha", "beta", "gamma") as page:
        await page.press("space", "space", "ctrl+p")
        await page.sees("Pin 2 sessions?")
        await page.answer("y")
        await page.sees("Pinned: 2 sessions")
        pinned = {info.title for info in await sessions(page) if (info.metadata or {}).get(PINNED_KEY)}
        assert pinned == {"beta", "gamma"}
        await page.press("home", "space", "space", "ctrl+e")
        preview = await page.sees("Export 2 sessions as Markdown?")
        assert "session-ses_" in preview
        await page.answer("y")
        await page.sees("Exported: 2 sessions")
        written = sorted(path.read_text().splitlines()[0] for path in folder.glob("session-*.md"))
        assert written == ["# beta", "# gamma"]


async def test_tab_lists_all_projects_and_their_sessions_are_deleted_from_here(
    environ: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    repo = make_repo(tmp_path / "elsewhere")
    repo.commit(**{"a.txt": "a"})
    async with opened(environ, repo.path) as world:
        await world.client.sessions.create(CreateSession(title="in the other project"))
    async with listing(environ, folder, "alpha", "beta") as page:
        assert "in the other project" not in page.text()
        await page.press("tab")
        text = await page.sees("in the other project")
        assert "all projects · 3 sessions" in text and "tab this project" in text
        await page.press("end", "ctrl+d")
        await page.sees("Move this session to the trash?")
        await page.answer("y")
        await page.sees("Moved to the trash: in the other project")
        await page.sees("all projects · 2 sessions")
        await page.press("u")
        await page.sees("all projects · 3 sessions")


async def test_a_blank_is_a_character_of_a_filter_and_another_key_marks(environ: dict[str, str], folder: Path) -> None:
    async with listing(environ, folder, "csv import", "csv export", "tests") as page:
        await page.type("csv e")
        text = await page.sees("insert mark")
        assert "csv export" in text and "csv import" not in text and "marked" not in text
        await page.press("insert")
        await page.sees("1 marked")
        await page.press("ctrl+@")
        await page.sees_no_more("1 marked")
        await page.press("ctrl+u", "space")
        await page.sees("1 marked")


async def test_the_page_stays_after_a_rename(environ: dict[str, str], folder: Path) -> None:
    async with listing(environ, folder, "alpha", "beta", "gamma") as page:
        await page.press("down", "space", "up", "ctrl+r")
        await page.sees("Rename this session")
        await page.type("2")
        await page.press("enter")
        await page.sees("1 marked")
        await page.sees("2")
        assert "beta2" in [info.title for info in await sessions(page)]


@pytest.mark.parametrize("width", [60, 100])
async def test_a_narrow_page_has_marks_and_keys(environ: dict[str, str], folder: Path, width: int) -> None:
    async with listing(environ, folder, "alpha", "beta", size=(width, 24)) as page:
        await page.press("space")
        text = await page.sees("1 marked")
        assert "enter open" in text and "☑ " in text and "beta" in text


async def test_keys_typed_behind_the_slash_are_for_the_search_page(environ: dict[str, str], folder: Path) -> None:
    async with listing(environ, folder, "alpha", "beta") as page:
        await page.type("/retry policy")
        text = await page.sees("tab by relevance")
        assert "retry policy" in text
        await page.press("escape")
        await page.sees("Type to filter")
