"""An undo does what its question showed. What came while it was asked, such as a turn of another terminal, is asked about again."""

from pathlib import Path

import pytest

from opencode_tui.schema.api.request import PromptInput, TextInput
from opencode_tui.schema.model import ModelRef
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import Page, screen

SIZE = (120, 40)
MODEL = ModelRef(provider_id="fake", model_id="fake-model")
CHANGED = "the session has changed, and more would be undone now"


def write(name: str, text: str = "x\n") -> tuple[Answer, Answer]:
    """Return the answers of a turn that writes a file."""
    return Answer(calls=(Call("write", {"filePath": name, "content": text}),)), Answer(text=f"Wrote {name}.")


async def prompt_elsewhere(page: Page, text: str, session_id: str | None = None) -> None:
    """Send a prompt to its end as another terminal does."""
    given = PromptInput(model=MODEL, parts=[TextInput(text=text)])
    await page.world.client.prompts.prompt(session_id or page.session_id or "", given)


async def ask(page: Page, *keys: str) -> None:
    """Let the agent write a file, and ask for the undo of that."""
    await page.send("write it")
    await page.sees("Wrote a.md.")
    await page.sees("Done")
    await page.press(*(keys or ("ctrl+x", "u")))
    assert "Removes 1 prompt" in await page.sees("Undo from here?")


@pytest.mark.fast_cases("f")
@pytest.mark.parametrize("key", ["y", "c", "f"])
async def test_a_turn_that_came_meanwhile_is_not_undone_unasked(
    environ: dict[str, str], folder: Path, key: str
) -> None:
    async with screen(environ, folder, *write("a.md"), *write("b.md"), size=SIZE) as page:
        await ask(page)
        await prompt_elsewhere(page, "and another")
        await page.answer(key)
        text = await page.sees(CHANGED)
        assert "Undo from here?" in text and "Removes 2 prompts" in text and "b.md" in text
        assert (folder / "a.md").exists() and (folder / "b.md").exists()
        await page.answer("escape")
        await page.sees_no_more("Undo from here?")
        assert (folder / "a.md").exists() and (folder / "b.md").exists()
        messages = await page.world.client.messages.list(page.session_id or "")
        assert len([one for one in messages if one.info.role == "user"]) == 2


@pytest.mark.slow
async def test_the_second_question_undoes_what_it_shows(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, *write("a.md"), *write("b.md"), size=SIZE) as page:
        await ask(page)
        await prompt_elsewhere(page, "and another")
        await page.answer("y")
        await page.sees(CHANGED)
        await page.answer("y")
        await page.sees("messages undone")
        assert not (folder / "a.md").exists() and not (folder / "b.md").exists()


@pytest.mark.slow
async def test_a_turn_without_changes_that_came_meanwhile_is_asked_about_too(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, *write("a.md"), Answer(text="Only words."), size=SIZE) as page:
        await ask(page)
        await prompt_elsewhere(page, "say something")
        await page.answer("y")
        assert "Removes 2 prompts" in await page.sees(CHANGED)
        assert (folder / "a.md").exists()


@pytest.mark.slow
async def test_an_undo_from_the_timeline_is_asked_about_again_too(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, *write("a.md"), *write("b.md"), size=SIZE) as page:
        await page.send("write it")
        await page.sees("Wrote a.md.")
        await page.sees("Done")
        await page.press("ctrl+x", "g")
        await page.sees("revert to here")
        await page.press("home", "r")
        await page.sees("Undo from here?")
        await prompt_elsewhere(page, "and another")
        await page.answer("y")
        await page.sees(CHANGED)
        assert (folder / "b.md").exists()


@pytest.mark.fast_cases("nothing")
@pytest.mark.parametrize("what", ["nothing", "an edit of yours", "a turn of another session"])
async def test_what_the_undo_does_not_change_is_not_asked_about_again(
    environ: dict[str, str], folder: Path, what: str
) -> None:
    async with screen(environ, folder, *write("a.md"), *write("b.md"), size=SIZE) as page:
        await ask(page)
        if what == "an edit of yours":
            (folder / "a.md").write_text("mine\n")
        elif what == "a turn of another session":
            await prompt_elsewhere(page, "and another", (await page.world.new_session()).id)
        await page.answer("y")
        text = await page.sees("messages undone")
        assert CHANGED not in text
        assert (folder / "a.md").exists() == (what == "an edit of yours")
        assert (folder / "b.md").exists() == (what == "a turn of another session")


@pytest.mark.slow
async def test_a_redo_that_would_restore_more_by_now_is_asked_about_again(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, *write("a.md"), size=SIZE) as page:
        await ask(page)
        await page.answer("y")
        await page.sees("messages undone")
        (folder / "a.md").write_text("mine\n")
        await page.press("ctrl+u", "ctrl+x", "r")
        await page.sees("Redo?")
        (folder / "a.md").unlink()
        await page.answer("y")
        assert "Redo?" in await page.sees("more would be restored now")
        assert not (folder / "a.md").exists()
        await page.answer("y")
        await page.sees("Restored")
        assert (folder / "a.md").read_text() == "x\n"
