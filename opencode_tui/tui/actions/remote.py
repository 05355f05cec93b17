"""Commands that clients of the server send to the screen: fill the prompt, run an action, open a session.

Plugins of editors drive the screen this way. Such a client may do the same without a screen, so no approval is needed;
no command answers a question of the agent.
"""

from collections.abc import Mapping

from opencode_tui.schema.api.keybinds import BY_ID
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

ACTS: Mapping[str, str] = {
    "help.show": "help_view",
    "command.list": "command_list",
    "theme.list": "theme_list",
    "model.list": "model_list",
    "agent.list": "agent_list",
    "agent.cycle": "agent_cycle",
    "session.list": "session_list",
    "session.new": "session_new",
    "session.interrupt": "session_interrupt",
    "session.compact": "session_compact",
    "session.timeline": "session_timeline",
    "session.undo": "messages_undo",
    "session.redo": "messages_redo",
    "session.page.up": "messages_page_up",
    "session.page.down": "messages_page_down",
    "session.line.up": "messages_line_up",
    "session.line.down": "messages_line_down",
    "session.half.page.up": "messages_half_page_up",
    "session.half.page.down": "messages_half_page_down",
    "session.first": "messages_first",
    "session.last": "messages_last",
}
"""OpenCode's names of the commands, and their actions."""


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
            chat.show_note(kind, event.title or event.message, event.message if event.title else "")


def _run_command(chat: Chat, command: str) -> None:
    """Run a command; report one that is unknown or not available."""
    action = BY_ID.get(ACTS.get(command, ""))
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
