"""Stores what the user chose on the screen in their settings file, and opens the page of all settings."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from opencode_tui.schema.error import BusyError
from opencode_tui.tui.chat.chat import Chat, action
from opencode_tui.tui.chat.start import apply_screen_settings, reopen_folder
from opencode_tui.tui.state.screen_settings import read_settings

if TYPE_CHECKING:
    from opencode_tui.schema.api.setting import SettingList


@action("config_view", with_words=True, loads="the settings")
async def open_settings(chat: Chat, typed: str = "") -> None:
    """Open the page of all settings, filtered by what was typed behind its command."""
    from opencode_tui.tui.pages.settings import SettingsScreen, values_of  # pages load on demand

    control = chat.control
    listed = await control.client.settings.all()
    models = [str(one.ref) for one in control.choice.models]
    named = {
        "theme": chat.app.themes.names() if chat.app.themes is not None else (),
        "model": models,
        "small_model": models,
        "default_agent": [one.name for one in control.choice.agents],
    }

    def changed(present: "SettingList") -> None:
        apply_screen_settings(chat, read_settings(values_of(present)))
        chat.refresh_chrome()

    chosen = {name: values_of(listed).get(name) for name in ("model", "default_agent")}

    def closed(present: "SettingList") -> None:
        kept = {name for name, value in chosen.items() if values_of(present).get(name) == value}
        if present is not listed:
            chat.do(_use_changed(chat, kept))

    chat.open_page(
        SettingsScreen(
            control,
            listed,
            await control.client.project.places(),
            named=named,
            changed=changed,
            closed=closed,
            typed=typed,
        )
    )


async def _use_changed(chat: Chat, kept: Collection[str]) -> None:
    """Open the folder again with the changed settings; while a session runs they are used from the next start.

    The model and the agent that are chosen stay if `kept` has the settings of them.
    """
    choice = chat.control.choice
    model, variant, agent = choice.model, choice.variant, choice.agent
    try:
        await reopen_folder(chat)
    except BusyError:
        chat.show_note("note", "Settings saved", "a session is running: the engine uses them from the next start")
        return
    if "model" in kept:
        choice.model, choice.variant = model, variant
    if "default_agent" in kept and any(one.name == agent for one in choice.agents):
        choice.agent = agent
    if choice.models_read.is_set():
        await choice.load_models()
    chat.refresh_chrome()
