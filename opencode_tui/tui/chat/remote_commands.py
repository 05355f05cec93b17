"""Commands that clients of the server send to the screen: fill the prompt, run an action, open a session.

Plugins of editors drive the screen this way. Such a client may do the same without a screen, so no approval is needed;
no command answers a question of the agent.
"""

from collections.abc import Mapping
from typing import Protocol

from opencode_tui.schema.api.keybinds import BY_ID, Action
from opencode_tui.schema.event.screen_event import (
    ScreenCommandGiven,
    ScreenEvent,
    ScreenSessionSelected,
    ScreenTextAppended,
    ScreenToastShown,
)
from opencode_tui.tui.chrome.activity import Kind
from opencode_tui.tui.prompt.box import PromptBox

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


class _RemoteScreen(Protocol):
    """The screen that remote clients command."""

    prompt: PromptBox

    def can(self, action: Action) -> bool: ...

    def act(self, action_id: str) -> None: ...

    def submit(self) -> None: ...

    def open_session(self, session_id: str) -> None: ...

    def show_note(self, kind: Kind, words: str, facts: str = "") -> None: ...

    def show_toast(self, event: ScreenToastShown) -> None: ...


def on_screen_event(chat: _RemoteScreen, event: ScreenEvent) -> None:
    """Do what a client requests of the screen."""
    match event:
        case ScreenTextAppended():
            chat.prompt.paste(event.text)
        case ScreenCommandGiven():
            _run_command(chat, event.command)
        case ScreenSessionSelected():
            chat.open_session(event.session_id)
        case ScreenToastShown():
            chat.show_toast(event)


def _run_command(chat: _RemoteScreen, command: str) -> None:
    """Run a command; report one that is unknown or not available."""
    action = BY_ID.get(ACTS.get(command, ""))
    if command == "prompt.submit":
        chat.submit()
    elif command == "prompt.clear":
        chat.prompt.clear()
    elif action is None:
        chat.show_note("note", f"Unknown client command: {command}")
    elif chat.can(action):
        chat.act(action.id)
    else:
        chat.show_note("note", f"{command} is not available right now")
