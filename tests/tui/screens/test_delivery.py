"""Messages that are sent during a turn: they steer it, or they are queued for after it."""

import json
import threading
from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer
from tests.support.terminal.screen import Page, screen

pytestmark = pytest.mark.slow


async def start_turn(page: Page) -> None:
    """Start a turn that lasts longer than the test."""
    await page.send("<<words 4000>> <<slow 30>>")
    await page.sees("word3")


async def test_a_queued_message_waits_above_the_prompt_and_is_sent_after_the_turn(
    environ: dict[str, str], folder: Path
) -> None:
    is_queued = threading.Event()
    held = Answer(text="word1 word2 word3", holds=(("word3", is_queued),))
    async with screen(environ, folder, held, settings={"tui": {"delivery": "queue"}}) as page:
        await page.send("begin")
        await page.sees("word2")
        await page.sees("ctrl+x j steer")
        await page.send("and then this")
        text = await page.sees("next turn  and then this")
        assert "send now" in text and "▎ and then this" not in text
        is_queued.set()
        text = await page.sees("Echo: and then this")
        assert "next turn" not in text
        assert text.index("word3") < text.index("▎ and then this") < text.index("Echo: and then this")
        sent = [json.dumps(body["messages"][1:]) for body in page.world.server.bodies]
        assert "The user sent the following message" not in sent[-1]


async def test_a_key_switches_between_steering_and_queueing(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await start_turn(page)
        await page.sees("ctrl+x j queue")
        await page.press("ctrl+x", "j")
        await page.sees("ctrl+x j steer")
        await page.press("ctrl+x", "j")
        await page.sees("Messages steer the turn")


async def test_enter_in_an_empty_prompt_sends_the_queued_message_at_once(environ: dict[str, str], folder: Path) -> None:
    slow = Answer(text=" ".join(f"word{n}" for n in range(500)), delay_ms=20)
    async with screen(environ, folder, slow, Answer(text="changed course")) as page:
        await page.press("ctrl+x", "j")
        await page.send("begin")
        await page.sees("word3")
        await page.send("stop, do this")
        await page.sees("next turn  stop, do this")
        await page.press("enter")
        text = await page.sees("changed course")
        assert "word499" not in text and "next turn" not in text
        assert "▎ stop, do this" in text


async def test_an_interrupted_turn_gives_queued_messages_back(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, settings={"tui": {"delivery": "queue"}}) as page:
        await start_turn(page)
        await page.send("second")
        await page.sees("next turn  second")
        await page.send("third")
        await page.sees("next turn  third")
        await page.press("escape", "escape")
        await page.sees("Interrupted")
        await page.sees_no_more("next turn")
        assert page.app.chat.prompt.editor.text == "second\nthird"
        assert "third" not in json.dumps([body["messages"] for body in page.world.server.bodies])


async def test_an_interrupted_turn_gives_a_message_back_that_was_to_steer_it(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder) as page:
        await start_turn(page)
        await page.send("please use tabs")
        await page.sees("queued")
        await page.press("escape", "escape")
        await page.sees("■ Interrupted")
        text = await page.sees_no_more("queued")
        assert page.app.chat.prompt.editor.text == "please use tabs" and text.count("please use tabs") == 1
        assert "please use tabs" not in json.dumps([body["messages"] for body in page.world.server.bodies])


async def test_a_queued_message_is_edited_and_many_are_counted(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, settings={"tui": {"delivery": "queue"}}) as page:
        await start_turn(page)
        for number in range(5):
            await page.send(f"message {number}")
        text = await page.sees("and 2 more")
        assert "next turn  message 0" in text and "message 4" not in text
        await page.press("ctrl+x", "k")
        await page.sees("and 1 more")
        assert page.app.chat.prompt.editor.text == "message 4"
