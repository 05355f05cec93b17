"""What clients of a server order its screens to do: write into the prompt, carry out an act, go to a session.

An editor's plugin drives the screen this way. What such a client may do it may do without a screen as well, so nothing is asked;
a question of the agent is answered by none of these orders.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from opencode_tui.schema.event.event import Event
from opencode_tui.schema.event.screen_event import ScreenCommandGiven, ScreenSessionSelected, ScreenTextAppended
from opencode_tui.tui.chrome.activity import Kind
from opencode_tui.tui.keymap import BY_ID, Action
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
"""OpenCode's names of what can be ordered, and the acts that they stand for."""


class _RemoteScreen(Protocol):
    """The screen that remote clients command."""

    prompt: PromptBox

    def can(self, action: Action) -> bool: ...

    def act(self, action_id: str) -> None: ...

    def submit(self) -> None: ...

    def open_session(self, session_id: str) -> None: ...

    def show_note(self, kind: Kind, words: str, facts: str = "") -> None: ...


def on_screen_event(chat: _RemoteScreen, take: Callable[[Event], None]) -> Callable[[Event], None]:
    """Return what takes events: orders are obeyed, all others are handed on to `take`."""

    def handle(event: Event) -> None:
        match event:
            case ScreenTextAppended():
                chat.prompt.paste(event.text)
            case ScreenCommandGiven():
                _carry_out(chat, event.command)
            case ScreenSessionSelected():
                chat.open_session(event.session_id)
            case _:
                take(event)

    return handle


def _carry_out(chat: _RemoteScreen, command: str) -> None:
    """Do what was ordered; what there is not, or cannot be done now, is told."""
    action = BY_ID.get(ACTS.get(command, ""))
    if command == "prompt.submit":
        chat.submit()
    elif command == "prompt.clear":
        chat.prompt.clear()
    elif action is None:
        chat.show_note("note", f"A client ordered {command}, which there is not")
    elif chat.can(action):
        chat.act(action.id)
    else:
        chat.show_note("note", f"A client ordered {command}, which cannot be done now")
