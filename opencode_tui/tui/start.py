"""Start of the screen on an open engine: settings, the session of the command line, the prompt."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import cast

from opencode_tui import __version__
from opencode_tui.schema.api.project import Places
from opencode_tui.schema.api.request import ForkSession
from opencode_tui.schema.permission import APPROVALS, Approvals
from opencode_tui.schema.record import JsonObject
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chat.chat import Chat
from opencode_tui.tui.chrome.welcome import EXAMPLES
from opencode_tui.tui.prompt.history import read_history
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.theme.glyphs import ASCII
from opencode_tui.tui.theme.themes import Themes, theme_folders
from opencode_tui.tui.widgets.wheel import LINES, Wheel


async def begin(chat: Chat) -> None:
    """Apply the settings and open the session of the command line. Raises OpencodeError."""
    control, options = chat.control, chat.options
    places = await apply_settings(chat)
    await control.start(options)
    if options.is_forked and control.session_id is not None:
        made = await control.client.sessions.fork(control.session_id, ForkSession())
        await control.open(made.id)
    state = options.state or Path(places.state)
    await _prepare_prompt(chat, state)
    chat.show_conversation()
    if control.facts is not None and control.undo_off:  # the welcome text says it otherwise
        chat.show_note("note", *control.undo_off.capitalize().split(": ", 1))
    if control.choice.problem:
        chat.show_note("failed", control.choice.problem)
    chat.do(_finish(chat, state))


LOOKED_FOR_SERVERS = "looked-for-local-models"
"""The file in the folder of the state that says that a start without a key has looked for servers of models here."""

READ_MODELS_S = 60.0
"""Seconds after the start until newer lists of models are read, if no list was opened before."""

LOOK_FOR_VERSION_S = 3.0
"""Seconds from the first screen to the look for a newer version, if the settings ask for it."""


async def apply_settings(chat: Chat) -> Places:
    """Apply the keys, theme and glyphs of the settings; return the paths of the folder. Raises OpencodeError."""
    app, control = chat.app, chat.control
    settings = await control.client.settings.effective()
    app.use_keys(_keybinds(settings))
    places = await control.client.project.places()
    own = os.environ.get("OPENCODE_CONFIG_DIR") if chat.options.server is None else None
    app.use_themes(await asyncio.to_thread(Themes, theme_folders(places, own)))
    tui = settings.get("tui")
    tui_settings = cast("JsonObject", tui) if isinstance(tui, dict) else {}
    if tui_settings.get("reduced_motion") or tui_settings.get("ascii"):
        glyphs = ASCII if tui_settings.get("ascii") else app.look.glyphs
        app.apply_look(replace(app.look, glyphs=glyphs, is_still=bool(tui_settings.get("reduced_motion"))))
    control.wheel = _wheel(tui_settings)
    chat.prompt.editor.writes_out_pastes = bool(_experimental(settings).get("disable_paste_summary"))
    if "vim" in tui_settings:
        chat.prompt.use_vim(is_on=bool(tui_settings["vim"]))
    _apply_status_line(control, tui_settings.get("status_line"))
    if tui_settings.get("delivery") == "queue":
        control.delivery = "queue"
    control.session_budget = _session_budget(settings)
    control.is_stacked = tui_settings.get("diff_style") == "stacked"
    control.approvals = control.default_approvals = _approvals(settings)
    theme = settings.get("theme")
    if isinstance(theme, str):
        app.apply_theme(theme)
    return places


def _session_budget(settings: JsonObject) -> float:
    limits = settings.get("limits")
    cost: object = cast("JsonObject", limits).get("cost") if isinstance(limits, dict) else None
    budget: object = cast("JsonObject", cost).get("session") if isinstance(cost, dict) else None
    return float(budget) if isinstance(budget, int | float) else 0.0


async def _prepare_prompt(chat: Chat, state: Path) -> None:
    box, control = chat.prompt, chat.control
    path = state / "prompt-history.jsonl"
    await asyncio.to_thread(control.choice.load_favorites, state / "favorite-models")
    await control.choice.load_variants(state / "model-variants.json", selects=control.session_id is None)
    earlier = await asyncio.to_thread(read_history, path)
    is_demo = control.choice.model is not None and control.choice.model.provider_id == "demo"
    control.has_prompts = bool(earlier)
    box.history.load(earlier or (EXAMPLES if is_demo else ()))
    box.keep_history(path)
    chat.start_completions()
    await box.read_commands()
    if is_demo and not earlier:
        box.has_examples = True
    box.editor.refresh()


async def _finish(chat: Chat, state: Path) -> None:
    """Load the models and the state of the sandbox, and look for stores to import from: only later frames need them."""
    control = chat.control
    await control.choice.load_models()
    if control.choice.model is not None and control.choice.model.provider_id == "demo":
        if await asyncio.to_thread(_is_first, state / LOOKED_FOR_SERVERS):
            control.local_servers = await control.client.catalog.local_servers()
            if control.local_servers:
                await control.choice.load_models()
        else:
            settings = await control.client.settings.effective()
            control.can_look_for_servers = settings.get("local_models") is not False
    control.sandbox = await control.client.settings.sandbox()
    control.can_import = await control.client.imports.available()
    chat.refresh_chrome()
    chat.do(_report_newer_version(chat))
    chat.do(_read_newer_models(chat))


def _is_first(file: Path) -> bool:
    """Return whether a file was not there; it is from then on. False where it cannot be written."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.touch(0o600, exist_ok=False)
    except OSError:
        return False
    return True


async def _read_newer_models(chat: Chat) -> None:
    await asyncio.sleep(READ_MODELS_S)
    if await chat.control.choice.refresh_models():
        chat.refresh_chrome()


async def _report_newer_version(chat: Chat) -> None:
    await asyncio.sleep(LOOK_FOR_VERSION_S)
    if newer := await chat.control.client.settings.newer_version():
        chat.show_note(
            "note", f"Version {screen_line(newer)} is available", f"this is {__version__}; nothing was changed"
        )


def _apply_status_line(control: SessionController, settings: object) -> None:
    line = cast("JsonObject", settings) if isinstance(settings, dict) else {}
    fields = line.get("fields")
    control.status_fields = tuple(map(str, cast("list[object]", fields))) if isinstance(fields, list) else ()
    control.has_status_command = bool(line.get("command"))


def _wheel(tui_settings: JsonObject) -> Wheel:
    speed, acceleration = tui_settings.get("scroll_speed"), tui_settings.get("scroll_acceleration")
    accelerates = isinstance(acceleration, dict) and bool(cast("JsonObject", acceleration).get("enabled"))
    return Wheel(float(speed) if isinstance(speed, int | float) else LINES, accelerates=accelerates)


def _experimental(settings: JsonObject) -> JsonObject:
    found = settings.get("experimental")
    return cast("JsonObject", found) if isinstance(found, dict) else {}


def _approvals(settings: JsonObject) -> Approvals:
    found = _experimental(settings).get("approvals")
    return APPROVALS[APPROVALS.index(found)] if found in APPROVALS else "normal"


def _keybinds(settings: JsonObject) -> dict[str, str]:
    found = settings.get("keybinds")
    pairs = cast("JsonObject", found) if isinstance(found, dict) else {}
    return {name: keys for name, keys in pairs.items() if isinstance(keys, str)}
