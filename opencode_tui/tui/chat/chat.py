"""The open chat: its widgets, session and panels, what is shown around the conversation, and the state of its actions."""

import asyncio
import logging
import os
import time
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

from rich.style import Style
from textual import events
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import AwaitMount, Widget
from textual.worker import Worker

from opencode_tui.cancellation import on_thread_for
from opencode_tui.client.client import Client
from opencode_tui.instant.line import KEYS
from opencode_tui.instant.page import Page
from opencode_tui.schema.api.background import BackgroundCommand
from opencode_tui.schema.api.catalog import Notification
from opencode_tui.schema.api.inbox import Done
from opencode_tui.schema.api.keybinds import BY_ID, Action
from opencode_tui.schema.api.question import QuestionRequest
from opencode_tui.schema.error import NotFoundError, OpencodeError
from opencode_tui.schema.event.screen_event import ScreenEvent
from opencode_tui.schema.permission import PermissionRequest, Reply
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.session import UNTIL_KEY, SessionInfo
from opencode_tui.schema.session.until import until_of
from opencode_tui.text.permission import Act, stored_words
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.base_app import BaseApp
from opencode_tui.tui.chrome.activity import INTERRUPT, SHOWN_AFTER_S, Activity, Kind
from opencode_tui.tui.chrome.check_row import CheckRow
from opencode_tui.tui.chrome.frame import Frame
from opencode_tui.tui.chrome.leader_keys import LeaderKeys
from opencode_tui.tui.chrome.status_facts import OutsideFacts
from opencode_tui.tui.chrome.welcome import Welcome
from opencode_tui.tui.chrome.words import (
    Mode,
    activity_of,
    end_of_turn,
    hints_of,
    prompt_hints,
    shell_status,
    status_of,
    title_of,
)
from opencode_tui.tui.conversation.find import FoundText
from opencode_tui.tui.conversation.tools import FullText
from opencode_tui.tui.conversation.view import ConversationView
from opencode_tui.tui.dialogs.away import AwayPanel
from opencode_tui.tui.dialogs.panel import Panel
from opencode_tui.tui.dialogs.permission import PermissionPanel
from opencode_tui.tui.dialogs.permission_case import load_case
from opencode_tui.tui.dialogs.plan import PlanPanel, load_plan
from opencode_tui.tui.dialogs.question import QuestionPanel
from opencode_tui.tui.dialogs.text_panel import FindPanel, TextAsk, TextPanel
from opencode_tui.tui.external_editor import edit_file
from opencode_tui.tui.first_page import runs_of
from opencode_tui.tui.keys.keyed import CANCEL, close_key, router_of
from opencode_tui.tui.keys.keymap import Keymap
from opencode_tui.tui.options import Ending, Place, StartOptions
from opencode_tui.tui.output.terminal_output import abilities
from opencode_tui.tui.pages.full_text import FullTextScreen
from opencode_tui.tui.prompt.completing import Completing
from opencode_tui.tui.prompt.draft import Draft
from opencode_tui.tui.prompt.editor import Editor
from opencode_tui.tui.screen_guards import failure_words
from opencode_tui.tui.sessions.browser import SessionBrowser
from opencode_tui.tui.sessions.known_sessions import KnownSessions
from opencode_tui.tui.sessions.session_list import SessionList
from opencode_tui.tui.sessions.sidebar import Sidebar, sidebar_facts
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.state.folder import Asking
from opencode_tui.tui.state.message import AnyItem
from opencode_tui.tui.state.notices import FolderNotices
from opencode_tui.tui.state.screen_settings import ScreenSettings
from opencode_tui.tui.state.sender import Sender
from opencode_tui.tui.state.session_facts import WAITS_FOR_MODEL
from opencode_tui.tui.terminal_title import Event, Notifier

_log = logging.getLogger(__name__)

SAID_OF_DRAFT = 2000
"""Characters that the terminal shows of a draft that could not be stored."""

KEEP_S = 0.3
"""Seconds that the end of the screen waits for what it writes. The end of the loop waits for it too, `THREADS_S` in all."""


_LAYOUT_S, _LAYOUT_LOOKS = 0.02, 100
"""Seconds between two looks whether the conversation has its size, and how many there are."""


@dataclass(frozen=True, slots=True)
class FirstPress:
    """The first press of a key that needs two: what the second one does until a time in ms, and the key."""

    action: str = ""
    key: str = ""
    until: int = 0


@dataclass(frozen=True, slots=True)
class Requests:
    """What is done above the chat for the chat itself."""

    of_client: "Callable[[Chat, ScreenEvent], None]"
    """Does what a client of the server requests of the screen."""
    show: "Callable[[Chat, SessionInfo], None]"
    """Shows a session of any folder."""
    actions: Sequence[ModuleType]
    """The modules of the actions, which registered themselves when they were imported."""


NARROW = 120
"""Cells under which the sidebar is hidden, and covers the chat when it is opened."""

IDLE_S = 20
"""Seconds between updates while nothing happens, as ages change."""

READABLE_MS = 3_000
"""Milliseconds for which a message is shown before the end of a run replaces it."""

DELAY_S = 0.3
"""Seconds between updates of numbers that grow with every token, while nothing else is drawn."""

_JOIN_S = 0.25
"""Seconds after which they are updated in a frame that is drawn anyway: one of their own costs as much again."""

_SOON = "soon"

BUILDER = "build"
"""The agent that carries out a plan."""

AskingPanel = PermissionPanel | QuestionPanel | PlanPanel

AWAY_MS = 10 * 60_000
"""Milliseconds without the focus after which the user was away."""

SEEN = "last-seen"
"""The file in the folder of the state whose time says when a screen was left last."""


Registered = TypeVar("Registered", bound=Callable[..., object])

_ACTS: dict[str, Callable[["Chat"], object]] = {}
_WITH_WORDS: dict[str, Callable[["Chat", str], object]] = {}
_IN_VIEW: set[str] = set()
_NEEDED: dict[str, Callable[["Chat"], object]] = {}
"""Whether there is now what an action is about."""
_LOADS: dict[str, str] = {}
"""What the actions that show something else load, in words."""


def action(
    action_id: str,
    *,
    with_words: bool = False,
    in_view: bool = False,
    loads: str = "",
    when: Callable[["Chat"], object] | None = None,
) -> Callable[[Registered], Registered]:
    """Return a decorator that makes a function of the chat the action with this ID; a coroutine runs in the background.

    `with_words`: its second argument gets the words after the name of its slash command. `in_view`: it needs a
    conversation. `loads` says what a coroutine loads before it shows a page: keys typed until then are for that page.
    Lists leave the action out unless `when` is true; its key says why it does nothing then. Raises KeyError without a row
    in the table of actions.
    """
    row = BY_ID[action_id]

    def register(act: Registered) -> Registered:
        _ACTS[row.id] = act
        if with_words:
            _WITH_WORDS[row.id] = act
        if in_view:
            _IN_VIEW.add(row.id)
        if loads:
            _LOADS[row.id] = loads
        if when is not None:
            _NEEDED[row.id] = when
        return act

    return register


def knows(action_id: str) -> bool:
    """Return whether the action is one of the chat."""
    return action_id in _ACTS


class Chat:
    """Built whole when the engine is open; actions are functions of it."""

    def __init__(
        self,
        screen: Screen[None],
        frame: Frame,
        app: BaseApp,
        client: Client,
        requests: Requests,
        options: StartOptions,
        clock: Callable[[], float],
    ) -> None:
        control = SessionController(
            client,
            opened=self.show_conversation,
            lagged=lambda reason: self.do(self._read_again(reason)),
            requested=partial(requests.of_client, self),
            clock=clock,
        )
        self.screen = screen
        self.app = app
        self.control = control
        self.sender = Sender(control)
        self.sessions = KnownSessions(control)
        self.settings = ScreenSettings()
        """The settings of the folder; the defaults until they are read."""
        self.notices = FolderNotices()
        self.header = frame.header
        self.activity = frame.activity
        self.queue = frame.queue
        self.prompt = frame.prompt
        self.talk = frame.talk
        self.ask = frame.ask
        self.status = frame.status
        self.sidebar = Sidebar(SessionList(self.sessions))
        self.browser = SessionBrowser(SessionList(self.sessions))
        self.leader_keys = LeaderKeys()
        root = str(control.client.directory)
        self.view = ConversationView(control.transcript, root=root, clock=clock)
        self.view.drawn.append(self.activity.join_frame)
        self.view.use_pictures(app.picture_forms)
        self.welcome = Welcome()
        self.completing = Completing(frame.prompt.editor, control.client)
        for hidden in (self.leader_keys, self.view, self.welcome, self.completing.completions):
            hidden.display = False
        screen.mount(self.sidebar, self.browser)
        screen.query_one("#page").mount(self.leader_keys)
        self.options = options
        self.requests = requests
        self.prompt.editor.submit = partial(self.run, "input_submit")
        self.chrome = Chrome(self)
        self.panels = Panels(self)
        self.away = Away(self)
        self.first_press = FirstPress()
        self.visited = ""
        """The ID of the prompt in the conversation that was visited last."""
        self._is_hung_up = False
        self._is_ending = False

    @property
    def keymap(self) -> Keymap:
        """The active keys."""
        return self.app.keymap

    @property
    def is_folded(self) -> bool:
        """Whether the sidebar is hidden."""
        screen = self.screen
        return not (screen.has_class("-wide") or screen.has_class("-middle")) or screen.has_class("-hidden")

    @property
    def is_browsing(self) -> bool:
        """Whether the session browser is in the place of the sidebar."""
        return self.screen.has_class("-browsing")

    @property
    def is_reading(self) -> bool:
        """Whether the conversation has the focus."""
        return self.screen.focused is self.view

    def do(self, work: Coroutine[object, object, None]) -> None:
        """Run work in the background; report its failure in one line above the prompt."""
        self.start(work)

    def start(self, work: Coroutine[object, object, None]) -> Worker[None]:
        """Do the same, and return what can be canceled."""
        worker = self.screen.run_worker(partial(self._guarded, work), exit_on_error=False)
        weakref.finalize(worker, work.close).atexit = False  # where the screen ends before it begins; else of no effect
        return worker

    async def _guarded(self, work: Coroutine[object, object, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - one action must not end the screen
            if not isinstance(error, OpencodeError):
                _log.exception("an action of the screen failed")
            self.show_note("failed", failure_words(error))

    def show_at_right(self, at_right: Activity) -> None:
        """Show something at the right end of the activity line; an empty activity removes it."""
        self.activity.show_at_right(at_right)

    def open_page(self, page: Screen[None] | Screen[str | None]) -> None:
        """Open a full page over the chat."""
        self.app.push_screen(page)

    def open_text(self, full: FullText) -> None:
        """Show a long text on a page of its own."""
        self.open_page(FullTextScreen(full))

    def start_completions(self) -> None:
        """Suggest files, agents and commands in the prompt from now on."""
        self.screen.query_one("#page").mount(self.completing.completions)
        self.prompt.complete_with(self.completing)

    def refresh_all(self) -> None:
        """Draw every widget again."""
        self.app.refresh_all()

    def edit_file(self, path: Path) -> None:
        """Edit a file in the user's editor. Raises OpencodeError."""
        edit_file(self.app, path)

    def can(self, action: Action) -> bool:
        """Return whether an action of the chat is available now; a panel keeps escape and tab, the browser its keys."""
        if self.browser.keeps(self.app.last_key):
            return False
        if action.id == INTERRUPT and self.panels.closes_on_escape:
            return False
        return not (self.panels.is_open and action.id.startswith("agent_")) and self.has(action)

    def has(self, row: Action) -> bool:
        """Return whether the action is one of the chat and available now."""
        if row.id in _IN_VIEW and not self.view.display:
            return False
        return row.id in _ACTS and (row.scope != "item" or self.is_reading)

    def run(self, action_id: str) -> None:
        """Run an action."""
        _begin(self, _ACTS[action_id](self), _LOADS.get(action_id, ""))

    def load_page(self, words: str, work: Coroutine[object, object, None], *, lets_type: bool = False) -> None:
        """Run work that shows something else at its end: keys typed meanwhile are for that, and escape ends the work.

        With `lets_type` text is typed into the prompt until another key is pressed.
        """

        has_begun = False

        async def held() -> None:
            nonlocal has_begun
            has_begun = True
            try:
                with self.waiting(words, cancel=close_key(self.keymap)):
                    await work
            finally:
                release()

        def cancel() -> None:
            worker.cancel()
            if not has_begun:  # it never will, and so ends nothing
                work.close()
                release()

        release = self.app.hold_until_shown(cancel, lets_type=lets_type)
        worker = self.start(held())

    @contextmanager
    def waiting(
        self, words: str, *, cancel: str = "", after_s: float = SHOWN_AFTER_S, yields: bool = False
    ) -> Generator[None]:
        """Show `words` in the activity line from `after_s` on until the block ends, with the key that cancels it.

        With `yields` a message that is shown then stays.
        """
        wait = Activity("busy", words, key=cancel, act="cancel" if cancel else "", action_id="")
        lasts = True

        def show() -> None:
            # a timer that has fired is still in the queue when it is stopped
            if lasts and not (yields and self.chrome.has_note):
                self.chrome.show_wait(wait)

        timer = self.screen.set_timer(after_s, show)
        try:
            yield
        finally:
            lasts = False
            timer.stop()
            self.chrome.end_wait(wait)

    async def load_whole(self) -> None:
        """Read the older messages of the shown session, which is named while it lasts. Raises OpencodeError."""
        if not self.control.is_whole:
            with self.waiting("Loading the older messages"):
                await self.control.load_whole()

    def begin_key(self, key: str, *, is_printable: bool) -> None:
        """End what lasts until another key: a first press, and an error once the next prompt is begun."""
        if self.first_press.action and self.first_press.key != key:
            self.end_first_press()
        if is_printable and not self.prompt.editor.text and self.activity.activity.kind == "failed":
            self.clear_note()

    def end_first_press(self) -> None:
        """Drop the first press of a key that needs two."""
        self.first_press = FirstPress()
        self.show_at_right(Activity())

    def complete(self, key: str) -> bool:
        """Choose a completion while they are shown; return whether the key does so."""
        actions = self.keymap.actions(key, ("completion",)) if self.completing.is_shown else []
        return bool(actions) and self.completing.run(actions[0].id)

    def choose_recent(self, key: str) -> bool:
        """Choose a session of the start page while it is shown; return whether the key does so."""
        actions = self.keymap.actions(key, ("recent",)) if self.welcome.display else []
        return self.welcome.display and self.welcome.choose(actions[0].id if actions else "")

    def follow_focus(self, focused: Widget) -> None:
        """Close the session browser when the prompt gets the focus."""
        if self.is_browsing and focused is self.prompt.editor:
            self.close_browser()

    def show_note(self, kind: Kind, words: str, facts: str = "", *, for_ms: float = 0) -> None:
        """Show a message in the activity line until the next key with an action, at most `for_ms` if that is not 0."""
        self.chrome.show_note(kind, words, facts, for_ms=for_ms)

    def clear_note(self) -> None:
        """Remove the message from the activity line."""
        self.chrome.clear_note()

    def refresh_chrome(self) -> None:
        """Update everything around the conversation."""
        self.chrome.refresh()

    def soon(self) -> None:
        """Update what is around the conversation after a short delay, at once for questions."""
        self.chrome.soon()

    async def save_setting(self, change: JsonObject, words: str) -> None:
        """Store a change of the settings for the next start, and show `words` about it, or why it could not be stored.

        With the engine of a server, whose settings are not this user's, it applies until the screen is closed.
        """
        if not self.control.is_alone:
            self.show_note(
                "note", words[:1].upper() + words[1:], "until you quit: the settings are those of the server"
            )
            return
        try:
            await self.control.client.settings.change(change)
        except OpencodeError as error:
            self.show_note("failed", "Not saved", screen_line(str(error)))
        else:
            self.show_note("done", "Saved", words)

    def find(self, words: str = "", start: AnyItem | None = None) -> None:
        """Ask for a text and show where it occurs; at once if it is known, from the item `start` on."""
        view = self.view
        if not view.display:
            self.show_note("failed", "No conversation is open: there is nothing to find")
            return

        def step(direction: int) -> None:
            if view.found is None:  # another session is shown
                panel.show_count(0, 0)
                return
            view.found.step(direction)
            view.show_found(view.found)
            panel.show_count(view.found.at + 1, view.found.total)

        def back() -> None:
            self.panels.close()
            view.show_found(None)

        def find(text: str) -> None:
            first = start if text == words else None
            self.do(self._search(panel, text, first))

        panel = FindPanel(words, find=find, step=step, back=back)
        self.panels.open(panel)

    async def _search(self, panel: FindPanel, words: str, start: AnyItem | None) -> None:
        """Find the words in all messages, in a thread: all texts of a long session need some milliseconds."""
        if not words:
            return
        view = self.view
        await self.load_whole()
        transcript = view.transcript
        found = await asyncio.to_thread(FoundText, words, list(transcript.items), view.viewport.page.root)
        if not panel.is_attached or view.transcript is not transcript:
            return
        first = start or next(iter(view.viewport.items), None)
        if found.total and first is not None:
            found.start_at(first)
        view.show_found(found)
        panel.show_count(found.at + 1, found.total)

    async def show_place(self, place: Place) -> None:
        """Scroll to a part of the shown conversation and mark its words, or the part where they are not shown."""
        view = self.view
        for _ in range(_LAYOUT_LOOKS):
            if view.size:
                break
            await asyncio.sleep(_LAYOUT_S)  # the screen was opened just now
        if not self.control.knows(place.message_id):
            await self.load_whole()
        items = view.transcript.items
        item = view.transcript.item(place.part_id)
        item = item or next((one for one in items if one.message_id == place.message_id and not one.is_hidden), None)
        if item is None:
            self.show_note("note", "The match is not shown", "it is part of what was undone or left out")
            return
        if place.words and FoundText(place.words, [item], view.viewport.page.root).total:
            self.find(place.words, item)
        else:
            view.show_item(item.id)

    def shown_session(self) -> SessionInfo | None:
        """Return the shown session; None without one, which is said in the activity line."""
        if self.control.facts is None:
            self.show_note("note", "No session yet", "send a message to start one")
            return None
        return self.control.facts.info

    def show_conversation(self) -> None:
        """Show the transcript of the controller, or the welcome text when there is no session."""
        control, view = self.control, self.view
        if not view.is_attached:
            self.talk.mount(view, self.welcome)
        redo, focus = self.keymap.first("messages_redo"), self.keymap.first("messages_focus")
        view.use_keys(redo_key=redo, focus_key=focus)
        view.link_files(os.uname().nodename if self.options.server is None else "", self.settings.editor_links)
        view.show(control.transcript, root=str(control.client.directory))
        view.display = control.facts is not None
        self.welcome.display = control.facts is None
        if control.facts is None:
            self.welcome.show(control, self.notices, self.keymap.first, has_tips=self.settings.has_tips)
        if control.is_elsewhere:
            self.do(control.follow_elsewhere())
        if not control.is_busy:
            self.away.look()
        if not control.is_whole:
            self.do(self._add_older_cost())
        self.refresh_chrome()

    async def _add_older_cost(self) -> None:
        with suppress(NotFoundError):  # a server of an older version: the figure has what was read
            await self.control.add_older_cost()
        self.refresh_chrome()

    def start_page(self) -> Page | None:
        """Return the screen as it is for the first frame of the next start; None if it is not that of an empty prompt."""
        editor, options, rows = self.prompt.editor, self.options, self.app.shown_rows
        is_usual = options == StartOptions(options.directory) and self.control.facts is None
        is_calm = not editor.text and editor.has_focus and not self.panels.is_open and not self.activity.activity.word
        if not (is_usual and is_calm and rows and self.screen.is_current):
            return None
        area, palette = editor.content_region, self.app.look.palette
        typed = palette.style("text", "surface")
        usual, scopes = Keymap() if self.settings.keybinds else self.keymap, ("prompt", "chat", "app")
        has_usual_keys = all(self.keymap.actions(key, scopes) == usual.actions(key, scopes) for key in KEYS)
        return Page(
            (self.app.size.width, self.app.size.height),
            [runs_of(row) for row in rows],
            prompt=(area.x, area.y, area.width),
            pens=(self.app.pen(typed)[:3], self.app.pen(typed + Style(reverse=True))[:3]),
            is_echoing=has_usual_keys and not self.settings.uses_vim,
            is_dark=palette.dark,
            erases=abilities(os.environ).erases,
        )

    async def _read_again(self, reason: str) -> None:
        await self.control.reload()
        if reason:
            self.refresh_chrome()  # shows the end of a run, which the reason replaces
            self.show_note("note", reason)

    def toggle_sidebar(self) -> None:
        """Show or hide the sidebar; on a narrow screen it covers the chat."""
        self.screen.toggle_class("-hidden" if self.screen.size.width >= NARROW else "-over")
        self.screen.call_after_refresh(self.refresh_chrome)

    def open_browser(self) -> None:
        """Show the session browser with the focus, or close it if it has the focus."""
        if self.screen.focused is self.browser:
            self.close_browser()
            return
        if not self.is_browsing:
            self.screen.add_class("-browsing")
            self.browser.reset()
            self.browser.select(self.control.session_id or "")
        self.screen.set_focus(self.browser)  # at once: the next key is for it
        self.screen.call_after_refresh(self.refresh_chrome)

    def close_browser(self) -> None:
        """Show the sidebar again and focus the prompt or its panel."""
        self.screen.remove_class("-browsing")
        self.panels.focus()
        self.screen.call_after_refresh(self.refresh_chrome)

    def leave(self, error: BaseException | None = None, *, messages: Sequence[str] = ()) -> None:
        """End the app with the session to resume; the messages are then shown in the terminal."""
        facts = self.control.facts
        session_id, title = (facts.info.id, facts.title) if facts else (None, "")
        self._end(Ending(session_id, title, error, messages=tuple(messages)))

    @property
    def working(self) -> tuple[list[str], list[BackgroundCommand]]:
        """The IDs of the sessions that run, and the background commands that do."""
        folder = self.control.folder
        return (
            [one for one in folder.statuses if one in folder.sessions],
            [one for one in folder.background.values() if one.is_running],
        )

    @property
    def is_working(self) -> bool:
        """Whether something runs, or was sent and will."""
        return any(self.working) or self.sender.is_waiting

    async def detach(self) -> None:
        """End the app when the engine has all that was sent; it goes on in this process. Only where the client can."""
        await self.sender.wait_given()
        self.control.client.detach()
        facts = self.control.facts
        session_id, title = (facts.info.id, facts.title) if facts else (None, "")
        process = f"process {os.getpid()}, which the shell may call stopped"
        line = f"goes on in the background ({process}); `opencode-tui ps` shows it, `opencode-tui -c` returns"
        self._end(Ending(session_id, title, messages=(line,), rest_s=self.settings.rest_s))

    def hang_up(self) -> None:
        """End the app because its terminal is gone; what runs goes on if the settings say so.

        Both the signal and the end of the input say that, and a shell sends the signal again.
        """
        if not self._is_hung_up:
            self._is_hung_up = True
            self.do(self._hang_up())

    async def _hang_up(self) -> None:
        if self.is_working and self.settings.stays_after_hangup and self.control.client.can_detach:
            await self.detach()
        else:
            self.leave()

    def leave_for(self, folder: Path, session_id: str, place: Place | None = None) -> None:
        """End the app to open a session of another folder, at a place of it."""
        self._end(Ending(session_id, reopen=folder, place=place))

    def _end(self, ending: Ending) -> None:
        """End the app, once what was not sent and this moment are written; a disk that hangs has `KEEP_S` for that."""
        if not self._is_ending:
            self._is_ending = True
            self.do(self._keep_and_end(ending))

    async def _keep_and_end(self, ending: Ending) -> None:
        if ending.rest_s is None and self.sender.cancel_unsent(0):  # the prompt gets it back
            with suppress(TimeoutError):
                async with asyncio.timeout(KEEP_S):
                    await self.sender.wait_given()
        left = [draft for draft in self.prompt.unsent if draft.strip()]

        def keep() -> None:
            for draft in tuple(left):
                if self.prompt.keep_unsent(draft):
                    left.remove(draft)
            self.away.leave()

        try:
            await on_thread_for(keep, KEEP_S)
        finally:
            lost = [f"what you typed could not be stored: {' '.join(draft.split())[:SAID_OF_DRAFT]}" for draft in left]
            self.app.exit(replace(ending, messages=(*ending.messages, *lost)))


class Chrome:
    """When the parts around the conversation are updated: at once for questions, else after a short delay."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._control = chat.control
        self._notifier = Notifier(chat.app.notify_terminal, self._run_notify)
        self._outside = OutsideFacts(chat.control, lambda: chat.settings, chat.do)
        self._note: Activity | None = None
        self._noted_at = 0
        self._wait: Activity | None = None
        """What is being loaded, if that takes longer than a moment."""
        self._last_message: Activity | None = None
        """The last message that was given, not the end of a run."""
        self._busy: tuple[str, int] | None = None
        self._followed: tuple[str | None, tuple[int, int] | None] = (None, None)
        """The session that the last refresh showed, and the last run of it that had ended."""
        self._doing = ""
        """What the session did at the last update."""
        self._check: CheckRow | None = None
        self._timer: Timer | None = None
        self._asked_at = 0.0
        chat.view.drawn.append(self._join_frame)
        chat.screen.set_interval(IDLE_S, self.refresh)

    def _run_notify(self, event: Event, words: str) -> None:
        """Run the user's command for a notification, while the terminal has no focus."""
        if not self._chat.settings.has_notify_command or self._chat.app.app_focus:
            return
        title = self._control.facts.title if self._control.facts is not None else ""
        message = screen_line(" ".join(f"{words}: {title}".split() if title else words.split()))
        facts = Notification(event=event, message=message, session_id=self._control.session_id, title=title)
        self._chat.do(self._control.client.settings.notify(facts))

    def show_note(self, kind: Kind, words: str, facts: str = "", *, for_ms: float = 0) -> None:
        """Show a message in the activity line until the next key or run, with `for_ms` for so long at most.

        During a run the activity replaces it after 3 s, except for a failure.
        """
        note = Activity(kind, screen_line(" ".join(words.split())), screen_line(facts))
        self._change_note(note)
        if for_ms > 0:
            self._chat.screen.set_timer(for_ms / 1000, lambda: self._change_note(None) if self._note is note else None)

    def show_wait(self, wait: Activity) -> None:
        """Show what is being loaded in the activity line, instead of anything else, until `end_wait`."""
        self._wait = wait
        self.refresh()

    def end_wait(self, wait: Activity) -> None:
        """Show the activity again that a wait replaced, if it did."""
        if self._wait is wait:
            self._wait = None
            self.refresh()

    @property
    def has_note(self) -> bool:
        """Whether a message is shown."""
        return self._note is not None

    def clear_note(self) -> None:
        """Remove the message from the activity line."""
        self._change_note(None)

    def _change_note(self, note: Activity | None) -> None:
        if note != self._note:
            self._note, self._last_message, self._noted_at = note, note, self._control.now()
            self.refresh()

    def _remove_note(self, now: int) -> None:
        """Remove the message when a run starts, but not one that came with it and cannot have been read."""
        if self._note is not self._last_message or now >= self._noted_at + READABLE_MS:
            self._note = None

    def _show_end(self, ended: Activity, now: int) -> None:
        """Show that a run ended; a message that has just appeared stays until it can be read."""
        kept, left = self._note, self._noted_at + READABLE_MS - now
        if kept is None or left <= 0:
            self._note = ended
            return

        def show() -> None:
            if self._note is kept:
                self._note = ended
                self.refresh()

        self._chat.screen.set_timer(left / 1000, show)

    def soon(self) -> None:
        """Update after a short delay; at once for a new question, when a run starts or ends, and when the model responds."""
        facts = self._control.facts
        responds = self._doing == WAITS_FOR_MODEL and facts is not None and facts.word != WAITS_FOR_MODEL
        if self._control.pop_urgent() or responds:
            self.refresh()
        elif self._timer is None or self._timer.name != _SOON:  # that of the seconds of a run would be late
            if self._timer is not None:
                self._timer.stop()
            self._timer = self._chat.screen.set_timer(DELAY_S, self.refresh, name=_SOON)
            self._asked_at = time.monotonic()

    def _join_frame(self) -> None:
        """Update in a frame of the conversation, if it is nearly time."""
        timer = self._timer
        if timer is not None and timer.name == _SOON and time.monotonic() - self._asked_at > _JOIN_S:
            self.refresh()

    def refresh(self) -> None:
        """Update everything now."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        chat, control, now = self._chat, self._control, self._control.now()
        if not chat.screen.is_mounted:
            return
        self._follow_run(now)
        if control.is_busy and now >= self._noted_at + READABLE_MS and not self._is_failure:
            self._note = None
        self._chat.panels.sync()
        self._notifier.follow(len(control.questions()))
        chat.app.title_line.show(control.facts.title if control.facts is not None else "", self._state_sign())
        chat.app.progress.show("asks" if control.folder.asking else "busy" if control.folder.statuses else "")
        chat.header.show(title_of(control, is_folded=chat.is_folded))
        keys = chat.keymap
        send_key = "" if self._chat.panels.is_open else keys.first("input_submit")  # a panel has its own use of it
        doing = activity_of(control, now, interrupt_key=keys.first(INTERRUPT), send_key=send_key)
        self._doing = doing.word
        chat.activity.show(self._wait or self._note or doing)
        self._show_status()
        self._show_queue()
        self._show_check(now)
        chat.prompt.editor.show_hints(prompt_hints(control, has_examples=chat.prompt.has_examples))
        if chat.welcome.display:
            chat.welcome.show(control, chat.notices, chat.keymap.first, has_tips=chat.settings.has_tips)
        if chat.browser.display:
            chat.browser.follow(now)
        elif chat.sidebar.display:
            budget, home = chat.settings.session_budget, os.path.expanduser("~")
            chat.sidebar.show(sidebar_facts(control, budget=budget, home=home))
        if control.facts is not None and control.facts.is_context_changed and not control.is_busy:
            chat.do(self._measure())
        if control.folder.is_languages_changed:
            chat.do(self._read_languages())
        if control.is_busy and self._timer is None:
            self._timer = chat.screen.set_timer(1, self.refresh)

    @property
    def _is_failure(self) -> bool:
        return self._note is not None and self._note.kind == "failed"

    async def _read_languages(self) -> None:
        await self._control.read_languages()
        self.refresh()

    async def _measure(self) -> None:
        await self._control.measure_context()
        self.refresh()

    def _state_sign(self) -> str:
        """Return a sign for the window title: a session needs an answer, works, or has finished since the last key."""
        glyphs, folder = self._chat.header.look.glyphs, self._control.folder
        if folder.asking:
            return glyphs.asks
        if folder.statuses:
            return glyphs.running
        return glyphs.done if self._note is not None and self._note.kind == "done" else ""

    def _mode(self) -> Mode:
        if self._chat.prompt.is_shell:
            return "shell"
        return "reading" if self._chat.is_reading else "asking" if self._chat.panels.is_open else ""

    def _show_status(self) -> None:
        chat, control, mode = self._chat, self._control, self._mode()
        chosen, key, vim = chat.settings.status_fields, chat.keymap.first, chat.prompt.vim_mode
        needs_branch = "branch" in chosen if chosen else chat.is_folded
        self._outside.follow(control.now(), self.refresh, needs_branch=needs_branch)
        if mode == "shell":
            chat.status.show(shell_status(key, vim))
            return
        width, delivery = chat.screen.size.width, chat.sender.delivery
        hints = hints_of(control, mode=mode, delivery=delivery, width=width, key=key)
        chat.status.show(
            status_of(
                control,
                chat.settings,
                chat.notices,
                is_folded=chat.is_folded,
                outside=self._outside,
                hints=hints,
                vim=vim,
            )
        )

    def _show_queue(self) -> None:
        chat = self._chat
        wanted = (("input_submit", "send now", "prompt_queue_send"), ("prompt_queue_edit", "edit", "prompt_queue_edit"))
        keys = [(chat.keymap.first(action), words, act) for action, words, act in wanted]
        texts = [screen_line(" ".join(text.split())) for text in self._control.waiting.texts]
        chat.queue.show(texts, [one for one in keys if one[0]])

    def _show_check(self, now: int) -> None:
        """Show the check of the session; its row is made with the first one."""
        chat, facts = self._chat, self._control.facts
        has_check = facts is not None and UNTIL_KEY in (facts.info.metadata or {})
        if self._check is not None:
            self._check.display = has_check
        if facts is None or not has_check:
            return
        until = until_of(facts.info)
        if until is None:
            return
        if self._check is None:
            self._check = CheckRow()
            chat.screen.mount(self._check, before=chat.queue)
        is_idle, last = not self._control.is_busy, until.last
        wanted = [("check_run", "again")] if is_idle else []
        wanted += [("check_send", "send")] if is_idle and last is not None and not last.has_passed else []
        keys = [(chat.keymap.first(action), words, action) for action, words in wanted]
        edited = 0 if last is None else facts.edited_since(last.message_id)
        self._check.show(until, edited, now, [one for one in keys if one[0]])

    def _follow_run(self, now: int) -> None:
        """Remove the message when a run starts, summarize the run when it ends."""
        control = self._control
        shown = control.session_id
        run = control.folder.last_run.get(shown or "")
        if control.is_busy and shown is not None:
            if self._busy is None or self._busy[0] != shown:
                self._busy = shown, now
                self._remove_note(now)
        elif self._busy is not None:
            session_id, started = self._busy
            self._busy = None
            if session_id == shown:
                self._show_end_of_run(started, now)
        elif run is not None and self._followed[0] == shown and self._followed[1] != run:
            self._remove_note(now)  # the run began and ended since the last refresh
            self._show_end_of_run(run[0], now)
        self._followed = (shown, run)

    def _show_end_of_run(self, started: int, now: int) -> None:
        self._show_end(end_of_turn(self._control, started, now), now)
        self._notifier.ended(now - started)
        self._chat.away.look()


class Panels:
    """Shows one panel in the chat's `#ask`, or the prompt: panels of the user's actions come before questions of agents."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._control = chat.control
        self._user_panel: Widget | None = None
        self._question: AskingPanel | None = None
        self._text_panel: TextPanel | None = None
        self._begun: tuple[str, str] = ("", "")
        """What is written to an agent in a panel with a text, and for what: it is there again if the panel is opened again."""
        self._loading: str | None = None
        self._answered: set[str] = set()
        """The IDs of questions whose answer is sent, or on its way: none is shown again, unless that fails."""
        self._arranged: Widget | None = None
        """The panel that was shown last: it still accepts keys when something comes behind it."""

    @property
    def is_open(self) -> bool:
        """Return whether a panel replaces the prompt."""
        return self._shown is not None

    def is_for_prompt(self, event: events.Key | events.Paste, focused: Widget | None) -> bool:
        """Return whether a key is for the prompt although it has no focus: a question accepts no key yet, or has just ended."""
        shown = self._shown
        if isinstance(shown, Panel):
            is_text = isinstance(event, events.Paste) or event.is_printable
            return focused in (shown, None) and not shown.accepts_key(event, is_text=is_text)
        if shown is not None or focused is None:
            return shown is None
        parents = focused.ancestors_with_self
        return self._chat.ask in parents and self._chat.prompt not in parents

    def receive_key(self, event: events.Key, focused: Widget | None) -> bool:
        """Let the panel that is shown handle a key at once; return whether it has one.

        In the queue of the panel, a key behind the one that closes it would still be for this panel, and be lost. Of a panel with
        a text this is the key that cancels: the editor has the others.
        """
        shown = self._shown
        if isinstance(shown, Panel) and shown is focused and shown.is_mounted:
            shown.receive_key(event)
            return True
        if isinstance(shown, TextPanel) and focused in (shown, shown.editor):
            found = router_of(shown).find(event.key, shown)
            return found is not None and found.id == CANCEL and router_of(shown).handle(event, shown)
        return False

    @property
    def closes_on_escape(self) -> bool:
        """Return whether escape closes the panel instead of interrupting the run."""
        return self._user_panel is not None or self._text_panel is not None

    @property
    def _shown(self) -> Widget | None:
        return self._user_panel or self._text_panel or self._question

    def open(self, panel: Widget) -> None:
        """Show a panel of an action of the user."""
        self._remove(self._user_panel)
        self._chat.clear_note()
        self._user_panel = panel
        if isinstance(panel, Panel) and not panel.is_asked_for:
            panel.typed_at = self._typed_at
        self._mount(panel)
        self._arrange()

    def close(self) -> None:
        """Close the panel of the user's action."""
        self._remove(self._user_panel)
        self._user_panel = None
        self._arrange()

    def sync(self) -> None:
        """Show the first waiting question; close one that was answered elsewhere.

        Calls that run side by side may ask in another order than theirs: a question that accepts no key yet gives way.
        """
        waiting = self._waiting()
        if waiting and self._question is not None and self._question.is_guarded and self._request_id != waiting[0].id:
            self._close_question()
        if self._question is not None and self._request_id not in {one.id for one in waiting}:
            words = self._written()
            self._close_question()
            self._put_into_prompt(words)
        if waiting and self._question is None and self._loading != waiting[0].id:
            self._loading = waiting[0].id
            self._chat.do(self._load(waiting[0]))
        elif self._question is not None:
            self._question.set_place((1, len(waiting)))

    def come_back(self, since: int) -> None:
        """Ignore keys for a while at a question that appeared since a moment in ms: the user saw something else until now."""
        shown = self._shown
        if isinstance(shown, Panel) and not shown.is_asked_for:
            shown.restart(since)

    def _typed_at(self) -> int | None:
        """Return when the last key for the prompt came; None if nothing is written there."""
        editor = self._chat.prompt.editor
        return editor.typed_at if editor.text else None

    def _waiting(self) -> list[Asking]:
        """Return the questions that wait for the user."""
        return [one for one in self._control.questions() if one.id not in self._answered]

    @property
    def _request_id(self) -> str:
        if isinstance(self._question, PermissionPanel):
            return self._question.case.request.id
        return self._question.request.id if self._question is not None else ""

    async def _load(self, request: Asking) -> None:
        try:
            panel = await self._make(request)
        finally:
            if self._loading == request.id:
                self._loading = None
        waiting = self._waiting()
        if not waiting or waiting[0].id != request.id:  # answered, or a request of an earlier call came first
            self.sync()
            return
        if self._request_id == request.id:
            return
        self._close_question()
        self._question = panel
        panel.typed_at = self._typed_at
        await self._chat.ask.mount(panel)
        self._arrange()
        self._chat.refresh_chrome()

    async def _make(self, request: Asking) -> AskingPanel:
        place = (1, len(self._waiting()))
        if isinstance(request, QuestionRequest):
            plan = await load_plan(self._control.client, request, is_local=self._control.is_alone)
            if plan is not None:
                return PlanPanel(
                    request,
                    plan,
                    place=place,
                    build=lambda yes: self._send(request, lambda: self._build(request, yes)),
                    keep=lambda no: self._ask_what_to_change(request, no),
                    edit=self._edit_plan if self._control.is_alone else None,
                )
            return QuestionPanel(
                request,
                place=place,
                answer=lambda answers: self._answer_question(request, answers),
                dismiss=lambda: self._send(request, lambda: self._control.client.questions.reject(request.id)),
                write=lambda: self._ask_for_answer(request),
            )
        case = await load_case(self._control.client, request, origin=self._origin(request.session_id))
        acts: Mapping[Act, Callable[[], None]] = {
            "once": lambda: self._reply(request, "once"),
            "host": lambda: self._reply(request, "always", host=True),
            "always": lambda: self._reply(request, "always"),
            "edit": lambda: self._edit_rule(request),
            "reject": lambda: self._ask_for_reason(request),  # what the agent should do instead
            "leave": lambda: self._reply(request, "reject"),
        }
        return PermissionPanel(case, place=place, acts=acts, decline=lambda: self._chat.do(self._decline(request)))

    def _origin(self, session_id: str) -> str:
        info = self._control.folder.sessions.get(session_id)
        if session_id == self._control.session_id or info is None:
            return ""
        return f"asked in: {info.title}"

    def _ask_for_reason(self, request: PermissionRequest) -> None:
        ask = TextAsk(
            "Reject: what should the agent do instead?", "reject", hint="leave empty to stop the turn", bar="warning"
        )
        self._open_words(
            request.id, ask, lambda words: self._reply(request, "reject", message=words or None), is_last=True
        )

    def _edit_rule(self, request: PermissionRequest) -> None:
        """Ask for the rule to store; several patterns are lines."""
        ask = TextAsk(
            f"Always allow in this project ({screen_line(request.permission)})",
            "always allow",
            text="\n".join(screen_line(pattern) for pattern in request.always),
            hint="* is any text",
            bar="warning",
        )

        self._begun = ("", "")

        def done(text: str) -> None:
            patterns = [line.strip() for line in text.split("\n") if line.strip()]
            if patterns:
                self._reply(request, "always", always=patterns)

        self._open_text_panel(ask, done)

    def _ask_for_answer(self, request: QuestionRequest) -> None:
        panel = self._question

        def done(words: str) -> None:
            self._close_text_panel()
            if isinstance(panel, QuestionPanel):
                panel.write(words)

        number = panel.number if isinstance(panel, QuestionPanel) else 0
        self._open_words(f"{request.id} {number}", TextAsk("Type your answer", "answer"), done)

    async def _build(self, request: QuestionRequest, yes: str) -> None:
        await self._control.client.questions.reply(request.id, [[yes]])
        choice = self._control.choice
        if BUILDER in {one.name for one in choice.agents}:
            choice.agent = BUILDER  # which works on the plan now
        self._chat.refresh_chrome()

    def _ask_what_to_change(self, request: QuestionRequest, no: str) -> None:
        ask = TextAsk("Keep planning: what should change?", "keep planning", hint="leave empty to stop the turn")
        self._open_words(request.id, ask, lambda words: self._answer_question(request, [[words or no]]), is_last=True)

    def _open_words(self, name: str, ask: TextAsk, done: Callable[[str], object], *, is_last: bool = False) -> None:
        """Ask for words for an agent; what was written under this name before is there again.

        With `is_last` nothing follows them: if they cannot be sent, the question is shown again.
        """
        known, words = self._begun
        self._begun = (name, words if known == name else "")

        def submit(words: str) -> None:
            self._begun = (name, words if is_last else "")
            done(words)

        self._open_text_panel(replace(ask, text=self._begun[1]), submit)

    def _written(self) -> str:
        """Return what is written to an agent in the panel that is shown; empty for other texts."""
        panel = self._text_panel
        return panel.editor.text if panel is not None and self._begun[0] else ""

    def _put_into_prompt(self, words: str) -> None:
        """Keep what was written for a question that is gone, such as one that was answered in another terminal."""
        if words.strip():
            self._chat.prompt.put_back(Draft(words))
            self._chat.show_note("note", "The question has ended", "what you wrote is in the prompt")

    def _open_text_panel(self, ask: TextAsk, done: Callable[[str], object]) -> None:
        self._text_panel = TextPanel(ask, done=done, back=lambda: self._close_text_panel(is_back=True))
        self._mount(self._text_panel)
        self._arrange()

    def _close_text_panel(self, *, is_back: bool = False) -> None:
        if is_back:
            self._begun = (self._begun[0], self._written())
        self._remove(self._text_panel)
        self._text_panel = None
        self._arrange(is_back=is_back)

    def _send(self, request: Asking, work: Callable[[], Awaitable[object]]) -> None:
        """Close a question and do the work that answers it, once: a key right behind the one that answers is not for it.

        Until the engine has the answer the question still waits there; only one whose answer fails is shown again.
        """
        if request.id not in self._answered:
            self._answered.add(request.id)
            self._close_question()
            self._chat.do(self._sent(request, work))

    async def _sent(self, request: Asking, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await work()
        except Exception:
            self._answered.discard(request.id)
            self.sync()
            raise

    def _reply(
        self,
        request: PermissionRequest,
        reply: Reply,
        *,
        message: str | None = None,
        always: Sequence[str] | None = None,
        host: bool = False,
    ) -> None:
        async def work() -> None:
            await self._control.client.permissions.reply(request.id, reply, message, always=always, host=host)
            if reply == "always":
                self._chat.show_note("done", *stored_words(request, always, host=host))

        self._send(request, work)

    async def _decline(self, request: PermissionRequest) -> None:
        await self._control.client.permissions.decline(request.id)
        self._chat.show_note("done", "Not suggested again")

    def _edit_plan(self, file: Path) -> None:
        self._chat.do(self._edit_and_show(file))

    async def _edit_and_show(self, file: Path) -> None:
        self._chat.edit_file(file)
        text = await asyncio.to_thread(file.read_text, "utf-8", "replace")
        self._chat.refresh_all()
        if isinstance(self._question, PlanPanel):
            self._question.show_plan(text)

    def _answer_question(self, request: QuestionRequest, answers: Sequence[Sequence[str]]) -> None:
        self._send(request, lambda: self._control.client.questions.reply(request.id, answers))

    def _close_question(self) -> None:
        self._remove(self._text_panel)
        self._remove(self._question)
        self._question = self._text_panel = None
        self._arrange()

    def _mount(self, panel: Widget) -> None:
        """Mount a panel; keys that follow wait until it has them: what is typed behind its key is for it, not for the prompt."""
        mounted = self._chat.ask.mount(panel)
        if isinstance(panel, TextPanel):
            self._chat.do(self._release_keys(mounted, panel, self._chat.app.hold_until_shown(panel.cancel)))

    async def _release_keys(self, mounted: AwaitMount, panel: TextPanel, release: Callable[[], None]) -> None:
        try:
            await mounted
            if panel is self._shown:
                self._chat.screen.set_focus(panel.editor)
        finally:
            release()

    def _remove(self, panel: Widget | None) -> None:
        if panel is not None:
            panel.remove()

    def _arrange(self, *, is_back: bool = False) -> None:
        """Show the panel with the highest priority, or the prompt; `is_back`: the user has left a panel in front of it."""
        shown = self._shown
        for panel in (self._user_panel, self._text_panel, self._question):
            if panel is not None:
                panel.display = panel is shown
        self._chat.screen.set_class(shown is not None, "-asking")
        if shown is None:
            self._chat.prompt.display = True
        if self._chat.is_browsing and self._user_panel is None:
            self._chat.browser.focus()  # keys of the browser must not answer a question that appears
        else:
            self.focus(is_back=is_back or shown is self._arranged)
        self._arranged = shown
        if shown is not None:  # last: a widget that is hidden with the focus gives it up at some later time
            self._chat.prompt.display = False
        self._chat.soon()

    def focus(self, *, is_back: bool = False) -> None:
        """Focus the shown panel, or the prompt. A panel accepts no key before it can be read, unless the user goes back to it."""
        target = self._shown or self._chat.prompt.editor
        if isinstance(target, Panel) and target.is_mounted and not is_back:
            target.guard_again()
        if isinstance(target, Panel | Editor) and target.is_mounted:
            self._chat.screen.set_focus(target)  # at once: the next key may be waiting already
        else:
            target.focus()


class Away:
    """Shows what was done while the user was away: at a start that continues a session, and when the terminal gets the focus again.

    Also records what the user has seen, so that lists of what ended leave it out.
    """

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._file: Path | None = None
        self._since: int | None = None

    def keep(self, state: Path) -> None:
        """Use the file in this folder from now on."""
        self._file = state / SEEN

    def leave(self) -> None:
        """Write down that the screen is left now. Blocks; where nothing can be written, the time before remains."""
        if self._file is None:
            return
        try:
            self._file.touch(0o600)
        except OSError as error:
            _log.info("cannot write when the screen was left: %s", error)

    def look(self) -> None:
        """Record that the user sees the shown session as it is now, unless the terminal has no focus."""
        facts = self._chat.control.facts
        if facts is not None and facts.info.parent_id is None and self._chat.app.app_focus:
            self._chat.do(self._look(facts.info.id))

    def look_at_all(self, until: int) -> None:
        """Record that the user has seen all that ended up to a moment in ms."""
        self._chat.do(self._look(until=until))

    async def _look(self, session_id: str | None = None, until: int = 0) -> None:
        try:
            await self._chat.control.client.inbox.look(session_id, until)
        except OpencodeError as error:  # a server of an older version, a folder that cannot be written
            _log.info("what was seen is not recorded: %s", error)

    def lose_focus(self) -> None:
        """Begin to be away."""
        self._since = self._chat.control.now()

    def get_focus(self) -> None:
        """Show what the other sessions did, after a longer time without the focus."""
        since, self._since = self._since, None
        if not self._chat.control.is_busy:
            self.look()
        if since is not None and self._chat.control.now() - since >= AWAY_MS:
            self._chat.do(self._show(since, without=self._chat.control.session_id))

    async def show_since_last_time(self) -> None:
        """Show what sessions did since a screen was left last."""
        try:
            left = None if self._file is None else await asyncio.to_thread(self._file.stat)
        except OSError:  # the first start
            return
        if left is not None:
            await self._show(int(left.st_mtime * 1000))

    async def _show(self, since: int, *, without: str | None = None) -> None:
        try:
            done = [one for one in await self._chat.control.client.inbox.done(since) if one.info.id != without]
        except (
            OpencodeError
        ) as error:  # a server of an older version, a record that cannot be read: nothing depends on it
            _log.info("what was done since is unknown: %s", error)
            return
        if done and self._chat.panels.is_open:
            key = self._chat.keymap.first("running_view")
            self._chat.show_note("note", "While you were away", f"{plural(len(done), 'session')} worked   {key}")
        elif done:
            now = self._chat.control.now()
            self._chat.panels.open(
                AwayPanel(done, since=since, now=now, opened=self._open, closed=self._chat.panels.close)
            )

    def _open(self, one: Done) -> None:
        self._chat.panels.close()
        self._chat.requests.show(self._chat, one.info)


def is_useful(chat: Chat, row: Action) -> bool:
    """Return whether there is now what the action is about, so that lists show it."""
    return row.id not in _NEEDED or bool(_NEEDED[row.id](chat))


def run_with(chat: Chat, action_id: str, words: str) -> bool:
    """Run the action with the words after the name of its slash command; return False if it uses none."""
    act = _WITH_WORDS.get(action_id)
    if act is not None:
        _begin(chat, act(chat, words), _LOADS.get(action_id, ""))
    return act is not None


def _begin(chat: Chat, result: object, loads: str = "") -> None:
    if isinstance(result, Coroutine):
        work = cast("Coroutine[Any, Any, None]", result)
        if loads:
            chat.load_page(f"Loading {loads}", work)
        else:
            chat.do(work)
