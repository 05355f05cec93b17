"""The screen does what a client of the server orders: an editor's plugin writes into the prompt and sends it."""

from pathlib import Path

import pytest

from opencode_tui.schema.api.keybinds import COMMANDS
from opencode_tui.schema.api.request import CreateSession
from opencode_tui.schema.event.screen_event import ScreenCommandGiven, ScreenSessionSelected, ScreenTextAppended
from opencode_tui.server.routes.screen import ACTIONS
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import Page, screen

pytestmark = pytest.mark.slow


ENDS_THE_TURN = ("session.interrupt", "session.undo")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to work in."""
    work = tmp_path / "csvkit"
    work.mkdir()
    return work


async def order(page: Page, command: str) -> None:
    await page.world.client.screen.publish(ScreenCommandGiven(command=command))


async def test_text_is_written_behind_what_stands_there_and_sent_when_that_is_ordered(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, Answer(text="It adds.")) as page:
        await page.type("Explain ")
        await page.world.client.screen.publish(ScreenTextAppended(text="this\x1b[31m line"))
        await page.sees("Explain this")
        assert page.world.server.bodies == []
        await order(page, "prompt.submit")
        await page.sees("It adds.")
    assert "Explain this" in str(page.world.server.bodies[-1]) and "\\x1b" not in str(page.world.server.bodies[-1])


async def test_the_prompt_is_cleared_and_lists_are_opened(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.type("half a thought")
        await page.sees("half a thought")
        await order(page, "prompt.clear")
        await page.sees_no_more("half a thought")
        await order(page, "help.show")
        await page.sees("Keyboard shortcuts")


async def test_another_session_is_gone_to(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        other = await page.world.client.sessions.create(CreateSession(title="The other one"))
        await page.world.client.screen.publish(ScreenSessionSelected(session_id=other.id))
        await page.sees("The other one")


async def test_what_there_is_not_is_told(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await order(page, "session.share")
        await page.sees("Unknown client command: session.share")


async def test_no_order_answers_a_question(environ: dict[str, str], folder: Path) -> None:
    touch = Call("bash", {"command": "touch made", "description": "x"})
    async with screen(environ, folder, Answer(calls=(touch,)), settings={"permission": {"bash": "ask"}}) as page:
        await page.send("make it")
        await page.sees("run once")
        await page.world.client.screen.publish(ScreenTextAppended(text="y"))
        for command in ("prompt.submit", *(one for one in COMMANDS if one not in ENDS_THE_TURN)):
            await order(page, command)
            await page.pilot.pause()
        assert len(await page.world.client.permissions.pending()) == 1
    assert not (folder / "made").exists()


def test_whatever_a_route_orders_is_known() -> None:
    assert set(ACTIONS.values()) <= {"prompt.submit", "prompt.clear", *COMMANDS}
