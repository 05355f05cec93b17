"""Start of the screen on an open engine: settings, the session of the command line, the prompt."""

import asyncio
import os
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from opencode_tui import __version__
from opencode_tui.instant.page import is_on
from opencode_tui.schema.api.project import Places
from opencode_tui.schema.api.request import ForkSession
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chat.chat import Chat
from opencode_tui.tui.chrome.welcome import EXAMPLES
from opencode_tui.tui.first_page import write_page
from opencode_tui.tui.prompt.history import read_history
from opencode_tui.tui.state.screen_settings import ScreenSettings, read_settings
from opencode_tui.tui.theme.look import ASCII
from opencode_tui.tui.theme.themes import Themes, theme_folders


async def begin(chat: Chat, waits_for: str) -> None:
    """Apply the settings and open the session of the command line. Raises OpencodeError.

    `waits_for` is the message of the activity line until the session or the start page is shown.
    """
    control, options = chat.control, chat.options
    with ExitStack() as wait:
        wait.enter_context(chat.waiting(waits_for))
        places = await apply_settings(chat)
        await chat.notices.load(control.client)
        await control.start(options)
        if options.is_forked and control.session_id is not None:
            made = await control.client.sessions.fork(control.session_id, ForkSession())
            await control.open(made.id)
        if control.facts is not None:  # it is shown: the wait would replace what the session itself says
            wait.close()
        state = options.state or Path(places.state)
        await _prepare_prompt(chat, state)
    chat.show_conversation()
    if control.facts is not None and chat.notices.undo_off:  # the welcome text says it otherwise
        chat.show_note("note", *chat.notices.undo_off.capitalize().split(": ", 1))
    if control.choice.problem:
        chat.show_note("failed", control.choice.problem)
    chat.do(_finish(chat, state, places))


LOOKED_FOR_SERVERS = "looked-for-local-models"
"""The file in the folder of the state that says that a start without a key has looked for servers of models here."""

READ_MODELS_S = 60.0
"""Seconds after the start until newer lists of models are read, if no list was opened before."""

LOOK_FOR_VERSION_S = 3.0
"""Seconds from the first screen to the look for a newer version, if the settings ask for it."""


async def apply_settings(chat: Chat) -> Places:
    """Apply the keys, theme and glyphs of the settings; return the paths of the folder. Raises OpencodeError."""
    control = chat.control
    settings = read_settings(await control.client.settings.effective())
    places = await control.client.project.places()
    own = os.environ.get("OPENCODE_CONFIG_DIR") if chat.options.server is None else None
    chat.app.use_themes(await asyncio.to_thread(Themes, theme_folders(places, own)))
    apply_screen_settings(chat, settings)
    if settings.approvals != control.default_approvals:
        control.approvals = control.default_approvals = settings.approvals
    return places


def apply_screen_settings(chat: Chat, settings: ScreenSettings) -> None:
    """Apply what the settings say for the screen: keys, look, prompt."""
    app, before, chat.settings = chat.app, chat.settings, settings
    app.use_keys(settings.keybinds)
    if (settings.is_still, settings.is_ascii) != (before.is_still, before.is_ascii):
        glyphs = ASCII if settings.is_ascii else app.own_look.glyphs
        app.apply_look(replace(app.look, glyphs=glyphs, is_still=settings.is_still or app.own_look.is_still))
    if settings.images != before.images:
        app.use_pictures(settings.images)
        chat.view.use_pictures(app.picture_forms if settings.images != "off" else None)
    chat.view.wheel = settings.wheel()
    chat.prompt.editor.writes_out_pastes = settings.writes_out_pastes
    if settings.uses_vim != before.uses_vim:
        chat.prompt.use_vim(is_on=bool(settings.uses_vim))
    if settings.delivery != before.delivery:
        chat.sender.delivery = settings.delivery
    if settings.theme:
        app.apply_theme(settings.theme)
    elif before.theme:
        app.apply_look(replace(app.look, palette=app.own_look.palette))


async def reopen_folder(chat: Chat) -> None:
    """Open the folder again with its present settings, keys and trust, and apply them. Raises BusyError while a session runs."""
    await chat.control.client.reopen()
    await apply_settings(chat)
    await chat.control.load(chat.options)
    await chat.notices.load(chat.control.client)
    chat.show_conversation()


async def _prepare_prompt(chat: Chat, state: Path) -> None:
    box, control = chat.prompt, chat.control
    path = state / "prompt-history.jsonl"
    await asyncio.to_thread(control.choice.load_favorites, state / "favorite-models")
    await control.choice.load_variants(state / "model-variants.json", selects=control.session_id is None)
    earlier = await asyncio.to_thread(read_history, path)
    is_demo = control.choice.model is not None and control.choice.model.provider_id == "demo"
    chat.notices.has_prompts = bool(earlier)
    box.history.load(earlier or (EXAMPLES if is_demo else ()))
    box.keep_history(path)
    chat.start_completions()
    await chat.completing.read_commands()
    if is_demo and not earlier:
        box.has_examples = True
    box.editor.refresh()


async def _finish(chat: Chat, state: Path, places: Places) -> None:
    """Load the models and the state of the sandbox, and look for stores to import from: only later frames need them."""
    control, notices = chat.control, chat.notices
    await control.choice.load_models()
    if control.choice.model is not None and control.choice.model.provider_id == "demo":
        if await asyncio.to_thread(_is_first, state / LOOKED_FOR_SERVERS):
            notices.local_servers = await control.client.catalog.local_servers()
            if notices.local_servers:
                await control.choice.load_models()
        else:
            notices.can_look_for_servers = chat.settings.looks_for_servers
    notices.sandbox = await control.client.settings.sandbox()
    notices.can_import = await control.client.imports.available()
    chat.refresh_chrome()
    chat.screen.call_after_refresh(_show_start_page, chat, places)
    chat.away.keep(state)
    if chat.options.is_continued or chat.options.server is not None:
        chat.do(chat.away.show_since_last_time())
    chat.do(_report_newer_version(chat))
    chat.do(_read_newer_models(chat))


def _show_start_page(chat: Chat, places: Places) -> None:
    """Own the terminal, and keep the complete start page for the first frame of the next start here."""
    chat.app.acquire_terminal_soon()
    page = chat.start_page() if is_on(os.environ) else None
    if page is not None:
        chat.do(asyncio.to_thread(write_page, page, places, chat.app.look.palette.name))


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
