"""The chat screen: title, conversation, activity, prompt and status, with the sidebar next to them."""

import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static

from opencode_tui.schema.api.keybinds import BY_ID, Action
from opencode_tui.tui.chrome.activity import Activity, ActivityLine, Kind
from opencode_tui.tui.chrome.header import Header
from opencode_tui.tui.chrome.queue_rows import QueueRows
from opencode_tui.tui.chrome.status_line import StatusLine
from opencode_tui.tui.keys.keymap import Keymap
from opencode_tui.tui.options import Ending, Place, StartOptions
from opencode_tui.tui.output.display import LineScreen
from opencode_tui.tui.prompt.box import PromptBox
from opencode_tui.tui.prompt.editor import Editor
from opencode_tui.tui.screen_guards import ErrorBoundary

if TYPE_CHECKING:
    from opencode_tui.client.client import Client
    from opencode_tui.schema.event.screen_event import ScreenToastShown
    from opencode_tui.tui.actions.table import ActionTable
    from opencode_tui.tui.chat.panel_host import PanelHost
    from opencode_tui.tui.chrome.leader_keys import LeaderKeys
    from opencode_tui.tui.chrome.refresh import ChromeRefresh
    from opencode_tui.tui.chrome.session_browser import SessionBrowser
    from opencode_tui.tui.chrome.sidebar import Sidebar
    from opencode_tui.tui.chrome.status_line import Pressed
    from opencode_tui.tui.chrome.welcome import Welcome
    from opencode_tui.tui.conversation import requests
    from opencode_tui.tui.conversation.tools.tool import FullText
    from opencode_tui.tui.conversation.view import ConversationView
    from opencode_tui.tui.dialogs.panel import Panel
    from opencode_tui.tui.screen_api import AppApi
    from opencode_tui.tui.state.controller import Pump, SessionController

_log = logging.getLogger(__name__)

WIDE, NARROW = 140, 120
"""Cells from which the sidebar is wide, and under which it is hidden."""

TYPING = ("prompt", "completion", "recent", "chat", "app")
"""Scopes of the keys whose actions may depend on the text that is typed."""

LEADER_DELAY_S = 0.4
"""Seconds after the leader key until the keys are listed; who knows the second key presses it earlier."""


class ChatScreen(ErrorBoundary, LineScreen[None], inherit_bindings=False):
    """The main screen; `attach` adds what the first frame does not need."""

    scopes = ("prompt", "item", "chat", "app")
    control: "SessionController | None" = None
    action_table: "ActionTable | None" = None
    panels: "PanelHost | None" = None
    sidebar: "Sidebar | None" = None
    browser: "SessionBrowser | None" = None
    leader_keys: "LeaderKeys | None" = None
    view: "ConversationView | None" = None
    welcome: "Welcome | None" = None
    _chrome: "ChromeRefresh | None" = None

    def __init__(self, options: StartOptions, app_api: "AppApi", clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self.options = options
        self._app_api = app_api
        self._clock = clock
        self.header = Header()
        self.activity = ActivityLine()
        self.queue = QueueRows()
        self.prompt = PromptBox()
        self.talk = Container(id="talk")
        self.ask = Container(id="ask")
        self.status = StatusLine()
        self._is_submitted = False
        self._is_deaf = False
        """Whether the key that is being handled comes before a question accepts keys."""
        self._early_actions: list[str] = []
        """Actions of keys that were pressed before the engine was open."""
        self._leader_timer: Timer | None = None
        self._is_shell = False

    @property
    def keymap(self) -> Keymap:
        """Return the active keys."""
        return self._app_api.keymap

    @property
    def is_folded(self) -> bool:
        """Return whether the sidebar is hidden."""
        return not (self.has_class("-wide") or self.has_class("-middle")) or self.has_class("-hidden")

    @property
    def is_browsing(self) -> bool:
        """Return whether the session browser is in the place of the sidebar."""
        return self.has_class("-browsing")

    def compose(self) -> ComposeResult:
        """Yield the rows from top to bottom."""
        with Vertical(id="page"):
            yield self.header
            yield self.talk
            yield self.activity
            yield self.queue
            with self.ask:
                yield self.prompt
            yield Static(id="gap")
            yield self.status

    def on_mount(self) -> None:
        """Accept keys from the first frame on."""
        self.prompt.editor.focus()
        self._app_api.begin_keys()

    def on_resize(self, event: events.Resize) -> None:
        """Remove empty rows and the sidebar where there is little space."""
        width, height = event.size
        self.set_class(height < 26 or width < 80, "-compact")
        self.set_class(width >= WIDE, "-wide")
        self.set_class(NARROW <= width < WIDE, "-middle")
        self.set_class(width < NARROW, "-narrow")
        if width >= NARROW:
            self.remove_class("-over")
        self.refresh_chrome()

    def toggle_sidebar(self) -> None:
        """Show or hide the sidebar; on a narrow screen it covers the chat."""
        self.toggle_class("-hidden" if self.size.width >= NARROW else "-over")
        self.call_after_refresh(self.refresh_chrome)

    def open_browser(self) -> None:
        """Show the session browser with the focus, or close it if it has the focus."""
        if self.browser is None or self.control is None:
            return
        if self.browser.has_focus:
            self.close_browser()
            return
        if not self.is_browsing:
            self.add_class("-browsing")
            self.browser.reset()
            self.browser.select(self.control.session_id or "")
        self.browser.focus()
        self.call_after_refresh(self.refresh_chrome)

    def close_browser(self) -> None:
        """Show the sidebar again and focus the prompt or its panel."""
        self.remove_class("-browsing")
        if self.panels is not None:
            self.panels.focus()
        self.call_after_refresh(self.refresh_chrome)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Show the keys of what has the focus; close the browser when the prompt gets it."""
        self.refresh_chrome()
        if self.is_browsing and event.widget is self.prompt.editor:
            self.close_browser()

    def attach(self, client: "Client") -> None:
        """Connect the screen to the engine."""
        from opencode_tui.tui.actions.table import ActionTable  # loaded after the first frame
        from opencode_tui.tui.chat.panel_host import PanelHost
        from opencode_tui.tui.chat.remote_commands import on_screen_event
        from opencode_tui.tui.chrome.leader_keys import LeaderKeys
        from opencode_tui.tui.chrome.refresh import ChromeRefresh
        from opencode_tui.tui.chrome.session_browser import SessionBrowser
        from opencode_tui.tui.chrome.sidebar import Sidebar
        from opencode_tui.tui.state.controller import Pump, SessionController

        self.sidebar, self.browser = Sidebar(), SessionBrowser()
        self.mount(self.sidebar, self.browser)
        self.leader_keys = LeaderKeys()
        self.leader_keys.display = False
        self.query_one("#page").mount(self.leader_keys)
        opened, lagged, requested = self.show_conversation, self._reload, partial(on_screen_event, self)
        control = self.control = SessionController(
            client, opened=opened, lagged=lagged, requested=requested, clock=self._clock
        )
        panels = self.panels = PanelHost(self, control)
        self.action_table = ActionTable(self, self._app_api, panels, control)
        title, notify = self._app_api.title_line, self._app_api.notify_terminal
        self._chrome = ChromeRefresh(self, control, panels, title, notify)
        pump = Pump(client, apply=control.apply, drained=self.refresh_chrome_soon)
        self.run_worker(partial(self._begin, control, pump), exit_on_error=False)

    async def _begin(self, control: "SessionController", pump: "Pump") -> None:
        from opencode_tui.tui.start import begin

        try:
            await begin(self, self._app_api, control)
        except Exception as error:  # noqa: BLE001 - the caller of the app reports it
            self.leave(error)
            return
        self.run_worker(pump.run, exit_on_error=False)
        self.refresh_chrome()
        assert self.action_table is not None
        if self._is_submitted:
            self.action_table.prompt.submit()
        for action_id in self._early_actions:
            if self.can(BY_ID[action_id]):
                self.act(action_id)
        if self.options.prompt:
            typed = self.prompt.pop_draft()
            self.prompt.editor.put(self.options.prompt)
            self.action_table.prompt.submit()
            self.prompt.put_back(typed)

    def _reload(self, reason: str) -> None:
        self.do(self._read_again(reason))

    async def _read_again(self, reason: str) -> None:
        if self.control is not None:
            await self.control.reload()
            if reason:
                self.refresh_chrome()  # shows the end of a run, which the reason replaces
                self.show_note("note", reason)

    def show_conversation(self) -> None:
        """Show the transcript of the controller, or the welcome text when there is no session."""
        from opencode_tui.tui.chrome.welcome import Welcome
        from opencode_tui.tui.conversation.view import ConversationView

        control = self.control
        assert control is not None
        root = str(control.client.directory)
        if self.view is None:
            redo, focus = self.keymap.first("messages_redo"), self.keymap.first("messages_focus")
            self.view = ConversationView(
                control.transcript, root=root, redo_key=redo, focus_key=focus, clock=self._clock
            )
            self.view.wheel = control.wheel
            self.welcome = Welcome()
            self.talk.mount(self.view, self.welcome)
            if control.facts is not None and control.undo_off:  # the welcome text says it otherwise
                self.show_note("note", *control.undo_off.capitalize().split(": ", 1))
        else:
            self.view.show(control.transcript, root=root)
        assert self.welcome is not None
        self.view.display = control.facts is not None
        self.welcome.display = control.facts is None
        if control.facts is None:
            self.welcome.show(control, self.keymap.first)
        if control.is_elsewhere:
            self.do(control.follow_elsewhere())
        self.refresh_chrome()

    def start_completions(self, control: "SessionController") -> None:
        """Suggest files, agents and commands in the prompt from now on."""
        from opencode_tui.tui.prompt.completion import Completions

        completions = Completions()
        completions.display = False
        self.query_one("#page").mount(completions)
        self.prompt.complete_with(control.client, completions)

    @property
    def typed_editor(self) -> Editor | None:
        """The editor that typed keys are for: the focused one, or the prompt's while a question accepts no key yet."""
        if self._is_deaf:
            return self.prompt.editor
        return self.focused if isinstance(self.focused, Editor) else None

    async def type_behind_question(self, event: events.Key) -> bool:
        """Put a character that was typed before the question could be read into the prompt; return whether to drop the key."""
        if self._is_deaf and event.is_printable and event.character:
            await self.prompt.editor.written()  # in order
            self.prompt.editor.put_in(event.character)
        return self._is_deaf

    def begin_key(self, event: events.Key) -> None:
        """Decide whether a key is for the question that is shown, or was typed before it could be read."""
        self._is_deaf = self.panels is not None and self.panels.is_for_prompt(event, self.focused)

    def end_key(self) -> None:
        """End what `begin_key` decided: a click has no such doubt."""
        self._is_deaf = False

    def on_any_key(self, key: str, *, is_printable: bool) -> None:
        """End what lasts until another key: an armed first press, and an error once the next prompt is begun."""
        if self.action_table is not None:
            self.action_table.run.disarm_other(key)
        if is_printable and not self.prompt.editor.text and self.activity.activity.kind == "failed":
            self.clear_note()

    def handle_priority_key(self, key: str, character: str | None) -> bool:
        """Handle a key of the list above the prompt, or one of vim in it; return whether it was one."""
        if self.prompt.completing:
            completing = self.keymap.actions(key, ("completion",))
            if completing and self.prompt.complete(completing[0].id):
                return True
        if self._choose_recent(key):
            return True
        mode = self.prompt.vim_mode
        is_used = self.typed_editor is self.prompt.editor and self.prompt.vim_key(key, character)
        if self.prompt.vim_mode != mode:
            self.refresh_chrome()
        return is_used

    def _choose_recent(self, key: str) -> bool:
        """Choose a recent session of the start page while the prompt is empty; return whether the key does so."""
        is_shown = self.welcome is not None and self.welcome.display
        if not is_shown or self.typed_editor is not self.prompt.editor or self.prompt.editor.text:
            return False
        actions = self.keymap.actions(key, ("recent",))
        return self.welcome is not None and self.welcome.choose(actions[0].id if actions else "")

    def show_place(self, place: Place) -> None:
        """Scroll to a part of the shown conversation and mark it."""
        if self.action_table is not None:
            self.do(self.action_table.scroll.show_place(place))

    def show_cut(self) -> None:
        """Scroll to where an undo would start."""
        if self.view is not None:
            self.view.scroll_to_item("undo")

    def open_text(self, full: "FullText") -> None:
        """Show a long text on a page of its own."""
        from opencode_tui.tui.screens.full_text import FullTextScreen

        self.open_page(FullTextScreen(full))

    def open_page(self, page: Screen[None] | Screen[str | None]) -> None:
        """Open a full page over the chat."""
        self.app.push_screen(page)

    def show_aside(self, aside: Activity) -> None:
        """Show something at the right end of the activity line; an empty activity removes it."""
        self.activity.show_aside(aside)

    def do(self, work: Coroutine[object, object, None]) -> None:
        """Run work in the background; report its failure in one line above the prompt."""
        self.run_worker(self._guarded(work), exit_on_error=False)

    async def _guarded(self, work: Coroutine[object, object, None]) -> None:
        from opencode_tui.schema.error import OpencodeError

        try:
            await work
        except OpencodeError as error:
            self.show_note("failed", str(error))
        except Exception as error:  # noqa: BLE001 - one action must not end the screen
            _log.exception("an action of the screen failed")
            self.show_note("failed", f"{type(error).__name__}: {error}; the log has the details")

    def show_note(self, kind: Kind, words: str, facts: str = "") -> None:
        """Show a message in the activity line until the next key with an action."""
        from opencode_tui.text.safe_text import screen_line

        if self._chrome is not None:
            self._chrome.show_note(Activity(kind, screen_line(" ".join(words.split())), screen_line(facts)))

    def clear_note(self) -> None:
        """Remove the message from the activity line."""
        if self._chrome is not None:
            self._chrome.show_note(None)

    def refresh_chrome_soon(self) -> None:
        """Update everything around the conversation after a short delay."""
        if self._chrome is not None:
            self._chrome.soon()

    def refresh_chrome(self) -> None:
        """Update everything around the conversation."""
        if self._chrome is not None:
            self._chrome.refresh()

    def restyle(self) -> None:
        """Draw everything in the current look."""
        for editor in self.query(Editor):
            editor.restyle()
        if self.view is not None:
            self.view.wake()
        self.refresh_all()

    def refresh_all(self) -> None:
        """Draw every widget again."""
        self.refresh()
        for widget in self.query("*"):
            widget.refresh()

    def edit_file(self, path: Path) -> None:
        """Edit a file in the user's editor. Raises OpencodeError."""
        from opencode_tui.tui.external_editor import edit_file

        edit_file(self._app_api, path)

    def leave(self, error: BaseException | None = None, *, messages: Sequence[str] = ()) -> None:
        """End the app with the session to resume; the messages are then shown in the terminal."""
        facts = self.control.facts if self.control else None
        self._end(
            Ending(facts.info.id if facts else None, facts.title if facts else "", error, messages=tuple(messages))
        )

    def leave_for(self, folder: Path, session_id: str, place: Place | None = None) -> None:
        """End the app to open a session of another folder, at a place of it."""
        self._end(Ending(session_id, reopen=folder, place=place))

    def _end(self, ending: Ending) -> None:
        self.prompt.keep_unsent()
        self.app.exit(ending)

    def can(self, action: Action) -> bool:
        """Return whether an action is available now: the focused editor comes first, a panel keeps escape and tab."""
        editor = self.typed_editor
        if action.scope == "prompt":
            return isinstance(editor, Editor) and self._may_write(editor, action.id)
        if action.scope == "item":
            return self.is_reading
        if action.id == "help_view" and self._app_api.last_key == "question_mark":
            return False  # the prompt decides by the text before it
        if self.action_table is None:
            return True  # it is done once the engine is open
        if self.browser is not None and self.browser.keeps(self._app_api.last_key):
            return False
        if self.panels is not None and self.panels.is_open:
            is_kept = action.id == "session_interrupt" and self.panels.closes_on_escape
            return not is_kept and not action.id.startswith("agent_") and self.action_table.can(action)
        return self.action_table.can(action)

    @property
    def is_reading(self) -> bool:
        """Return whether the conversation has the focus."""
        return self.view is not None and self.focused is self.view

    def _may_write(self, editor: Editor, action_id: str) -> bool:
        if action_id in ("history_previous", "history_next"):
            return editor is self.prompt.editor and self.prompt.can_recall(action_id)
        return editor.can(action_id)

    def act(self, action_id: str) -> None:
        """Run an action."""
        editor = self.typed_editor
        if action_id in ("history_previous", "history_next"):
            self.prompt.recall(action_id)
        elif action_id == "input_submit" and editor is self.prompt.editor:
            if not self.prompt.editor.continue_line():
                self.submit()  # at once: characters after the key belong to the next prompt
        elif action_id == "input_clear" and editor is self.prompt.editor:
            self.prompt.clear()
        elif isinstance(editor, Editor) and editor.can(action_id):
            editor.apply(action_id)
        elif self.action_table is not None:
            self.action_table.do(action_id)
        elif action_id == "app_exit":
            self.leave()
        else:
            self._early_actions.append(action_id)

    def on_editor_submitted(self, event: Editor.Submitted) -> None:
        """Send a completed command."""
        event.stop()
        self.submit()

    def submit(self) -> None:
        """Send the prompt, or send it once the engine is open."""
        if self.action_table is not None:
            self.action_table.prompt.submit()
        else:
            self._is_submitted = True

    def on_text_area_changed(self) -> None:
        """Show in the status line whether the prompt is a command for the shell."""
        if self.prompt.is_shell != self._is_shell:
            self._is_shell = self.prompt.is_shell
            self.refresh_chrome()

    def on_editor_help_requested(self, event: Editor.HelpRequested) -> None:
        """Show the keyboard shortcuts, unless `?` is bound to something else."""
        event.stop()
        if self.action_table is not None and "?" in self.keymap.keys("help_view"):
            self.action_table.do("help_view")
        else:
            self.prompt.editor.put_in("?")

    def show_leader(self, is_pending: bool) -> None:
        """Show or hide that the second key of a sequence is expected; after a moment list the keys."""
        self.show_aside(Activity(key=self.keymap.leader, act="…", action_id="") if is_pending else Activity())
        if self._leader_timer is not None:
            self._leader_timer.stop()
            self._leader_timer = None
        if is_pending and self.leader_keys is not None:
            self._leader_timer = self.set_timer(LEADER_DELAY_S, self._list_leader_keys)
        elif self.leader_keys is not None:
            self.leader_keys.show(())

    def _list_leader_keys(self) -> None:
        if self.leader_keys is not None:
            self.leader_keys.show(
                [(key, action.name, action.id) for key, action in self.keymap.led(self.scopes) if self.can(action)]
            )

    # Requests of the conversation, the sidebar and the prompt.

    def on_follow_changed(self, event: "requests.FollowChanged") -> None:
        """Show or hide how many new lines are under the visible ones."""
        glyph = self.header.look.glyphs.down
        key = min(self.keymap.keys("messages_last"), key=len, default="")
        aside = Activity(word=f"{glyph} {event.new_lines} new", key=key, action_id="messages_last")
        self.show_aside(Activity() if event.is_following or not event.new_lines else aside)

    def on_session_requested(self, event: "requests.SessionRequested") -> None:
        """Open a subagent session."""
        self.open_session(event.session_id)

    def on_sidebar_chosen(self, event: "Sidebar.Chosen") -> None:
        """Open a session."""
        self.open_session(event.session_id)

    def on_session_browser_acted(self, event: "SessionBrowser.Acted") -> None:
        """Run an action of the session browser."""
        if self.action_table is not None:
            self.action_table.browser.act(event.action, event.session_id)

    def on_session_browser_left(self, _event: "SessionBrowser.Left") -> None:
        """Close the session browser."""
        self.close_browser()

    def on_revert_requested(self, event: "requests.RevertRequested") -> None:
        """Preview an undo from a message on."""
        if self.action_table is not None:
            self.do(self.action_table.undo.ask(event.message_id, event.part_id))

    def on_find_requested(self, _event: "requests.FindRequested") -> None:
        """Ask for a text to find in the conversation."""
        if self.action_table is not None:
            self.action_table.do("messages_find")

    def on_redo_requested(self, _event: "requests.RedoRequested") -> None:
        """Redo what was undone."""
        if self.action_table is not None:
            self.action_table.do("messages_redo")

    def on_fork_requested(self, event: "requests.ForkRequested") -> None:
        """Fork from a message."""
        if self.action_table is not None and self.control is not None and self.control.session_id is not None:
            self.do(self.action_table.session.fork(self.control.session_id, event.message_id))

    def on_restore_requested(self, event: "requests.RestoreRequested") -> None:
        """Restore a pruned output in the context."""
        if self.action_table is not None:
            self.do(self.action_table.session.restore(event.item.part.id))

    def on_copy_requested(self, event: "requests.CopyRequested") -> None:
        """Copy through the terminal."""
        self.app.copy_to_clipboard(event.text)
        self.show_note("done", "Copied", event.what)

    def on_nothing_to_copy(self, _event: "requests.NothingToCopy") -> None:
        """Report that there is no code block."""
        self.show_note("note", "No code block here")

    def on_editor_requested(self, event: "requests.EditorRequested") -> None:
        """Open a file that an item names."""
        if self.action_table is not None:
            self.action_table.pick.open_item(event.item)

    def on_link_requested(self, event: "requests.LinkRequested") -> None:
        """Copy an address, so that the user chooses what opens it."""
        self.app.copy_to_clipboard(event.href)
        self.show_note("done", "Copied", event.href)

    def on_full_text_requested(self, event: "requests.FullTextRequested") -> None:
        """Show a long text on a page of its own."""
        self.open_text(event.full)

    def on_pressed(self, event: "Pressed") -> None:
        """Run the action of a clicked hint."""
        action = BY_ID[event.action_id]
        if self.can(action):
            self.act(action.id)

    def on_left(self, _event: "requests.Left") -> None:
        """Focus the prompt."""
        self.prompt.editor.focus()

    def on_panel_typed(self, event: "Panel.Typed") -> None:
        """Put a character into the prompt that was typed while a question appeared."""
        self.prompt.editor.put_in(event.character)

    def show_toast(self, event: "ScreenToastShown") -> None:
        """Show a message to all screens: a lost connection, a message of a plugin."""
        kind: Kind = {"success": "done", "error": "failed"}.get(event.variant, "note")  # pyright: ignore[reportAssignmentType] - all three are kinds
        self.show_note(kind, event.title or event.message, event.message if event.title else "")

    def on_completions_chosen(self) -> None:
        """Insert the clicked completion."""
        self.prompt.accept_completion(send=False)

    def on_editor_opened(self, event: "Editor.Opened") -> None:
        """Show the attachment of the clicked marker, if there is one."""
        event.stop()
        if self.action_table is not None and self.prompt.open_attachment(event.marker) is not None:
            self.action_table.prompt.open_attachment(event.marker)

    def open_session(self, session_id: str) -> None:
        """Show another session, once the engine is open."""
        if self.action_table is not None:
            self.action_table.session.open(session_id)
