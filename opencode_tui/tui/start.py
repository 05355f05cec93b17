"""The first minutes: settings and keys in force, the session that was asked for, what stands ready in the prompt."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from opencode_tui.schema.project import Places
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.request import ForkSession
from opencode_tui.tui.control import Control
from opencode_tui.tui.conversation.wheel import LINES, Wheel
from opencode_tui.tui.prompt.history import read_history
from opencode_tui.tui.theme.glyphs import ASCII
from opencode_tui.tui.theme.themes import Themes, theme_folders

if TYPE_CHECKING:
    from opencode_tui.tui.app import OpenCodeApp
    from opencode_tui.tui.screens.chat import ChatScreen

EXAMPLES = ("create notes.md with a plan", "find TODO in this project", "list the files here")
"""What the demo model can do, as prompts that `up` brings; the first one is the last."""


async def begin(screen: "ChatScreen", control: Control) -> None:
    """Make the screen as the settings want it, and open what the command line asked for. Raises OpencodeError."""
    places = await put_in_force(screen, control)
    await control.start(screen.options)
    if screen.options.is_forked and control.session_id is not None:
        made = await control.client.sessions.fork(control.session_id, ForkSession())
        await control.open(made.id)
    await _prepare_prompt(screen, control, screen.options.state or Path(places.state))
    screen.show_conversation()
    screen.do(_finish(screen, control))


async def put_in_force(screen: "ChatScreen", control: Control) -> Places:
    """Make keys, themes and signs those of the settings; returns the folder's places. Raises OpencodeError."""
    app = cast("OpenCodeApp", screen.app)
    settings = await control.client.settings.effective()
    app.use_keys(_keybinds(settings))
    places = await control.client.project.places()
    own = os.environ.get("OPENCODE_CONFIG_DIR") if screen.options.server is None else None
    app.themes = await asyncio.to_thread(Themes, theme_folders(places, own))
    tui = settings.get("tui")
    wishes = cast("JsonObject", tui) if isinstance(tui, dict) else {}
    if wishes.get("reduced_motion") or wishes.get("ascii"):
        glyphs = ASCII if wishes.get("ascii") else app.look.glyphs
        app.wear(replace(app.look, glyphs=glyphs, is_still=bool(wishes.get("reduced_motion"))))
    control.wheel = _wheel(wishes)
    screen.prompt.editor.writes_out_pastes = _writes_out_pastes(settings)
    control.is_stacked = wishes.get("diff_style") == "stacked"
    theme = settings.get("theme")
    if isinstance(theme, str):
        app.wear_theme(theme)
    return places


async def _prepare_prompt(screen: "ChatScreen", control: Control, state: Path) -> None:
    box = screen.prompt
    path = state / "prompt-history.jsonl"
    earlier = await asyncio.to_thread(read_history, path)
    is_demo = control.choice.model is not None and control.choice.model.provider_id == "demo"
    box.history.load(earlier or (EXAMPLES if is_demo else ()))
    box.keep_history(path)
    screen.offer_completions(control)
    if is_demo and not earlier:
        box.has_examples = True
    box.editor.refresh()


async def _finish(screen: "ChatScreen", control: Control) -> None:
    """Read what only later frames need."""
    await control.choice.load_models()
    screen.settle()


def _wheel(wishes: JsonObject) -> Wheel:
    speed, acceleration = wishes.get("scroll_speed"), wishes.get("scroll_acceleration")
    accelerates = isinstance(acceleration, dict) and bool(cast("JsonObject", acceleration).get("enabled"))
    return Wheel(float(speed) if isinstance(speed, int | float) else LINES, accelerates=accelerates)


def _writes_out_pastes(settings: JsonObject) -> bool:
    found = settings.get("experimental")
    return isinstance(found, dict) and bool(cast("JsonObject", found).get("disable_paste_summary"))


def _keybinds(settings: JsonObject) -> dict[str, str]:
    found = settings.get("keybinds")
    pairs = cast("JsonObject", found) if isinstance(found, dict) else {}
    return {name: keys for name, keys in pairs.items() if isinstance(keys, str)}
