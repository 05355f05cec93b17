"""The open chat is built whole, and every action is a function of it."""

import inspect
import re
from pathlib import Path

import pytest

from opencode_tui.schema.api.keybinds import ACTIONS
from opencode_tui.tui.app import load_actions
from opencode_tui.tui.chat.chat import Chat, knows
from tests.support.terminal.screen import screen

EDITED = {"history_previous", "history_next"}
"""Actions of the chat's prompt that its box does."""


@pytest.mark.slow
async def test_no_attribute_of_an_open_chat_is_missing(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path, is_attached=False) as page:
        assert not page.app.chat.is_open
        page.app.attach(page.world.client)
        await page.sees("   normal   ")
        chat = page.app.chat.opened
        assert len(vars(chat)) > 20
        assert [name for name, value in vars(chat).items() if value is None] == []


def test_no_attribute_of_the_chat_is_optional() -> None:
    source = inspect.getsource(Chat)
    assert len(re.findall(r"\n        self\.\w+ = ", source)) > 20
    assert re.findall(r"\n +self\.\w+(?:: [^=\n]*None[^=\n]*)? = None\b|\n +self\.\w+: [^=\n]*\bNone\b", source) == []


def test_every_action_of_the_chat_has_one_function() -> None:
    chat = [action.id for action in ACTIONS if action.scope in ("app", "chat", "item")]
    assert len(load_actions().actions) > 10
    assert [name for name in chat if not knows(name)] == []
    written = [action.id for action in ACTIONS if action.scope == "prompt" and knows(action.id)]
    assert written == ["input_submit"]
