"""An engine that fails or does not respond: the screen says so, stays, and can be left."""

from pathlib import Path

import pytest

from opencode_tui.schema.error import OpencodeError, SessionError
from tests.support.provider.model_script import Answer
from tests.support.terminal.screen import screen

FAILING = """
import asyncio, sys

async def fail(given, output):
    asyncio.get_running_loop().call_soon(sys.exit, 3)

def plugin(context):
    return {"chat.message": fail}
"""
BUSY = """
import time

async def block(given, output):
    (FOLDER / "busy").touch()
    while not (FOLDER / "free").exists():
        time.sleep(0.001)

def plugin(context):
    global FOLDER
    FOLDER = context.directory
    return {"chat.message": block}
"""


async def test_the_screen_says_that_the_engine_failed_and_stays(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(FAILING)

    async def work_on() -> None:
        async with screen(environ, tmp_path, settings={"plugin": [str(tmp_path / "failing.py")]}) as page:
            await page.send("hello")
            await page.sees("the engine failed (SystemExit: 3)")
            await page.type("still here")
            await page.sees("still here")

    with pytest.raises(OpencodeError, match="the engine failed"):
        await work_on()


@pytest.mark.slow
async def test_a_list_that_cannot_be_read_says_so(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(FAILING)

    async def work_on() -> None:
        async with screen(environ, tmp_path, settings={"plugin": [str(tmp_path / "failing.py")]}) as page:
            await page.send("hello")
            await page.sees("the engine failed (SystemExit: 3)")
            await page.send("/login")
            await page.sees("The providers cannot be read")
            await page.press("escape")
            await page.sees_no_more("The providers cannot be read")

    with pytest.raises(OpencodeError, match="the engine failed"):
        await work_on()


@pytest.mark.slow
async def test_keys_are_drawn_while_the_engine_does_not_respond(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_text(BUSY)
    settings = {"plugin": [str(tmp_path / "busy.py")]}
    async with screen(environ, tmp_path, Answer(text="Hello there."), settings=settings) as page:
        await page.send("hello")
        while not (tmp_path / "busy").exists():
            await page.pilot.pause(0.01)
        await page.type("meanwhile")
        await page.sees("meanwhile")
        (tmp_path / "free").touch()
        await page.sees("Hello there.")


@pytest.mark.slow
async def test_work_that_is_refused_says_why_and_only_another_failure_names_the_log(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with screen(environ, tmp_path) as page:
        page.app.show_failure(SessionError("the session is gone; see `opencode-tui session list`"))
        shown = await page.sees("the session is gone; see `opencode-tui session list`")
        assert "SessionError" not in shown
        page.app.show_failure(ValueError("x"))
        await page.sees("ValueError in a part of the screen")
