"""No name of `keybinds` is forgotten: each one is an act, or is told to be none."""

from pathlib import Path

import pytest

from opencode_tui.config.check.keybinds import ACTIONS as KNOWN
from opencode_tui.config.check.keybinds import UNSUPPORTED_ACTIONS
from opencode_tui.schema.api.keybinds import ACTIONS, BY_ID, MAIN_SCOPES
from opencode_tui.tui.chat.chat import knows
from tests.support.terminal.screen import screen

RECALLED = {"history_previous", "history_next"}
"""Done by the prompt's box."""


def test_every_name_that_the_settings_know_is_bound_or_told_to_be_none() -> None:
    assert {*BY_ID, "leader"} == KNOWN - UNSUPPORTED_ACTIONS
    assert UNSUPPORTED_ACTIONS <= KNOWN


@pytest.mark.slow
async def test_every_bound_name_does_something(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path) as page:
        chat = page.app.chat
        chat.prompt.editor.put("text")
        idle = [
            one.id
            for one in ACTIONS
            if one.scope in {*MAIN_SCOPES, "item"}
            and not knows(one.id)
            and not chat.prompt.editor.can(one.id)
            and one.id not in RECALLED
        ]
        assert idle == []


@pytest.mark.slow
async def test_a_name_without_an_act_is_told_once(environ: dict[str, str], tmp_path: Path) -> None:
    keys = {"username_toggle": "ctrl+s", "tips_toggle": "none", "prompt_stash": "ctrl+o"}
    async with screen(environ, tmp_path, settings={"keybinds": keys}) as page:
        notices = await page.world.client.settings.notices()
        told = [one for one in notices.warnings if "keybinds" in one]
        assert len(told) == 1
        assert "keybinds.username_toggle" in told[0] and "not available here" in told[0]
