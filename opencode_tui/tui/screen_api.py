"""Protocols of the app and of the chat screen, for the modules that they import."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from opencode_tui.tui.chrome.activity import Activity, Kind
from opencode_tui.tui.chrome.session_browser import SessionBrowser
from opencode_tui.tui.conversation.tools.tool import FullText
from opencode_tui.tui.conversation.view import ConversationView
from opencode_tui.tui.dialogs.listing import ListContent
from opencode_tui.tui.keys.keymap import Keymap
from opencode_tui.tui.options import Place, StartOptions
from opencode_tui.tui.prompt.box import PromptBox
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.terminal_title import TerminalTitle
from opencode_tui.tui.theme.look import Look
from opencode_tui.tui.theme.themes import Themes


class AppApi(Protocol):
    """The app: look, keys, overlays and the terminal."""

    @property
    def keymap(self) -> Keymap:
        """The active keys."""
        ...

    @property
    def last_key(self) -> str:
        """The key that is being handled, as the terminal reported it; empty during a click."""
        ...

    @property
    def look(self) -> Look:
        """The current look."""
        ...

    @property
    def themes(self) -> Themes | None:
        """The themes that can be applied; None before the settings are loaded."""
        ...

    @property
    def title_line(self) -> TerminalTitle:
        """The title of the terminal window."""
        ...

    def begin_keys(self) -> None:
        """Deliver the keys that were pressed before the prompt existed, and all later ones at once."""
        ...

    def use_keys(self, changed: Mapping[str, str]) -> None:
        """Apply the key bindings of the settings."""
        ...

    def use_themes(self, themes: Themes) -> None:
        """Set the themes that can be applied."""
        ...

    def apply_look(self, look: Look) -> None:
        """Draw everything in another look."""
        ...

    def apply_theme(self, name: str) -> None:
        """Draw everything in the named theme; report one that cannot be read."""
        ...

    def open_overlay(self, content: ListContent, done: Callable[[str | None], object]) -> None:
        """Show a list over the muted screen; `done` gets the chosen id, or None."""
        ...

    def update_overlay(self, content: ListContent) -> None:
        """Show other choices in the open list, if it has the same hint."""
        ...

    def pop_overlay(self) -> None:
        """Close the open list without a choice."""
        ...

    def notify_terminal(self, words: str) -> None:
        """Ring the bell and show a notification of the terminal while its window has no focus."""
        ...

    def copy_to_clipboard(self, text: str) -> None:
        """Copy a text through the terminal."""
        ...

    def suspend(self) -> AbstractContextManager[None]:
        """Return a context that gives the terminal to another program."""
        ...

    def action_suspend_process(self) -> None:
        """Suspend the program to the shell."""
        ...


class ChatApi(Protocol):
    """The chat screen, as actions and the start use it."""

    @property
    def options(self) -> StartOptions:
        """The options of the command line."""
        ...

    @property
    def prompt(self) -> PromptBox:
        """The prompt."""
        ...

    @property
    def view(self) -> ConversationView | None:
        """The conversation; None until the engine is open."""
        ...

    def do(self, work: Coroutine[object, object, None]) -> None:
        """Run work in the background; report its failure above the prompt."""
        ...

    def show_note(self, kind: Kind, words: str, facts: str = "") -> None:
        """Show a message in the activity line."""
        ...

    def clear_note(self) -> None:
        """Remove the message from the activity line."""
        ...

    def show_aside(self, aside: Activity) -> None:
        """Show something at the right end of the activity line; an empty activity removes it."""
        ...

    def open_page(self, page: Screen[None] | Screen[str | None]) -> None:
        """Open a full page over the chat."""
        ...

    def open_text(self, full: FullText) -> None:
        """Show a long text on a page of its own."""
        ...

    def show_conversation(self) -> None:
        """Show the conversation of the controller, or the welcome text."""
        ...

    def show_place(self, place: Place) -> None:
        """Scroll to a part of the shown conversation and mark it."""
        ...

    def show_cut(self) -> None:
        """Scroll to where an undo would start."""
        ...

    def start_completions(self, control: SessionController) -> None:
        """Suggest files, agents and commands in the prompt from now on."""
        ...

    def toggle_sidebar(self) -> None:
        """Show or hide the sidebar."""
        ...

    @property
    def browser(self) -> SessionBrowser | None:
        """The session browser; None until the engine is open."""
        ...

    def open_browser(self) -> None:
        """Show the session browser with the focus, or close it if it has the focus."""
        ...

    def close_browser(self) -> None:
        """Show the sidebar again and focus the prompt or its panel."""
        ...

    def refresh_chrome(self) -> None:
        """Update everything around the conversation."""
        ...

    def refresh_all(self) -> None:
        """Draw every widget again."""
        ...

    def set_timer(self, delay: float, callback: Callable[[], object]) -> Timer:
        """Call back after `delay` seconds."""
        ...

    def leave(self, *, messages: Sequence[str] = ()) -> None:
        """End the app; these lines are then shown in the terminal."""
        ...

    def leave_for(self, folder: Path, session_id: str, place: Place | None = None) -> None:
        """End the app to open a session of another folder, at a place of it."""
        ...


class PanelApi(Protocol):
    """The panels that replace the prompt."""

    def open(self, panel: Widget) -> None:
        """Show a panel of an action of the user."""
        ...

    def close(self) -> None:
        """Close the panel of the user's action."""
        ...
