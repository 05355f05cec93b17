"""What is written to an agent in a panel is not lost: not by escape, not when the question is answered in another terminal."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import Page, screen

ASK = {"permission": {"bash": "ask"}}
RUN = Answer(calls=(Call("bash", {"command": "true", "description": "try"}),))
OPTIONS = [{"label": "One", "description": "a"}, {"label": "Two", "description": "b"}]
QUESTIONS = [{"question": f"Which {name}?", "header": "H", "options": OPTIONS} for name in ("disk", "net")]
CHOOSE = Answer(calls=(Call("question", {"questions": QUESTIONS}),))
SO = Answer(text="So be it.")
ENDED = "The question has ended  what you wrote is in the prompt"


async def allow(page: Page) -> None:
    """Answer the permission question as another terminal does."""
    (request,) = await page.world.client.permissions.pending()
    await page.world.client.permissions.reply(request.id, "once")


async def choose(page: Page) -> None:
    """Answer the questions as another terminal does."""
    (request,) = await page.world.client.questions.pending()
    await page.world.client.questions.reply(request.id, [["One"], ["Two"]])


async def abort(page: Page) -> None:
    """Stop the turn as another terminal does."""
    await page.world.client.prompts.abort(page.session_id or "")


async def write(page: Page, key: str, title: str, words: str) -> None:
    """Open the panel for a text, and write there."""
    await page.answer(key)
    await page.sees(title)
    await page.type(words)
    await page.sees(words)


REASON, ANSWER = "what should the agent do instead?", "Type your answer"


@pytest.mark.fast_cases("answer, answered")
@pytest.mark.parametrize(
    ("asks", "key", "title", "end"),
    [
        (RUN, "n", REASON, allow),
        (RUN, "n", REASON, abort),
        (CHOOSE, "w", ANSWER, choose),
        (CHOOSE, "w", ANSWER, abort),
    ],
    ids=["reason, allowed", "reason, stopped", "answer, answered", "answer, stopped"],
)
async def test_what_is_written_for_a_question_that_ends_elsewhere_is_in_the_prompt(
    environ: dict[str, str],
    folder: Path,
    asks: Answer,
    key: str,
    title: str,
    end: Callable[[Page], Awaitable[None]],
) -> None:
    async with screen(environ, folder, asks, SO, settings=ASK) as page:
        await page.send("go")
        await page.sees("Waiting for your")
        await write(page, key, title, "not so fast")
        await end(page)
        await page.sees_no_more(title)
        assert page.app.chat.prompt.editor.text == "not so fast"
        await page.type(", please")
        assert page.app.chat.prompt.editor.text == "not so fast, please"


@pytest.mark.slow
async def test_what_was_in_the_prompt_is_behind_it(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, RUN, SO, settings=ASK) as page:
        await page.send("go")
        await page.sees("Waiting for your approval")
        page.app.chat.prompt.editor.put("and then this")
        await write(page, "n", REASON, "not so fast")
        await allow(page)
        await page.sees(ENDED)
        assert page.app.chat.prompt.editor.text == "not so fast\nand then this"


@pytest.mark.fast_cases("reason")
@pytest.mark.parametrize(
    ("asks", "key", "title"), [(RUN, "n", REASON), (CHOOSE, "w", ANSWER)], ids=["reason", "answer"]
)
async def test_escape_keeps_what_is_written_for_the_next_time(
    environ: dict[str, str], folder: Path, asks: Answer, key: str, title: str
) -> None:
    async with screen(environ, folder, asks, SO, settings=ASK) as page:
        await page.send("go")
        await page.sees("Waiting for your")
        await write(page, key, title, "not so fast")
        await page.press("escape")
        await page.sees_no_more(title)
        await page.press(key)
        await page.sees("not so fast")
        await page.press("ctrl+u", "escape")  # what is erased is not there again
        await page.sees_no_more(title)
        await page.press(key)
        assert "not so fast" not in await page.sees(title)
        assert page.app.chat.prompt.editor.text == ""


@pytest.mark.slow
async def test_a_reason_that_is_sent_after_escape_reaches_the_model(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, RUN, SO, settings=ASK) as page:
        await page.send("go")
        await page.sees("Waiting for your approval")
        await write(page, "n", REASON, "not so fast")
        await page.press("escape", "n")
        await page.sees("not so fast")
        await page.press("enter")
        await page.sees("So be it.")
        assert "not so fast" in page.world.sent()
        assert page.app.chat.prompt.editor.text == ""


@pytest.mark.slow
async def test_the_answer_of_the_first_question_is_not_begun_for_the_second(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, CHOOSE, SO) as page:
        await page.send("go")
        await page.sees("Which disk?")
        await write(page, "w", ANSWER, "the third one")
        await page.press("enter")
        await page.sees("Which net?")
        await page.answer("w")
        assert "the third one" not in await page.sees(ANSWER)
        await page.type("none")
        await page.press("enter")
        await page.sees("So be it.")
        assert page.app.chat.prompt.editor.text == ""


async def test_a_rule_is_no_text_for_the_prompt(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, RUN, SO, settings=ASK) as page:
        await page.send("go")
        await page.sees("Waiting for your approval")
        await write(page, "e", "Always allow in this project", " xyz")
        await allow(page)
        await page.sees("So be it.")
        assert page.app.chat.prompt.editor.text == ""
