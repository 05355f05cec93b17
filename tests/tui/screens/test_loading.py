"""What is typed while a page or a session loads is for what is shown then, in its order; a wait of more than 0.3 s is named."""

import asyncio
from pathlib import Path

import pytest

from opencode_tui.schema.api.request import CreateSession
from opencode_tui.tui.chat import chat as chat_module
from opencode_tui.tui.options import StartOptions
from tests.support.provider.model_script import Answer
from tests.support.terminal.screen import Page, screen
from tests.support.world.waiting import until


def typed_at_once(page: Page, *keys: str) -> None:
    """Deliver keys as a terminal does that was held up: nothing is handled between them."""
    for key in keys:
        page._deliver(key)


@pytest.mark.slow_cases(
    "keys2-file 1 of 1",
    "keys4-Always allowed in this project",
    "keys5-worktree",
    "keys1-compacts at",
    "keys3-Cost",
    "keys0-Timeline  ",
)
@pytest.mark.parametrize(
    ("keys", "title"),
    [
        (("ctrl+x", "g"), "Timeline  "),
        (("ctrl+x", "i"), "compacts at"),
        (("ctrl+x", "d"), "file 1 of 1"),
        ((*tuple("/cost"), "enter"), "Cost"),
        ((*tuple("/permissions"), "enter"), "Always allowed in this project"),
        ((*tuple("/status"), "enter"), "worktree"),
    ],
)
async def test_keys_behind_one_that_opens_a_page_are_for_the_page(
    environ: dict[str, str], folder: Path, keys: tuple[str, ...], title: str
) -> None:
    async with screen(environ, folder, Answer(text="One."), size=(120, 34)) as page:
        await page.send("!echo x > new.md")
        await page.sees("Done")
        await page.send("say one")
        await page.sees("One.")
        await page.sees("Done")
        typed_at_once(page, *keys, "j", "j", "k")
        await page.sees(title)
        await page.press("escape")
        await page.sees("Ask anything")
        assert page.app.chat.prompt.editor.text == ""
        typed_at_once(page, *keys, "q", *"typed on")
        await page.sees("▎ typed on")
        assert page.app.screen is page.app.chat


@pytest.mark.slow
async def test_a_wait_that_ends_while_the_screen_is_busy_is_not_shown_for_good(
    environ: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_module, "SHOWN_AFTER_S", 0.01)
    async with screen(environ, folder) as page:
        chat, is_free = page.app.chat.opened, asyncio.Event()
        chat.screen.call_later(is_free.wait)  # what the timer sends waits behind this
        try:
            with chat.waiting("Loading a thing"):
                await asyncio.sleep(0.1)
        finally:
            is_free.set()
        await page.type("x")
        assert "Loading" not in await page.sees("x", timeout=20)


@pytest.mark.slow
async def test_a_prompt_sent_right_behind_the_choice_of_a_session_is_for_that_session(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, Answer(text="Here."), size=(120, 34)) as page:
        wanted = await page.world.client.sessions.create(CreateSession(title="The wanted one"))
        await page.press("ctrl+x", "l")
        await page.sees("Type to filter")
        await page.sees("The wanted one")
        typed_at_once(page, "enter", *"hello", "enter")
        await page.sees("Here.")
        assert page.session_id == wanted.id


@pytest.mark.slow
async def test_escape_ends_the_wait_for_a_page_and_drops_what_was_typed_for_it(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, Answer(text="One."), size=(120, 34)) as page:
        await page.send("say one")
        await page.sees("Done")
        chat, ended = page.app.chat.opened, asyncio.Event()

        async def never() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        chat.load_page("Loading the timeline", never())
        typed_at_once(page, "r", "x")
        row = next(line for line in (await page.sees("Loading the timeline")).splitlines() if "Loading" in line)
        assert row.endswith("esc cancel")
        await page.press("escape")
        await ended.wait()
        await page.sees_no_more("Loading the timeline")
        await page.press("y")
        await page.sees("▎ y")
        assert chat.prompt.editor.text == "y"


@pytest.mark.fast_cases("/costenter")
@pytest.mark.parametrize("keys", [("ctrl+x", "g"), ("ctrl+x", "i"), (*tuple("/cost"), "enter")], ids="".join)
async def test_escape_right_behind_a_key_that_opens_a_page_leaves_the_keys_to_the_prompt(
    environ: dict[str, str], folder: Path, keys: tuple[str, ...]
) -> None:
    async with screen(environ, folder, Answer(text="One."), size=(120, 34)) as page:
        await page.send("say one")
        await page.sees("Done")
        typed_at_once(page, *keys, "escape", *"typed on")
        await page.sees("▎ typed on")
        assert page.app.screen is page.app.chat


async def test_a_wait_that_is_ended_before_it_begins_keeps_no_keys(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, size=(120, 34)) as page:
        begun: list[str] = []

        async def load() -> None:
            begun.append("begun")

        async def load_and_cancel() -> None:
            page.app.chat.opened.load_page("Loading the timeline", load())
            hold = page.app.router._hold
            assert hold is not None and hold.cancel is not None
            hold.cancel()

        await load_and_cancel()
        await page.type("typed on")
        await page.sees("▎ typed on")
        assert begun == []


@pytest.mark.slow
async def test_a_key_that_quits_is_not_kept_for_a_session_that_loads_at_the_start(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, size=(120, 34)) as page:
        release = page.app.hold_until_shown(lets_type=True)
        typed_at_once(page, "home", "ctrl+c")
        await page.sees("again to quit")
        release()


@pytest.mark.slow
async def test_a_screen_that_starts_with_the_list_of_sessions_gives_it_what_was_typed_before(
    environ: dict[str, str], folder: Path
) -> None:
    options = StartOptions(folder, is_choosing=True)
    async with screen(environ, folder, size=(120, 34), options=options, is_attached=False) as page:
        await page.world.client.sessions.create(CreateSession(title="Another one"))
        wanted = await page.world.client.sessions.create(CreateSession(title="The wanted one"))
        typed_at_once(page, *"wanted")
        page.app.attach(page.world.client)
        await page.sees("▎ wanted")
        typed_at_once(page, "enter")
        await page.sees("Ask anything")
        assert page.session_id == wanted.id


@pytest.mark.slow
async def test_what_is_typed_behind_the_key_that_sends_is_not_sent_with_it(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, Answer(text="Well.")) as page:
        await page.send("begin")
        await page.sees("✓ Done")
        await page.type("/stat")  # the list completes it
        await page.sees("/status")
        typed_at_once(page, "enter", *"qbehind")  # `q` closes the page
        assert await prompt_of(page) == "behind"
        page.app.chat.prompt.editor.put("")
        await page.send("/rename")
        await page.sees("enter rename")
        typed_at_once(page, *" more", "enter", *"next")
        assert await prompt_of(page) == "next"
        titles = [one.title for one in await page.world.client.sessions.list()]
        assert any(title.endswith(" more") for title in titles)
        assert "next" not in " ".join(titles)


@pytest.mark.slow
async def test_a_list_for_an_older_text_completes_nothing(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.type("/stat")
        await page.sees("/status")
        typed_at_once(page, *"ute", "enter")
        await page.sees("Unknown command /statute")
        assert page.app.chat.prompt.editor.text == "/statute"


async def prompt_of(page: Page) -> str:
    """Return the text of the prompt, once it is shown again and nothing is loaded."""
    await page._settle()
    await until(lambda: page.app.router._hold is None and page.app.router._kept is None)
    await page._settle()
    assert page.app.screen is page.app.chat
    return page.app.chat.prompt.editor.text
