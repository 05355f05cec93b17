"""The question whether to build a finished plan."""

from pathlib import Path
from typing import Any

import pytest

from opencode_tui.tui.app import OpenCodeApp, load_actions
from opencode_tui.tui.options import StartOptions
from tests.support.hostile.strings import HOSTILE, steering
from tests.support.terminal.conversation import NOON, SESSION
from tests.support.terminal.screen import Page, look
from tests.support.terminal.scripted_client import Script, ScriptedClient, as_client
from tests.tui.screens.test_looks import asks_to_build

pytestmark = pytest.mark.usefixtures("jumping_clock")


def _with_plan(folder: Path, text: str) -> Path:
    """Write the plan into a folder and return it."""
    file = folder / ".opencode" / "plans" / "rows.md"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return folder


async def _panel(script: Script, keys: list[str], sees: str) -> tuple[str, list[Any]]:
    """Show the question and press keys; return the screen before them, and the answers."""
    load_actions()
    client = ScriptedClient(script)
    answers: list[Any] = []
    client.questions.answer(reply=lambda _id, given: answers.append(given) or True)
    app = OpenCodeApp(StartOptions(script.directory, session_id=SESSION), look(), clock=lambda: NOON / 1000)
    async with app.run_test(size=(110, 34)) as pilot:
        app.attach(as_client(client))
        page = Page(app, pilot, world=None)  # pyright: ignore[reportArgumentType] - nothing here asks for the engine
        text = await page.sees("Plan ready. Start building?")
        await pilot.pause(0.6)
        await page.answer(*keys)
        await page.sees(sees)
        return text, answers


@pytest.mark.fast_cases("keys0-Yes")
@pytest.mark.parametrize(
    ("keys", "answer"), [(["y"], "Yes"), (["k", "enter"], "No"), (["k", *"less", "enter"], "less")]
)
async def test_the_keys_answer_with_the_labels_of_the_question_or_with_words(
    keys: list[str], answer: str, tmp_path: Path
) -> None:
    script = asks_to_build()
    script.directory = _with_plan(tmp_path, script.plan)
    text, answers = await _panel(script, keys, "Plan a fix")
    assert "3 files, 4 steps" in text and "src/csvkit/parser.py +1" in text
    assert answers == [[[answer]]]


@pytest.mark.slow
async def test_the_plan_is_edited_in_the_editor_and_shown_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = asks_to_build()
    script.directory = _with_plan(tmp_path, script.plan)
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho '1. Only this' > \"$1\"\n")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.setattr(OpenCodeApp, "suspend", lambda _self: _NOTHING)
    text, answers = await _panel(script, ["e"], "Only this")
    assert "e edit the plan in your editor" in text and answers == []


async def test_no_plan_steers_the_terminal(tmp_path: Path) -> None:
    script = asks_to_build()
    plan = "\n".join(f"1. {text} `{text}.py`" for text in HOSTILE)
    script.directory = _with_plan(tmp_path, plan)
    text, _ = await _panel(script, [], "Plan ready")
    assert steering(text) == []


class _Nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


_NOTHING = _Nothing()
