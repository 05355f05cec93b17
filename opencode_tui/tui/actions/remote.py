"""Commands that clients of the server send to the screen: fill the prompt, run an action, open a session.

Plugins of editors drive the screen this way. Such a client may do the same without a screen, so no approval is needed;
no command answers a question of the agent.
"""

from opencode_tui.schema.api.keybinds import COMMANDS
from opencode_tui.schema.event.screen_event import (
    ScreenCommandGiven,
    ScreenEvent,
    ScreenSessionSelected,
    ScreenTextAppended,
    ScreenToastShown,
)
from opencode_tui.tui.actions.prompt import submit
from opencode_tui.tui.actions.session import open_session
from opencode_tui.tui.chat.chat import Chat
from opencode_tui.tui.chrome.activity import Kind


def do_request(chat: Chat, event: ScreenEvent) -> None:
    """Do what a client requests of the screen."""
    match event:
        case ScreenTextAppended():
            chat.prompt.paste(event.text)
        case ScreenCommandGiven():
            _run_command(chat, event.command)
        case ScreenSessionSelected():
            open_session(chat, event.session_id)
        case ScreenToastShown():
            kind: Kind = {"success": "done", "error": "failed"}.get(event.variant, "note")  # pyright: ignore[reportAssignmentType] - all three are kinds
            for_ms = event.duration if event.variant in ("info", "success") else 0  # a problem stays until a key
            chat.show_note(kind, event.title or event.message, event.message if event.title else "", for_ms=for_ms)


def _run_command(chat: Chat, command: str) -> None:
    """Run a command; report one that is unknown or not available."""
    action = COMMANDS.get(command)
    if command == "prompt.submit":
        submit(chat)
    elif command == "prompt.clear":
        chat.prompt.clear()
    elif action is None:
        chat.show_note("note", f"Unknown client command: {command}")
    elif chat.can(action):
        chat.run(action.id)
    else:
        chat.show_note("note", f"{command} is not available right now")
