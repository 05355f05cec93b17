"""The open chat: its widgets, its session, its panels, and the state of its actions."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.style import Style
from textual import events
from textual.screen import Screen
from textual.widget import Widget

from opencode_tui.cancellation import on_thread_for
from opencode_tui.client.client import Client
from opencode_tui.instant.line import KEYS
from opencode_tui.instant.page import Page
from opencode_tui.schema.api.keybinds import Action
from opencode_tui.schema.error import NotFoundError
from opencode_tui.schema.event.screen_event import ScreenEvent
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.tui.base_app import BaseApp
from opencode_tui.tui.chat.away import Away
from opencode_tui.tui.chat.panel_host import PanelHost
from opencode_tui.tui.chat.parts import NARROW, ChatParts
from opencode_tui.tui.chat.refresh import ChromeRefresh
from opencode_tui.tui.chrome.activity import INTERRUPT, SHOWN_AFTER_S, Activity, Kind
from opencode_tui.tui.chrome.frame import Frame
from opencode_tui.tui.chrome.leader_keys import LeaderKey
from opencode_tui.tui.first_page import runs_of
from opencode_tui.tui.keys.common import close_key
from opencode_tui.tui.keys.keymap import Keymap
from opencode_tui.tui.options import Ending, Place, StartOptions
from opencode_tui.tui.output.terminal_output import abilities
from opencode_tui.tui.state.controller import SessionController

if TYPE_CHECKING:
    from opencode_tui.schema.api.background import BackgroundCommand

SAID_OF_DRAFT = 2000
"""Characters that the terminal shows of a draft that could not be stored."""

KEEP_S = 0.3
"""Seconds that the end of the screen waits for what it writes. The end of the loop waits for it too, `THREADS_S` in all."""


@dataclass(frozen=True, slots=True)
class FirstPress:
    """The first press of a key that needs two: what the second one does until a time in ms, and the key."""

    action: str = ""
    key: str = ""
    until: int = 0


@dataclass(frozen=True, slots=True)
class ChatActions:
    """The actions of a chat, which are defined above it: whether one is available, and what runs it by its ID."""

    can: "Callable[[Chat, Action], bool]"
    run: "Callable[[Chat, str], None]"
    requested: "Callable[[Chat, ScreenEvent], None]"
    """Does what a client of the server requests of the screen."""
    show: "Callable[[Chat, SessionInfo], None]"
    """Shows a session of any folder."""


class Chat(ChatParts):
    """Built whole when the engine is open; actions are functions of it."""

    def __init__(
        self,
        screen: Screen[None],
        frame: Frame,
        app: BaseApp,
        client: Client,
        actions: ChatActions,
        options: StartOptions,
        clock: Callable[[], float],
    ) -> None:
        control = SessionController(
            client,
            opened=self.show_conversation,
            lagged=lambda reason: self.do(self._read_again(reason)),
            requested=partial(actions.requested, self),
            clock=clock,
        )
        super().__init__(screen, frame, app, control, partial(self.show_note, "failed"), clock)
        self.options = options
        self._actions = actions
        self.prompt.editor.submit = partial(self.run, "input_submit")
        self.chrome = ChromeRefresh(
            self,
            sync_panels=lambda: self.panels.sync(),
            is_asking=lambda: self.panels.is_open,
            ended=lambda: self.away.look(),
        )
        self.panels = PanelHost(self, self.chrome)
        self.away = Away(self, self.chrome, self.panels, lambda one: actions.show(self, one.info))
        self.first_press = FirstPress()
        self.visited = ""
        """The ID of the prompt in the conversation that was visited last."""
        self._is_hung_up = False
        self._is_ending = False

    def can(self, action: Action) -> bool:
        """Return whether an action of the chat is available now; a panel keeps escape and tab, the browser its keys."""
        if self.browser.keeps(self.app.last_key):
            return False
        if action.id == INTERRUPT and self.panels.closes_on_escape:
            return False
        return not (self.panels.is_open and action.id.startswith("agent_")) and self._actions.can(self, action)

    def run(self, action_id: str) -> None:
        """Run an action."""
        self._actions.run(self, action_id)

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

    def is_for_prompt(self, event: events.Key | events.Paste, focused: Widget | None) -> bool:
        """Return whether a key is for the prompt although it has no focus: a question accepts no key yet, or has just ended."""
        return self.panels.is_for_prompt(event, focused)

    def receive_in_panel(self, event: events.Key, focused: Widget | None) -> bool:
        """Let the panel that is shown handle a key at once; return whether it has one."""
        return self.panels.receive_key(event, focused)

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

    def show_leader_keys(self, keys: Callable[[], Sequence[LeaderKey]] | None) -> None:
        """List the keys that can follow the leader key after a moment; None hides the list."""
        self.leader_keys.show_soon(keys)

    def restyle(self) -> None:
        """Draw the conversation in the current look."""
        self.view.request_frame()

    def show_note(self, kind: Kind, words: str, facts: str = "", *, for_ms: float = 0) -> None:
        """Show a message in the activity line until the next key with an action, at most `for_ms` if that is not 0."""
        self.chrome.show_note(kind, words, facts, for_ms=for_ms)

    def clear_note(self) -> None:
        """Remove the message from the activity line."""
        self.chrome.clear_note()

    def refresh_chrome(self) -> None:
        """Update everything around the conversation."""
        self.chrome.refresh()

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
    def working(self) -> tuple[list[str], list["BackgroundCommand"]]:
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
