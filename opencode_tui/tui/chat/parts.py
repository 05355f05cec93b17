"""The widgets of an open chat, and what actions, panels and updates do with them."""

import logging
import weakref
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path

from textual.screen import Screen
from textual.worker import Worker

from opencode_tui.schema.error import OpencodeError
from opencode_tui.tui.base_app import BaseApp
from opencode_tui.tui.chrome.activity import Activity
from opencode_tui.tui.chrome.frame import Frame
from opencode_tui.tui.chrome.leader_keys import LeaderKeys
from opencode_tui.tui.chrome.welcome import Welcome
from opencode_tui.tui.conversation.tools.tool import FullText
from opencode_tui.tui.conversation.view import ConversationView
from opencode_tui.tui.external_editor import edit_file
from opencode_tui.tui.keys.keymap import Keymap
from opencode_tui.tui.prompt.completing import Completing
from opencode_tui.tui.screen_guards import failure_words
from opencode_tui.tui.sessions.browser import SessionBrowser
from opencode_tui.tui.sessions.known_sessions import KnownSessions
from opencode_tui.tui.sessions.session_list import SessionList
from opencode_tui.tui.sessions.sidebar import Sidebar
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.state.notices import FolderNotices
from opencode_tui.tui.state.screen_settings import ScreenSettings
from opencode_tui.tui.state.sender import Sender

_log = logging.getLogger(__name__)

NARROW = 120
"""Cells under which the sidebar is hidden, and covers the chat when it is opened."""


class ChatParts:
    """The widgets of the chat, its app, its controller, and what is known of the folder."""

    def __init__(
        self,
        screen: Screen[None],
        frame: Frame,
        app: BaseApp,
        control: SessionController,
        report: Callable[[str], object],
        clock: Callable[[], float],
    ) -> None:
        """`report` shows a failure in one line."""
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
        self._report = report
        for hidden in (self.leader_keys, self.view, self.welcome, self.completing.completions):
            hidden.display = False
        screen.mount(self.sidebar, self.browser)
        screen.query_one("#page").mount(self.leader_keys)

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
            self._report(failure_words(error))

    def show_at_right(self, at_right: Activity) -> None:
        """Show something at the right end of the activity line; an empty activity removes it."""
        self.activity.show_at_right(at_right)

    def open_page(self, page: Screen[None] | Screen[str | None]) -> None:
        """Open a full page over the chat."""
        self.app.push_screen(page)

    def open_text(self, full: FullText) -> None:
        """Show a long text on a page of its own."""
        from opencode_tui.tui.pages.full_text import FullTextScreen  # pages load on demand

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
