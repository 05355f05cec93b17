"""Keys that are typed before the engine is open do what they do at a complete screen: the same prompt and messages."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from textual import events

from opencode_tui.schema.api.request import CreateSession
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.part import TextPart
from opencode_tui.tui.options import StartOptions
from opencode_tui.tui.prompt.history import append_history
from tests.support.provider.model_script import Answer
from tests.support.terminal.screen import Page, screen
from tests.support.world.waiting import PATIENCE_S

PASTE = "paste"
END = "§"
"""Typed behind the keys of each case: what shows it has handled all of them."""

CASES = {
    "clear": ("word", "enter", "字", "ctrl+c", "x"),
    "earlier-prompt-first": ("up", "x", "enter", "y"),
    "paste": ("word", "enter", PASTE, "x"),
    "list-before-text": ("ctrl+p", "t", "h", "escape", "x"),
    "slash-command-chosen": ("slash", "t", "h", "e", "enter", "escape", "x"),
}
"""One of each way of a key: to the prompt, to the earlier prompts, as a paste, to a list, to the slash commands."""

MORE_CASES = {
    "clear-behind-moves": ("word", "enter", "a", "home", "ctrl+c", "x"),
    "interrupt-once": ("word", "enter", "ctrl+c", "x"),
    "clear-and-press-once": ("word", "enter", "a", "ctrl+c", "ctrl+c", "x"),
    "escape": ("word", "enter", "a", "escape", "b"),
    "delete-forward": ("word", "enter", "a", "b", "c", "home", "ctrl+d", "ctrl+d", "x"),
    "delete-all-forward": ("word", "enter", "a", "b", "c", "home", "ctrl+d", "ctrl+d", "ctrl+d", "x"),
    "earlier-prompt": ("word", "enter", "up", "x"),
    "to-the-start": ("word", "enter", "a", "b", "ctrl+u", "x"),
    "paste-before": (PASTE, "enter", "x", "ctrl+c", PASTE),
    "list-of-a-list": ("ctrl+p", *"themes", "enter", *"drac", "escape", "x"),
    "list-choice-of-a-theme": ("ctrl+p", *"themes", "enter", *"drac", "enter", "x"),
    "list-with-a-paste": ("ctrl+p", PASTE, "escape", "x"),
    "list-behind-a-prompt": ("word", "enter", "ctrl+p", "t", "h", "escape", "x"),
    "later-prompt": ("up", "up", "down", "x"),
    "help": ("question_mark", "q", "escape", "x"),
    "question-mark-in-a-text": ("a", "question_mark", "x"),
    "page-of-a-sequence": ("a", "ctrl+x", "g", "escape", "x"),
    "slash-command": ("slash", "h", "e", "l", "p", "enter", "escape", "x"),
    "slash-command-moved-to": ("slash", "t", "down", "up", "enter", "escape", "x"),
    "slash-command-behind-a-prompt": ("word", "enter", "slash", "t", "h", "e", "enter", "escape", "x"),
    "press-once": ("ctrl+c", "x"),
    "press-once-before-a-text": ("ctrl+c", PASTE, "ctrl+c", "x"),
    "empty-enter": ("enter", "ctrl+c", "word", "ctrl+c", "two"),
}


def deliver(page: Page, key: str) -> None:
    """Deliver a key or the paste as the terminal does."""
    driver = page.app._driver
    assert driver is not None
    if key == PASTE:
        driver.send_message(events.Paste("two words"))
    else:
        page._deliver(key)


async def sent(page: Page) -> set[str]:
    """Return the IDs of the prompts and their texts, of all sessions."""
    client = page.world.client
    return {
        f"{message.info.id} {part.text}"
        for session in await client.sessions.list()
        for message in await client.messages.list(session.id)
        for part in message.parts
        if isinstance(message.info, UserMessage) and isinstance(part, TextPart) and not part.synthetic
    }


async def result(page: Page, before: set[str], wanted: Sequence[str]) -> tuple[str, list[str]]:
    """Return the prompt when the last key is handled, and the texts that were sent; wait for the wanted ones."""
    deliver(page, "end")
    deliver(page, END)
    await page.sees(END)
    end = time.monotonic() + PATIENCE_S
    while len(texts := await sent(page) - before) < len(wanted) and time.monotonic() < end:
        await page.pilot.pause(0.05)
    return page.app.chat.prompt.editor.text, sorted(one.split(" ", 1)[1] for one in texts)


async def compare(environ: dict[str, str], folder: Path, tmp_path: Path, keys: Sequence[str]) -> None:
    """Type keys at a complete screen, then at one without an engine; compare the prompts and what was sent."""
    typed = [one for key in keys for one in (key if key == "word" else (key,))]
    messages = ["word"] if "word" in keys and keys.index("enter") == 1 else []
    found: list[tuple[str, list[str]]] = []
    for is_early in (False, True):
        state = tmp_path / f"state-{is_early}"
        state.mkdir()
        append_history(state / "prompt-history.jsonl", "earlier")
        options = StartOptions(folder, state=state)
        async with screen(environ, folder, Answer(text="One."), options=options, is_attached=not is_early) as page:
            before = await sent(page)
            for key in typed:
                deliver(page, key)
                if not is_early:
                    await page._settle()
            if is_early:
                await page.pilot._wait_for_screen()
                page.app.attach(page.world.client)
            found.append(await result(page, before, found[0][1] if found else messages))
    assert found[0] == found[1]


@pytest.mark.fast_cases("slash-command-chosen")
@pytest.mark.parametrize("keys", CASES.values(), ids=CASES)
async def test_keys_before_the_engine_is_open_do_what_they_do_later(
    environ: dict[str, str], folder: Path, tmp_path: Path, keys: Sequence[str]
) -> None:
    await compare(environ, folder, tmp_path, keys)


@pytest.mark.slow
@pytest.mark.parametrize("keys", MORE_CASES.values(), ids=MORE_CASES)
async def test_other_keys_do_too(environ: dict[str, str], folder: Path, tmp_path: Path, keys: Sequence[str]) -> None:
    await compare(environ, folder, tmp_path, keys)


@pytest.mark.slow
async def test_the_key_that_quits_is_pressed_twice_before_the_engine_is_open(
    environ: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    async with screen(environ, folder, options=StartOptions(folder, state=tmp_path), is_attached=False) as page:
        await page.pilot._wait_for_screen()
        page.app.chat._opening.show_wait("Opening work", 3)
        deliver(page, "ctrl+c")
        await page.sees("ctrl+c again to quit")
        deliver(page, "left")
        await page.sees("ctrl+c quit")
        deliver(page, "ctrl+c")
        deliver(page, "ctrl+c")
        await page.ends()


@pytest.mark.parametrize("key", ["ctrl+c", "ctrl+d"])
@pytest.mark.parametrize("is_continued", [False, True], ids=["start-page", "session"])
async def test_the_key_that_quits_is_pressed_once_before_the_engine_is_open_and_once_after(
    environ: dict[str, str], folder: Path, tmp_path: Path, key: str, is_continued: bool
) -> None:
    options = StartOptions(folder, state=tmp_path, is_continued=is_continued)
    async with screen(environ, folder, options=options, is_attached=False) as page:
        await page.world.client.sessions.create(CreateSession(title="Earlier"))
        await page.pilot._wait_for_screen()
        page.app.chat._opening.show_wait("Opening work", 3)
        deliver(page, key)
        await page.sees(f"{key} again to quit")
        page.app.attach(page.world.client)
        await page.sees_no_more("Opening work")
        await page.sees(f"{key} again to quit")
        deliver(page, key)
        await page.ends()


async def test_another_key_after_the_engine_is_open_ends_the_first_press_before(
    environ: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    async with screen(environ, folder, options=StartOptions(folder, state=tmp_path), is_attached=False) as page:
        await page.pilot._wait_for_screen()
        page.app.chat._opening.show_wait("Opening work", 3)
        deliver(page, "ctrl+d")
        await page.sees("ctrl+d again to quit")
        page.app.attach(page.world.client)
        await page.sees_no_more("Opening work")
        await page.sees("ctrl+d again to quit")
        deliver(page, "x")
        await page.sees_no_more("again to quit")
