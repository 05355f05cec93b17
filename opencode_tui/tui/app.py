"""The app: its main screen, the order of keys, and its end."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.await_complete import AwaitComplete

from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.base_app import BaseApp
from opencode_tui.tui.chrome.activity import Kind
from opencode_tui.tui.keys.key_run import KeyRun
from opencode_tui.tui.keys.keyed import KeyedScreen
from opencode_tui.tui.keys.router import Way
from opencode_tui.tui.options import StartOptions
from opencode_tui.tui.prompt.editor import Editor
from opencode_tui.tui.screen import ChatScreen
from opencode_tui.tui.screen_guards import log_path
from opencode_tui.tui.theme.look import Look

if TYPE_CHECKING:
    from opencode_tui.client.client import Client
    from opencode_tui.tui.terminal_input import TypedDelivered

_log = logging.getLogger(__name__)


class OpenCodeApp(BaseApp, inherit_bindings=False):
    """Paints before the engine is open, which `attach` passes in; returns an `Ending`."""

    CSS_PATH = "screen.tcss"

    def __init__(
        self, options: StartOptions, look: Look | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(look)
        self.options = options
        self.painted = asyncio.Event()
        self.chat = ChatScreen(options, self, clock)
        self._blurred_at = 0
        """When the terminal lost the focus, in ms of a monotonic clock."""

    def get_default_screen(self) -> ChatScreen:
        """Return the chat."""
        return self.chat

    def on_mount(self) -> None:
        """Set `painted` after the first frame."""
        self.call_after_refresh(self._first_frame)
        self.app_resume_signal.subscribe(self, self._repaint)

    def _first_frame(self) -> None:
        self.painted.set()
        self.ask_background()

    def _repaint(self, _app: object = None) -> None:
        """Draw every cell, as the terminal is empty after the shell or an editor."""
        self.screen.refresh(layout=True)
        for widget in self.screen.query("*"):
            widget.refresh()
        self._come_back()

    def pop_screen(self) -> AwaitComplete:
        """Close the screen on top; what is shown then has not been read."""
        closing = super().pop_screen()
        self._come_back()  # at once: the next key may be waiting already
        return closing

    def _come_back(self, since: int = 0) -> None:
        """Have a question on the screen ignore keys for a while that appeared since a moment in ms, in which it was not seen."""
        if isinstance(self.screen, ChatScreen | KeyedScreen):
            self.screen.come_back(since)

    def on_app_blur(self) -> None:
        """Begin to be away."""
        self._blurred_at = time.monotonic_ns() // 1_000_000
        if self.chat.is_open:
            self.chat.opened.away.lose_focus()

    def on_app_focus(self) -> None:
        """Show what was done meanwhile, after a longer time; ask for the background again."""
        super().on_app_focus()
        self._come_back(self._blurred_at)
        if self.chat.is_open:
            self.chat.opened.away.get_focus()

    def report(self, kind: Kind, words: str, facts: str = "") -> None:
        """Show a message in the activity line, once the engine is open."""
        self.chat.show_note(kind, words, facts)

    def restyle(self) -> None:
        """Draw everything in the current look."""
        self.chat.restyle()

    def refresh_all(self) -> None:
        """Draw every widget of the chat again."""
        self.chat.refresh_all()

    def attach(self, client: "Client") -> None:
        """Connect the screen to the engine."""
        self.call_later(self.chat.attach, client)

    async def on_event(self, event: events.Event) -> None:
        """Pass keys and pastes where the router says, before the widgets get them."""
        if isinstance(event, KeyRun):
            await self._type_run(event.keys)
            return
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            way = self.router.admit(event, is_ready=self._is_ready)
            if way is Way.QUITS:
                self.chat.leave()
            elif way is Way.KEPT and self.router.is_starting and isinstance(event, events.Key):
                self.chat.on_any_key(event.key, is_printable=event.is_printable)
            if way is not Way.SCREEN or not self.screen_stack:  # without screens the program ends
                return
            is_used = await (self._handle_key(event) if isinstance(event, events.Key) else self._handle_paste(event))
            if is_used:
                return
        await super().on_event(event)

    @property
    def _is_ready(self) -> bool:
        """Whether the screen on top can handle keys."""
        return not (self.screen_stack and isinstance(self.screen, KeyedScreen) and not self.screen.is_ready)

    async def _type_run(self, keys: Sequence[events.Key]) -> None:
        """Handle keys that were typed in one go; characters that only extend the text of the prompt are inserted together."""
        at = 0
        while at < len(keys):
            end = at
            if self.router.keeps_none and isinstance(self.screen, ChatScreen):
                while end < len(keys) and self.screen.is_plain_text(keys[end]):
                    end += 1
            if end - at > 1:
                await self.chat.type_text(keys[at:end])
                at = end
                continue
            await self.on_event(keys[at])
            at += 1

    async def on_typed_delivered(self, event: "TypedDelivered") -> None:
        """Show the first frame with the text that was typed before it, or own the terminal for the last of it."""
        await self.chat.prompt.editor.written()
        self.screen.call_after_refresh(self.show_frames if event.is_last else self.acquire_after_typed)

    def on_untyped_dropped(self) -> None:
        """Have a question ignore keys for a while: the next ones may belong to what the terminal sent."""
        self._come_back()

    def on_terminal_gone(self) -> None:
        """Hang up: below `nohup` the signal is ignored until this process handles it, and may have come before."""
        self.chat.hang_up()

    def _echo(self, event: events.Key) -> None:
        """Show a character that the focused editor will insert, before the event reaches it."""
        editor = self.focused
        if event.is_printable and event.character and isinstance(editor, Editor):
            cell = editor.echo_cell(event.character)
            if cell is not None:
                self.echo(event.character, cell, editor.content_region.x)

    def act_on_page(self, action_id: str) -> None:
        """Run an action of the chat over the page that is shown."""
        self.chat.act(action_id)

    async def _handle_paste(self, event: events.Paste) -> bool:
        screen = self.screen
        if isinstance(screen, KeyedScreen):
            screen.handle_now(event)
            return True
        return isinstance(screen, ChatScreen) and await screen.paste_behind_question(event)

    async def _handle_key(self, event: events.Key) -> bool:
        """Handle a key on the screen on top; return False for one that is for the focused widget."""
        if not self.app_focus:
            self.app_focus = True  # focuses the widget again that the key is for
        screen = self.screen
        self.router.begin(event)
        try:
            if isinstance(screen, ChatScreen):
                is_used = await screen.route_key(event, self.copy_selection)
            elif self.copy_selection(event.key):
                is_used = True
            else:
                is_used = isinstance(screen, KeyedScreen)
                if isinstance(screen, KeyedScreen):
                    screen.handle_now(event)
        except Exception as error:
            if self.is_headless:
                raise
            _log.exception("an action on %s failed", event.key)
            self.show_failure(error)
            return True
        finally:
            self.router.end()
        if not is_used:
            self._echo(event)
        return is_used

    def on_text_selected(self) -> None:
        """Copy the text that the mouse selected, as terminals do."""
        text = self.screen.get_selected_text() or ""
        if text.strip():
            self.copy_to_clipboard(text)
            lines = text.rstrip("\n").count("\n") + 1
            self.report("done", "Copied selection" if lines == 1 else f"Copied {lines} lines")

    def copy_selection(self, key: str) -> bool:
        """Copy the selection and end it on ctrl+c; return whether the key was used."""
        if key != "ctrl+c" or not self.screen.get_selected_text():
            return False
        self.on_text_selected()
        self.screen.clear_selection()
        return True

    def show_failure(self, error: Exception) -> None:
        """Report in one line that a part of the screen failed: an expected error's own words, else where its traceback is."""
        if isinstance(error, OpencodeError):
            self.report("failed", screen_line(str(error)))
        else:
            self.report("failed", f"{type(error).__name__} in a part of the screen", log_path())

    def _handle_exception(self, error: Exception) -> None:
        """Restore the terminal and return the error to the caller; the session is on disk."""
        _log.error("the screen failed", exc_info=error)
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        if not self.is_headless:
            self.chat.leave(error)
        else:
            super()._handle_exception(error)
