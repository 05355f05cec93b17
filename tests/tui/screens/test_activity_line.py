"""The spinner turns with the frames of an answer, and without them."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from opencode_tui.tui.chrome.activity import ActivityLine, Kind
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import screen

PATIENCE_S = 20


@pytest.mark.slow
async def test_the_spinner_turns_with_the_frames_of_an_answer_and_without_them(
    environ: dict[str, str], tmp_path: Path
) -> None:
    go_on = threading.Event()
    async with screen(environ, tmp_path, Answer(text="begun the-end", holds=(("the-end", go_on),))) as page:
        page.app.apply_look(replace(page.app.look, is_still=False))
        line = page.app.chat.query_one(ActivityLine)
        now = list[float]()

        def sign() -> str:
            return line.rows(80, 1)[0].text.split()[0]

        try:
            await page.send("go")
            await page.sees("begun")
            now.append(line.clock() + 1)  # later than the last turn, however long the beginning of the answer took
            line.clock = lambda: now[0]
            line.join_frame()  # from here on the clock stands still: the timer of the spinner has nothing to do
            now[0] += 1
            before = sign()
            line.join_frame()
            turned = sign()
            assert turned != before
            line.join_frame()
            assert sign() == turned, "not twice at the same time"
            now[0] += 1  # no frame comes any more
            async with asyncio.timeout(PATIENCE_S):
                while sign() == turned:
                    await asyncio.sleep(0.01)
        finally:
            go_on.set()
        await page.sees("the-end")


@pytest.mark.slow
async def test_a_text_that_streams_behind_a_tool_is_no_wait_for_the_model(
    environ: dict[str, str], tmp_path: Path
) -> None:
    go_on = threading.Event()
    call = Call("glob", {"pattern": "*.py"})
    answers = Answer(calls=(call,)), Answer(text="begun the-end", holds=(("the-end", go_on),))
    async with screen(environ, tmp_path, *answers) as page:
        try:
            await page.send("go")
            shown = await page.sees("begun")
            assert "Waiting for the model" not in shown
        finally:
            go_on.set()
        await page.sees("the-end")


@pytest.mark.slow
async def test_a_message_that_is_longer_than_the_row_has_a_second_one(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path, size=(60, 20)) as page:
        line = page.app.chat.query_one(ActivityLine)
        messages: tuple[tuple[Kind, str, str], ...] = (
            ("note", "No background commands", "the agent starts one for a server or a watcher"),
            ("note", "Shared live with the engine in the background (process 14128).", ""),
            ("failed", "no session ses_1234; it may be in the trash, see `opencode-tui session list`", ""),
        )
        for kind, words, facts in messages:
            page.app.chat.opened.show_note(kind, words, facts)
            await page.sees(words[:20])
            shown = " ".join(page.text().split())
            assert " ".join(f"{words} {facts}".split()) in shown and line.size.height == 2
            await page.resize(120, 20)
            assert line.size.height == 1
            await page.resize(60, 20)
        page.app.chat.opened.show_note("note", "Short", "and whole")
        await page.sees("Short  and whole")
        assert line.size.height == 1
