"""Stores what the user chose on the screen in their settings file."""

from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.record import JsonObject
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chat.chat import Chat


async def save_setting(chat: Chat, change: JsonObject, words: str) -> None:
    """Store a change of the settings for the next start, and show `words` about it, or why it could not be stored.

    With the engine of a server, whose settings are not this user's, it applies until the screen is closed.
    """
    if not chat.control.is_alone:
        chat.show_note("note", words[:1].upper() + words[1:], "until you quit: the settings are those of the server")
        return
    try:
        await chat.control.client.settings.change(change)
    except OpencodeError as error:
        chat.show_note("failed", "Not saved", screen_line(str(error)))
    else:
        chat.show_note("done", "Saved", words)
