"""The app, and its main screen: title, conversation, activity, prompt and status, with the sidebar next to them."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Static

from opencode_tui.schema.api.keybinds import BY_ID, QUIT, Action
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.quantity import duration, short_path
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.base_app import BaseApp
from opencode_tui.tui.chrome.activity import Activity, Kind
from opencode_tui.tui.chrome.frame import Frame
from opencode_tui.tui.keys.key_run import KeyRun
from opencode_tui.tui.keys.keyed import KeyedScreen
from opencode_tui.tui.keys.router import KeyTarget, Way
from opencode_tui.tui.options import Ending, StartOptions
from opencode_tui.tui.output.display import LineScreen
from opencode_tui.tui.prompt.editor import Editor
from opencode_tui.tui.screen_guards import ErrorBoundary, log_path
from opencode_tui.tui.theme.look import Look

if TYPE_CHECKING:
    from opencode_tui.client.client import Client
    from opencode_tui.tui.chat.chat import Chat, Requests
    from opencode_tui.tui.chrome.status_line import Pressed
    from opencode_tui.tui.conversation import requests
    from opencode_tui.tui.dialogs.panel import Panel
    from opencode_tui.tui.state.pump import Pump

VAST, WIDE, NARROW = 180, 140, 120
"""Cells from which the sidebar is very wide, or wide, and under which it is hidden."""

LOW = 20
"""Rows under which a question that replaces the prompt may have all of them but one."""

SLOW_S = 3.0
"""Seconds after which the wait for the engine is shown instead of the first page."""

TYPING = ("prompt", "completion", "recent", "chat", "app")
"""Scopes of the keys whose actions may depend on the text that is typed."""

COMMAND = "/"
"""What a prompt begins with that is a command."""

_MEANS_MORE = "/#"
"""Characters before which the editor may change its text."""

RECALLS = ("history_previous", "history_next")
"""Actions that the prompt's box does, not its editor."""


def load_actions() -> "Requests":
    """Import all actions, which registers them, and the chat. Blocks for some tenths of a second: after the first frame."""
    from opencode_tui.tui.actions import (
        check,
        export,
        facts,
        forms,
        lists,
        login,
        pages,
        permissions,
        pick,
        prompt,
        remote,
        review,
        run,
        session,
        session_lists,
        settings,
        share,
        side_question,
        trust,
        undo,
        view,
    )
    from opencode_tui.tui.chat.chat import Requests

    modules = (
        *(check, export, facts, forms, lists, login, pages, permissions, pick, prompt, review, run, session),
        *(session_lists, settings, share, side_question, trust, undo, view),
    )
    return Requests(of_client=remote.do_request, show=session.show_anywhere, actions=modules)


class Opening:
    """The time before the engine is open: what waits for it, and the wait in the activity line."""

    def __init__(self, frame: Frame, app: BaseApp) -> None:
        self._frame = frame
        self._app = app
        self.actions: list[str] = []
        """The actions to run once the engine is open, before what kept keys do."""
        self.on_shown: Callable[[], None] | None = None
        """To be called when the actions have run: keys are kept until then, from the first one that needs the engine on."""
        self.first_press = ""
        """The key that quits, if it was pressed once, until another key."""
        self._wait: tuple[str, float] | None = None
        """What the activity line says is waited for, and for how many seconds."""

    def begin_with(self, action_id: str) -> None:
        """Run an action before those of keys once the engine is open; all keys are for what it shows."""
        self.actions.insert(0, action_id)
        self.on_shown = self._app.hold_until_shown()

    def show_wait(self, what: str, seconds: float) -> None:
        """Show in the activity line what is waited for, and for how long: `Opening ~/work  3 s`."""
        self._wait = what, seconds
        key, act = self.first_press or self._app.keymap.first(QUIT), "again to quit" if self.first_press else "quit"
        self._frame.activity.show(Activity("busy", screen_line(what), duration(seconds), key, act, QUIT))

    def press_quit(self, key: str) -> bool:
        """Return whether a key quits at once: one that edits the prompt does so at its second press, as at a complete screen."""
        if self.first_press or not self._app.keymap.actions(key, ("prompt",)):
            return True
        self._press(key)
        return False

    def end_press(self, key: str) -> None:
        """End a first press at another key."""
        if self.first_press and key != self.first_press:
            self._press("")

    def _press(self, key: str) -> None:
        self.first_press = key
        if self._wait is not None:
            self.show_wait(*self._wait)

    def keep(self, action_id: str) -> None:
        """Run an action later.

        Its key is kept with all later ones, as what they do depends on it: then each does what it does at a complete screen.
        A sequence of keys and a click are kept by their actions.
        """
        self.on_shown, is_kept = self._app.hold_from_key()
        if not is_kept:
            self.actions.append(action_id)


class ChatScreen(KeyTarget, ErrorBoundary, LineScreen[None], inherit_bindings=False):
    """The main screen; `attach` builds the chat, which the first frame does not need."""

    scopes = ("prompt", "item", "chat", "app")

    def __init__(self, options: StartOptions, app: BaseApp, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._app = app
        self._options = options
        self._clock = clock
        self._frame = Frame()
        self.prompt = self._frame.prompt
        self._opening = Opening(self._frame, app)
        self._chat: Chat | None = None
        self._waits_for = ""
        """What is waited for besides opening the folder, in words."""
        self._is_shell = False
        self._opened_at = clock()

    @property
    def is_open(self) -> bool:
        """Whether the engine is open, and the chat is built."""
        return self._chat is not None

    @property
    def opened(self) -> "Chat":
        """The chat. Raises RuntimeError before the engine is open."""
        if self._chat is None:
            raise RuntimeError("the engine is not open yet")
        return self._chat

    def compose(self) -> ComposeResult:
        """Yield the rows from top to bottom."""
        frame = self._frame
        with Vertical(id="page"):
            yield frame.header
            yield frame.talk
            yield frame.activity
            yield frame.queue
            with frame.ask:
                yield frame.prompt
            yield Static(id="gap")
            yield frame.status

    def on_mount(self) -> None:
        """Accept keys from the first frame on."""
        self.prompt.editor.focus()
        self._app.begin_keys()
        if self._options.is_choosing:
            self._opening.begin_with("session_list")
        self._wait_shown = self.set_interval(1.0, self._show_opening)

    def _show_opening(self) -> None:
        """Show how long the engine takes to open, or stop that."""
        if self.is_open:
            self._wait_shown.stop()
        else:
            seconds = self._clock() - self._opened_at
            if seconds >= SLOW_S:
                self._app.acquire_terminal_soon()
            what = self._options.server or short_path(str(self._options.directory), os.path.expanduser("~"))
            self._opening.show_wait(self._waits_for or f"Opening {what}", seconds)

    def wait_for_engine(self, pid: int | None) -> None:
        """Say that the engine of another process is waited for."""
        from opencode_tui.client.join import WAIT_S
        from opencode_tui.text.wait import engine_words  # a wait is rare

        self._waits_for = engine_words(pid, WAIT_S)
        if self.is_open:
            self._app.report("note", self._waits_for)

    def set_focus(self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False) -> None:
        """Focus a widget, or none; not one that is being removed: a request may come late, and every later key would be lost."""
        if widget is None or not any(one._pruning for one in widget.ancestors_with_self):  # pyright: ignore[reportPrivateUsage] - Textual has no other word for it
            super().set_focus(widget, scroll_visible, from_app_focus)

    def on_resize(self, event: events.Resize) -> None:
        """Remove empty rows and the sidebar where there is little space."""
        width, height = event.size
        self.set_class(height < 26 or width < 80, "-compact")
        self.set_class(height < LOW, "-low")
        self.set_class(width >= WIDE, "-wide")
        self.set_class(width >= VAST, "-vast")
        self.set_class(NARROW <= width < WIDE, "-middle")
        self.set_class(width < NARROW, "-narrow")
        if width >= NARROW:
            self.remove_class("-over")
        self.refresh_chrome()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Show the keys of what has the focus; close the browser when the prompt gets it."""
        if self._chat is not None:
            self._chat.refresh_chrome()
            self._chat.follow_focus(event.widget)

    def attach(self, client: "Client") -> None:
        """Connect the screen to the engine."""
        from opencode_tui.tui.actions import run  # loaded after the first frame
        from opencode_tui.tui.chat.chat import Chat
        from opencode_tui.tui.state.pump import Pump

        requests = load_actions()
        chat = Chat(self, self._frame, self._app, client, requests, self._options, self._clock)
        pump = Pump(client.events(), apply=chat.control.apply, drained=chat.soon)
        self._chat = chat
        if self._opening.first_press:
            run.press_quit_first(chat, self._opening.first_press)
        self.run_worker(partial(self._begin, chat, pump), exit_on_error=False)

    async def _begin(self, chat: "Chat", pump: "Pump") -> None:
        from opencode_tui.tui.actions import prompt
        from opencode_tui.tui.chat.start import begin

        opens_session = self._options.session_id is not None or self._options.is_continued
        release = self._app.hold_until_shown(lets_type=True) if opens_session else None
        try:
            await begin(chat, "Loading the session" if opens_session else "Loading the start page")
        except Exception as error:  # noqa: BLE001 - the caller of the app reports it
            self.leave(error)
            return
        self.run_worker(pump.run, exit_on_error=False)
        if self._options.place is not None:
            chat.do(chat.show_place(self._options.place))
        chat.refresh_chrome()
        self._app.use_keys_soon()
        for action_id in self._opening.actions:
            if self.can(BY_ID[action_id]):
                self.act(action_id)
        if self._options.prompt:
            typed = self.prompt.pop_draft()
            self.prompt.editor.put(self._options.prompt)
            prompt.submit(chat)
            self.prompt.put_back(typed)
        if self._opening.on_shown is not None:
            if self.prompt.editor.text.startswith(COMMAND):
                await chat.completing.follow(is_typed=True)  # the first kept key may choose one
            self._opening.on_shown()
        if release is not None:
            release()

    @property
    def typed_editor(self) -> Editor | None:
        """The editor that typed keys are for: the focused one, or the prompt's while a question accepts no key yet."""
        if self._app.router.is_for_prompt:
            return self.prompt.editor
        return self.focused if isinstance(self.focused, Editor) else None

    async def _wait_for_typed(self, key: str) -> None:
        """Wait until what was typed before a key is in the editor that typed keys are for."""
        editor = self.typed_editor
        if editor is self.prompt.editor:
            is_for_completions = bool(self._app.keymap.actions(key, ("completion",)))
            await self.prompt.wait_for_typed(is_for_completions=is_for_completions)
        elif editor is not None:
            await editor.written()

    async def route_key(self, event: events.Key, copies: Callable[[str], bool]) -> bool:
        """Handle a key; return False for one that is for the focused widget. `copies` returns whether it copies a selection."""
        router = self._app.router
        self._begin_key(event)
        if self.typed_editor is not None and router.knows(event.key, TYPING):
            await self._wait_for_typed(event.key)
        if copies(event.key):
            return True
        self._begin_key(event)  # again: a question may have appeared while the editor was written
        self.on_any_key(event.key, is_printable=event.is_printable)
        if not router.is_in_sequence and self._handle_priority_key(event.key, event.character):
            return True
        if router.handle(event, self):
            return True
        if router.is_for_prompt:
            if event.is_printable and event.character:
                await self.prompt.editor.written()  # in order
                self.prompt.editor.put_in(event.character)
            return True
        return self._chat is not None and self._chat.panels.receive_key(event, self.focused)

    async def paste_behind_question(self, event: events.Paste) -> bool:
        """Put what was pasted before the question could be read into the prompt; return whether it was."""
        self._begin_key(event)
        is_for_prompt = self._app.router.is_for_prompt
        self._app.router.end()
        if is_for_prompt:
            await self.prompt.editor.written()  # in order
            self.prompt.paste(event.text)
        elif not isinstance(self.focused, Editor):
            self.come_back()  # the keys behind it may be a part of it
        return is_for_prompt

    def is_plain_text(self, event: events.Key) -> bool:
        """Return whether a typed character does no more than extend the text of the prompt, which has one and the focus."""
        editor, character = self.prompt.editor, event.character
        return (
            self.focused is editor
            and self.prompt.vim_mode in ("", "vim insert")
            and bool(editor.text)
            and character is not None
            and character not in _MEANS_MORE
            and not self._app.router.knows(event.key, TYPING)
            and not (self._chat is not None and self._chat.panels.is_for_prompt(event, editor))
        )

    async def type_text(self, keys: Sequence[events.Key]) -> None:
        """Insert characters for which `is_plain_text` holds into the prompt, behind those that are still in its queue."""
        editor = self.prompt.editor
        self.on_any_key(keys[-1].key, is_printable=True)
        await editor.written()
        editor.typed_at = int(keys[-1].time * 1000)
        editor.put_in("".join(key.character or "" for key in keys))

    def _begin_key(self, event: events.Key | events.Paste) -> None:
        """Decide whether a key is for the question that is shown, or was typed before it could be read."""
        chat = self._chat
        self._app.router.is_for_prompt = chat is not None and chat.panels.is_for_prompt(event, self.focused)
        if self.typed_editor is self.prompt.editor:
            self.prompt.editor.typed_at = int(event.time * 1000)

    @property
    def _is_behind_question(self) -> bool:
        """Whether the current key is for a prompt that a question hides: it may change its text, and does no more."""
        return self._app.router.is_for_prompt and self.opened.panels.is_open

    def come_back(self, since: int = 0) -> None:
        """Have a question ignore keys for a while that appeared since a moment in ms, in which the user saw something else."""
        if self.is_open:
            self.opened.panels.come_back(since)

    def on_any_key(self, key: str, *, is_printable: bool) -> None:
        """End what lasts until another key."""
        if self._chat is not None:
            self._chat.begin_key(key, is_printable=is_printable)
        else:
            self._opening.end_press(key)

    def _handle_priority_key(self, key: str, character: str | None) -> bool:
        """Handle a key of the list above the prompt, of the start page's list, or of vim; return whether it was one."""
        chat = self._chat
        if chat is not None:
            is_empty = self.typed_editor is self.prompt.editor and not self.prompt.editor.text
            if chat.complete(key) or (is_empty and not self._is_behind_question and chat.choose_recent(key)):
                return True
        mode = self.prompt.vim_mode
        is_used = self.typed_editor is self.prompt.editor and self.prompt.vim_key(key, character)
        if self.prompt.vim_mode != mode:
            self.refresh_chrome()
        return is_used

    def show_note(self, kind: Kind, words: str, facts: str = "") -> None:
        """Show a message in the activity line until the next key with an action, once the engine is open."""
        if self._chat is not None:
            self._chat.show_note(kind, words, facts)

    def refresh_chrome(self) -> None:
        """Update everything around the conversation, once the engine is open."""
        if self._chat is not None:
            self._chat.refresh_chrome()

    def restyle(self) -> None:
        """Draw everything in the current look."""
        for editor in self.query(Editor):
            editor.restyle()
        if self._chat is not None:
            self._chat.view.request_frame()
        self.refresh_all()

    def refresh_all(self) -> None:
        """Draw every widget again."""
        self.refresh()
        for widget in self.query("*"):
            widget.refresh()

    def leave(self, error: BaseException | None = None, *, messages: Sequence[str] = ()) -> None:
        """End the app with the session to resume; the messages are then shown in the terminal."""
        if self._chat is not None:
            self._chat.leave(error, messages=messages)
        else:
            self._app.exit(Ending(None, "", error, messages=tuple(messages)))

    def hang_up(self) -> None:
        """End the app because its terminal is gone; what runs may go on."""
        if self._chat is not None:
            self._chat.hang_up()
        else:
            self.leave()

    def can(self, action: Action) -> bool:
        """Return whether an action is available now: the focused editor comes first."""
        editor = self.typed_editor
        if action.scope == "prompt":
            return isinstance(editor, Editor) and self._may_write(editor, action.id)
        is_character = action.id == "help_view" and self._app.last_key == "question_mark"
        is_in_text = self.prompt.editor.text != "" or editor is not self.prompt.editor
        if is_character and is_in_text:
            return False
        return self._chat.can(action) if self._chat is not None else action.scope != "item"

    def _may_write(self, editor: Editor, action_id: str) -> bool:
        if action_id in RECALLS:
            return editor is self.prompt.editor and (not self.is_open or self.prompt.can_recall(action_id))
        return editor.can(action_id)

    def act(self, action_id: str) -> None:
        """Run an action."""
        editor = self.typed_editor
        if action_id in RECALLS and not self.is_open:
            self._run(action_id)  # the history is not read yet
        elif action_id in RECALLS:
            self.prompt.recall(action_id)
        elif action_id == "input_submit" and editor is self.prompt.editor:
            if not self.prompt.editor.continue_line() and not self._is_behind_question:
                self._run(action_id)  # at once: characters after the key belong to the next prompt
        elif action_id == "input_clear" and editor is self.prompt.editor:
            self.prompt.clear()
        elif isinstance(editor, Editor) and editor.can(action_id):
            editor.apply(action_id)
        else:
            self._run(action_id)

    def _run(self, action_id: str) -> None:
        """Run an action of the chat; before the engine is open later, but quit."""
        if self._chat is not None:
            self._chat.run(action_id)
        elif action_id != QUIT:
            self._opening.keep(action_id)
        elif self._opening.press_quit(self._app.last_key):
            self.leave()

    def on_text_area_changed(self) -> None:
        """Show in the status line whether the prompt is a command for the shell."""
        if self.prompt.is_shell != self._is_shell:
            self._is_shell = self.prompt.is_shell
            self.refresh_chrome()

    def show_leader(self, is_pending: bool) -> None:
        """Show or hide that the second key of a sequence is expected; after a moment list the keys."""
        at_right = Activity(key=self._app.keymap.leader, act="…", action_id="") if is_pending else Activity()
        self._frame.activity.show_at_right(at_right)
        if self._chat is not None:
            self._chat.leader_keys.show_soon(self._leader_keys if is_pending else None)

    def _leader_keys(self) -> Sequence[tuple[str, Action]]:
        return [one for one in self._app.keymap.leader_keys(self.scopes) if self.can(one[1])]

    # Requests of the conversation, the sidebar and the prompt, which are there once the engine is open.

    def on_follow_changed(self, event: "requests.FollowChanged") -> None:
        """Show or hide how many new lines are under the visible ones."""
        chat = self.opened
        key = min(chat.keymap.keys("messages_last"), key=len, default="")
        at_right = Activity(
            word=f"{chat.header.look.glyphs.down} {event.new_lines} new", key=key, action_id="messages_last"
        )
        chat.show_at_right(Activity() if event.is_following or not event.new_lines else at_right)

    def on_session_requested(self, event: "requests.SessionRequested") -> None:
        """Show another session."""
        self.opened.load_page("Loading the session", self.opened.control.open(event.session_id), lets_type=True)

    def on_revert_requested(self, event: "requests.RevertRequested") -> None:
        """Preview an undo from a message on."""
        from opencode_tui.tui.actions.undo import ask_undo

        work = ask_undo(self.opened, event.message_id, event.part_id)
        self.opened.load_page("Loading what would be undone", work)

    def on_top_near(self, _event: "requests.TopNear") -> None:
        """Read the older messages of a long session."""
        self.opened.do(self.opened.load_whole())

    def on_find_requested(self, _event: "requests.FindRequested") -> None:
        """Ask for a text to find in the conversation."""
        self.opened.run("messages_find")

    def on_redo_requested(self, _event: "requests.RedoRequested") -> None:
        """Redo what was undone."""
        from opencode_tui.tui.actions.undo import ask_redo

        self.opened.do(ask_redo(self.opened))

    def on_fork_requested(self, event: "requests.ForkRequested") -> None:
        """Fork from a message."""
        from opencode_tui.tui.actions.session import fork

        session_id = self.opened.control.session_id
        if session_id is not None:
            self.opened.do(fork(self.opened, session_id, event.message_id))

    def on_restore_requested(self, event: "requests.RestoreRequested") -> None:
        """Restore a pruned output in the context."""
        from opencode_tui.tui.actions.session import restore

        self.opened.do(restore(self.opened, event.item.part.id))

    def on_copy_requested(self, event: "requests.CopyRequested") -> None:
        """Copy through the terminal."""
        self.app.copy_to_clipboard(event.text)
        self.show_note("done", "Copied", event.what)

    def on_nothing_to_copy(self, _event: "requests.NothingToCopy") -> None:
        """Report that there is no code block."""
        self.show_note("note", "No code block here")

    def on_editor_requested(self, event: "requests.EditorRequested") -> None:
        """Open a file that an item names."""
        from opencode_tui.tui.actions.pick import open_item

        open_item(self.opened, event.item)

    def on_link_requested(self, event: "requests.LinkRequested") -> None:
        """Copy an address, so that the user chooses what opens it."""
        self.app.copy_to_clipboard(event.href)
        self.show_note("done", "Copied", event.href)

    def on_picture_requested(self, event: "requests.PictureRequested") -> None:
        """Show pictures on a page of their own, or the first one outside."""
        from opencode_tui.tui.pages.picture import PictureScreen, view_outside

        if event.is_outside:
            self.opened.do(asyncio.to_thread(view_outside, event.pictures[0]))
        else:
            self.opened.open_page(PictureScreen(event.pictures, self.opened.app.picture_forms))

    def on_full_text_requested(self, event: "requests.FullTextRequested") -> None:
        """Show a long text on a page of its own."""
        self.opened.open_text(event.full)

    def on_pressed(self, event: "Pressed") -> None:
        """Run the action of a clicked hint, or one of the session browser."""
        action = BY_ID[event.action_id]
        if self.can(action):
            self.act(action.id)

    def on_left(self, _event: "requests.Left") -> None:
        """Focus the prompt."""
        self.prompt.editor.focus()

    def on_panel_typed(self, event: "Panel.Typed") -> None:
        """Put a character into the prompt that was typed while a question appeared."""
        self.prompt.editor.put_in(event.character)

    def on_completions_chosen(self) -> None:
        """Insert the clicked completion."""
        self.opened.completing.accept(send=False)

    def on_editor_opened(self, event: "Editor.Opened") -> None:
        """Show the attachment of the clicked marker, if there is one."""
        from opencode_tui.tui.actions.prompt import open_attachment

        event.stop()
        if self.prompt.open_attachment(event.marker) is not None:
            open_attachment(self.opened, event.marker)


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
