"""Characters that arrive in one read, as from dictation or another program, do what they do one by one."""

from pathlib import Path

import pytest
from textual import events

from opencode_tui.tui.keys.key_run import KeyRun, with_runs
from opencode_tui.tui.terminal_input import KeyParser
from tests.support.rows import each
from tests.support.terminal.screen import Page, screen

TYPED = (
    "fix the tests",
    "a?b/c#d ! e",
    "see @src and 日本 text",
    "!ls -la",
    "two\x1b\rlines\x1b\nof text",
    "word \x1b[D\x1b[Dx end",
    "a" * 300,
)


def deliver(page: Page, read: str, *, is_together: bool) -> None:
    """Deliver what a terminal sent, as the thread that reads it does."""
    driver = page.app._driver
    assert driver is not None
    parser = KeyParser()
    keys = [*parser.feed(read), *parser.tick()]
    for event in with_runs(keys) if is_together else keys:
        driver.send_message(event)


async def text_of(page: Page) -> str:
    await page._settle()
    return page.app.chat.prompt.editor.text


@pytest.mark.slow
@each("typed", TYPED)
async def test_text_typed_in_one_read_is_what_it_is_key_by_key(
    environ: dict[str, str], folder: Path, typed: str
) -> None:
    async with screen(environ, folder) as page:
        found: list[str] = []
        for is_together in (False, True):
            deliver(page, typed, is_together=is_together)
            found.append(await text_of(page))
            await page.press("ctrl+c")
        assert found[0] == found[1] != ""


@pytest.mark.slow
async def test_a_thousand_characters_are_inserted_in_few_changes(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        editor = page.app.chat.prompt.editor
        changes: list[str] = []
        insert = editor.put_in
        editor.put_in = lambda text: (changes.append(text), insert(text))[1]
        text = "The parser drops the last row. " * 33
        deliver(page, text, is_together=True)
        assert await text_of(page) == text
        assert len(changes) < 10


async def test_keys_with_an_action_stay_between_the_characters(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        deliver(page, "first prompt\rsecond", is_together=True)
        await page.sees("▎ first prompt")
        assert await text_of(page) == "second"


def test_only_neighboring_characters_become_a_run() -> None:
    keys = [events.Key(one, one if len(one) == 1 else None) for one in ("a", "b", "up", "c")]
    read = [*with_runs(keys)]
    assert [one.keys if isinstance(one, KeyRun) else one for one in read] == [keys[:2], *keys[2:]]


async def test_what_is_typed_behind_a_large_paste_comes_behind_its_marker(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder) as page:
        driver = page.app._driver
        assert driver is not None
        driver.send_message(events.Paste("line\n" * 3_000))
        deliver(page, " QUESTION", is_together=True)
        text = await text_of(page)
        assert text.startswith("[Pasted 3000 lines]") and text.endswith(" QUESTION")
