"""The command of `tui.notify`: when it runs, and what it gets."""

import json
import threading
from pathlib import Path

import pytest
from textual import events

from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import Page, screen
from tests.support.world.waiting import until

pytestmark = pytest.mark.slow


COMMAND = 'printf "%s\\n" "$OPENCODE_TUI_MESSAGE" >> messages; cat >> facts; echo >> facts'


async def blur(page: Page) -> None:
    page.app.post_message(events.AppBlur())
    await page.pilot.pause()


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


async def test_it_runs_for_a_question_and_the_end_of_a_turn_while_the_terminal_has_no_focus(
    environ: dict[str, str], folder: Path
) -> None:
    settings = {"tui": {"notify": COMMAND}, "permission": {"bash": "ask"}}
    may_ask, may_end = threading.Event(), threading.Event()
    call = Call("bash", {"command": "true", "description": "x"})
    asking = Answer(text="I ask now", calls=(call,), holds=(("now", may_ask),))
    ending = Answer(text="So it ends", holds=(("ends", may_end),))
    async with screen(environ, folder, Answer(text="hi"), asking, ending, settings=settings) as page:
        await page.send("hello")
        await page.sees("Done")
        assert not (folder / "messages").exists()  # the user sees it
        await page.send("run it")
        await page.sees("I ask")
        await blur(page)  # before: a key says that the terminal has the focus
        may_ask.set()
        await until(lambda: len(lines(folder / "facts")) == 1)
        page.app.post_message(events.AppFocus())
        await page.answer("y")
        await page.sees("So it")
        await blur(page)
        may_end.set()
        await until(lambda: len(lines(folder / "facts")) == 2)
        first, second = map(json.loads, lines(folder / "facts"))
        assert (first["event"], second["event"]) == ("question", "end")
        assert (first["cwd"], first["sessionID"]) == (str(folder), page.session_id)
        assert [words.partition(":")[0] for words in lines(folder / "messages")] == [
            "waits for your answer",
            "turn finished",
        ]
