"""From the first key to the answer, with the real engine."""

import asyncio
from pathlib import Path

import pytest

from opencode_tui.tui.dialogs.panel import Panel
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import screen
from tests.support.world.waiting import until


async def test_an_answer_streams_and_the_turn_is_summed_up(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path, Answer(text="Hello there.")) as page:
        await page.type("hi you")
        await page.press("enter")
        await page.sees("Hello there.")
        text = await page.sees("Done")
        assert "hi you" in text


async def test_a_call_waits_for_the_person_and_runs_after_y(environ: dict[str, str], tmp_path: Path) -> None:
    asks = {"permission": {"bash": "ask"}}
    call = Call("bash", {"command": "touch made", "description": "x"})
    async with screen(environ, tmp_path, Answer(calls=(call,)), Answer(text="Made it."), settings=asks) as page:
        await page.send("make it")
        await page.sees("Run this command?")
        await page.sees("touch made")
        await page.answer("y")
        await page.sees("Made it.")
        assert (tmp_path / "made").exists()


async def test_a_key_typed_while_a_question_appears_answers_nothing_and_is_kept(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = {"permission": {"bash": "ask"}}
    call = Call("bash", {"command": "touch made", "description": "x"})
    async with screen(environ, tmp_path, Answer(calls=(call,)), settings=asks) as page:
        with monkeypatch.context() as held:
            held.setattr("opencode_tui.tui.dialogs.panel.OPENING_MS", 3_600_000)  # however late the key is
            await page.send("make it")
            await page.sees("Run this command?")
            await page.press("y")
            await until(lambda: page.app.chat.prompt.editor.text == "y")
        assert len(await page.world.client.permissions.pending()) == 1
        await page.answer("enter")
        assert len(await page.world.client.permissions.pending()) == 1


@pytest.mark.slow
async def test_a_question_hears_keys_once_it_was_there_for_a_moment(environ: dict[str, str], tmp_path: Path) -> None:
    asks = {"permission": {"bash": "ask"}}
    call = Call("bash", {"command": "touch made", "description": "x"})
    async with screen(environ, tmp_path, Answer(calls=(call,)), Answer(text="Made it."), settings=asks) as page:
        await page.send("make it")
        await page.sees("Run this command?")
        panel = page.app.focused
        assert isinstance(panel, Panel)
        while panel.is_guarded:
            await asyncio.sleep(0.02)
        await page.press("y")
        await page.sees("Made it.")


@pytest.mark.slow
async def test_escape_cancels_what_a_key_has_asked_for_at_once_and_a_typed_ahead_yes_does_not_count(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with screen(environ, tmp_path, Answer(text="Said.")) as page:
        await page.send("say it")
        await page.sees("Said.")
        monkeypatch.setattr("opencode_tui.tui.dialogs.panel.OPENING_MS", 3_600_000)
        await page.press("ctrl+x", "u")
        await page.sees("Undo from here?")
        await page.press("y")
        await until(lambda: page.app.chat.prompt.editor.text == "y")
        assert "Undo from here?" in page.text()
        await page.press("escape")
        await page.sees_no_more("Undo from here?")
        assert "Said." in page.text()


@pytest.mark.slow
async def test_escape_answers_no_question_of_the_agent_before_it_listens(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = {"permission": {"bash": "ask"}}
    call = Call("bash", {"command": "touch made", "description": "x"})
    async with screen(environ, tmp_path, Answer(calls=(call,)), settings=asks) as page:
        monkeypatch.setattr("opencode_tui.tui.dialogs.panel.OPENING_MS", 3_600_000)
        await page.send("make it")
        await page.sees("Run this command?")
        await page.press("escape")
        await page.press("x")
        await until(lambda: page.app.chat.prompt.editor.text == "x")
        assert len(await page.world.client.permissions.pending()) == 1
