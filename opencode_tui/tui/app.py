"""The app: its main screen, the order of keys, and its end."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import events
from textual.await_complete import AwaitComplete

from opencode_tui.schema.api.keybinds import BY_ID, QUIT, Action
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.base_app import BaseApp
from opencode_tui.tui.chrome.activity import Kind
from opencode_tui.tui.keys.common import closes_page
from opencode_tui.tui.keys.key_run import KeyRun
from opencode_tui.tui.keys.router import KeyedScreen
from opencode_tui.tui.options import StartOptions
from opencode_tui.tui.prompt.editor import Editor
from opencode_tui.tui.screen import TYPING, ChatScreen
from opencode_tui.tui.screen_guards import log_path
from opencode_tui.tui.theme.look import Look

if TYPE_CHECKING:
    from opencode_tui.client.client import Client
    from opencode_tui.tui.terminal_input import TypedDelivered

_log = logging.getLogger(__name__)

_EDITS = BY_ID["input_word_forward"].group
"""The group of the actions that move in a text or delete a part of it: they do nothing in an empty prompt."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Keys wait for what is being loaded; `cancel` ends the loading. With `lets_type` text is typed meanwhile."""

    cancel: Callable[[], object] | None = None
    lets_type: bool = False


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
        self._early: list[events.Key | events.Paste] | None = []
        self._hold: Hold | None = None
        self._blurred_at = 0
        """When the terminal lost the focus, in ms of a monotonic clock."""
        self._key: events.Key | None = None
        """The key that is being handled, unless it is the second one of a sequence."""

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
        """Pass keys to the router before the widgets; queue keys until the prompt exists."""
        if isinstance(event, KeyRun):
            await self._type_run(event.keys)
            return
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            if self._is_held(event):
                return
            if not self.screen_stack:  # the program ends, and its screens are closed
                return
            if isinstance(event, events.Key) and not self.app_focus:
                self.app_focus = True  # focuses the widget again that the key is for
            if isinstance(event, events.Key) and await self._handle_key(event):
                return
            if isinstance(event, events.Paste) and isinstance(self.screen, KeyedScreen):
                self.screen.handle_now(event)
                return
            if isinstance(event, events.Key):
                self._echo(event)
            elif isinstance(self.screen, ChatScreen) and await self.screen.paste_behind_question(event):
                return
        await super().on_event(event)

    async def _type_run(self, keys: Sequence[events.Key]) -> None:
        """Handle keys that were typed in one go; characters that only extend the text of the prompt are inserted together."""
        at = 0
        while at < len(keys):
            end = at
            if self._early is None and self._hold is None and isinstance(self.screen, ChatScreen):
                while end < len(keys) and self.screen.is_plain_text(keys[end]):
                    end += 1
            if end - at > 1:
                await self.chat.type_text(keys[at:end])
                at = end
                continue
            await self.on_event(keys[at])
            at += 1

    def hold_until_shown(
        self, cancel: Callable[[], object] | None = None, *, lets_type: bool = False
    ) -> Callable[[], None]:
        """Keep all keys for what is being loaded, until the returned function is called; escape calls `cancel` and drops them.

        With `lets_type` text goes into the prompt until the first other key. Without `cancel` the keys that quit do so, but
        are kept as long as they would be for other kept keys.
        """
        hold = self._hold = Hold(cancel, lets_type)
        if not lets_type and self._early is None:
            self._early = []

        def release() -> None:
            if self._hold is hold:
                self._hold = None
                self.begin_keys()

        return release

    def hold_from_key(self) -> tuple[Callable[[], None], bool]:
        """Keep the key that is being handled and all later ones; return what ends that, and whether there is such a key."""
        release = self.hold_until_shown()
        if self._key is not None and self._early is not None:
            self._early.insert(0, self._key)
        return release, self._key is not None

    def _is_held(self, event: events.Key | events.Paste) -> bool:
        """Keep a key or paste that is for what is not shown yet; return whether it was kept."""
        hold = self._hold
        if hold is not None and isinstance(event, events.Key):
            if hold.cancel is None and self._quits(event):
                if all(map(self._edits, self._early or ())):
                    return False
                if self._is_last_press(event):
                    self.chat.leave()
                    return True
            if hold.cancel is not None and closes_page(self.router.keymap, event):
                if self._early is not None:
                    self._early.clear()
                hold.cancel()
                return True
        is_text = isinstance(event, events.Paste) or event.is_printable
        if self._early is None and hold is not None and not (hold.lets_type and is_text):
            self._early = []
        if (
            self._early is None
            and self.screen_stack
            and isinstance(self.screen, KeyedScreen)
            and not self.screen.is_ready
        ):
            self._early = []
        if self._early is not None:
            self._early.append(event)
            if hold is not None and hold.cancel is None and isinstance(event, events.Key):
                self.chat.on_any_key(event.key, is_printable=event.is_printable)
        return self._early is not None

    def _is_last_press(self, event: events.Key) -> bool:
        """Return whether a key quits after the kept ones: at its second press, and at the third one if the first clears a text.

        One that deletes single characters may be for any text.
        """
        kept, presses = list(self._early or ()), 0
        while kept and isinstance(last := kept[-1], events.Key) and self._quits(last):
            kept.pop()
            presses += 1
        while kept and self._edits(kept[-1]):
            kept.pop()
        last = kept[-1] if kept else None
        sends = isinstance(last, events.Key) and BY_ID["input_submit"] in self._prompt_actions(last)
        if last is None or sends:
            return presses > 0
        return presses > 1 and all(one.group != _EDITS for one in self._prompt_actions(event))

    def _edits(self, event: events.Key | events.Paste) -> bool:
        """Return whether a kept key does nothing in an empty prompt."""
        if not isinstance(event, events.Key) or self._quits(event):
            return False
        return {one.group for one in self._prompt_actions(event)} == {_EDITS}

    def _prompt_actions(self, event: events.Key) -> Sequence[Action]:
        return self.keymap.actions(event.key, ("prompt",))

    def _quits(self, event: events.Key) -> bool:
        quit_action = BY_ID[QUIT]
        return quit_action in self.keymap.actions(event.key, (quit_action.scope,))

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

    def begin_keys(self) -> None:
        """Deliver the kept keys, and all later ones at once."""
        self.call_later(self._deliver_early)

    def act_on_page(self, action_id: str) -> None:
        """Run an action of the chat over the page that is shown."""
        self.chat.act(action_id)

    async def _deliver_early(self) -> None:
        """Deliver the first kept key, then the others behind what that one does: it may close a list, or show what keeps them."""
        early, self._early = self._early or [], None
        if not early:
            return
        await self.on_event(early.pop(0))
        is_kept = self._early is not None
        if early:
            self._early = [*(self._early or ()), *early]
            if not is_kept:
                self.begin_keys()  # in a message of its own: the result of a list that the key closed comes first

    async def _handle_key(self, event: events.Key) -> bool:
        screen = self.screen
        if isinstance(screen, ChatScreen):
            screen.begin_key(event)
        self._key = None if self.router.is_in_sequence else event
        if isinstance(screen, ChatScreen) and screen.typed_editor is not None and self.router.knows(event.key, TYPING):
            await screen.wait_for_typed(event.key)
        if self.copy_selection(event.key):
            return True
        try:
            if not isinstance(screen, ChatScreen):
                if isinstance(screen, KeyedScreen):
                    screen.handle_now(event)
                return isinstance(screen, KeyedScreen)
            screen.begin_key(event)  # again: a question may have appeared while the editor was written
            screen.on_any_key(event.key, is_printable=event.is_printable)
            is_priority = not self.router.is_in_sequence and screen.handle_priority_key(event.key, event.character)
            return (
                is_priority
                or self.router.handle(event, screen)
                or await screen.type_behind_question(event)
                or screen.handle_in_panel(event)
            )
        except Exception as error:
            if self.is_headless:
                raise
            _log.exception("an action on %s failed", event.key)
            self.show_failure(error)
            return True
        finally:
            self._key = None
            if isinstance(screen, ChatScreen):
                screen.end_key()

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
