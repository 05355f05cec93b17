"""What is shown when the user comes back: at a start that continues a session, and when the terminal gets the focus again.

Also what the user has seen, so that lists of what ended leave it out.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.quantity import plural
from opencode_tui.tui.chat.panel_host import PanelHost
from opencode_tui.tui.chat.parts import ChatParts
from opencode_tui.tui.chat.refresh import ChromeRefresh
from opencode_tui.tui.dialogs.away import AwayPanel

if TYPE_CHECKING:
    from opencode_tui.schema.api.inbox import Done

logger = logging.getLogger(__name__)

AWAY_MS = 10 * 60_000
"""Milliseconds without the focus after which the user was away."""

SEEN = "last-seen"
"""The file in the folder of the state whose time says when a screen was left last."""


class Away:
    """Knows since when the user is away; `opened` shows a session."""

    def __init__(
        self, parts: ChatParts, chrome: ChromeRefresh, panels: PanelHost, opened: Callable[["Done"], None]
    ) -> None:
        self._parts = parts
        self._chrome = chrome
        self._panels = panels
        self._opened = opened
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
            logger.info("cannot write when the screen was left: %s", error)

    def look(self) -> None:
        """Record that the user sees the shown session as it is now, unless the terminal has no focus."""
        facts = self._parts.control.facts
        if facts is not None and facts.info.parent_id is None and self._parts.app.app_focus:
            self._parts.do(self._look(facts.info.id))

    def look_at_all(self, until: int) -> None:
        """Record that the user has seen all that ended up to a moment in ms."""
        self._parts.do(self._look(until=until))

    async def _look(self, session_id: str | None = None, until: int = 0) -> None:
        try:
            await self._parts.control.client.inbox.look(session_id, until)
        except OpencodeError as error:  # a server of an older version, a folder that cannot be written
            logger.info("what was seen is not recorded: %s", error)

    def lose_focus(self) -> None:
        """Begin to be away."""
        self._since = self._parts.control.now()

    def get_focus(self) -> None:
        """Show what the other sessions did, after a longer time without the focus."""
        since, self._since = self._since, None
        if not self._parts.control.is_busy:
            self.look()
        if since is not None and self._parts.control.now() - since >= AWAY_MS:
            self._parts.do(self._show(since, without=self._parts.control.session_id))

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
            done = [one for one in await self._parts.control.client.inbox.done(since) if one.info.id != without]
        except (
            OpencodeError
        ) as error:  # a server of an older version, a record that cannot be read: nothing depends on it
            logger.info("what was done since is unknown: %s", error)
            return
        if done and self._panels.is_open:
            key = self._parts.keymap.first("running_view")
            self._chrome.show_note("note", "While you were away", f"{plural(len(done), 'session')} worked   {key}")
        elif done:
            now = self._parts.control.now()
            self._panels.open(AwayPanel(done, since=since, now=now, opened=self._open, closed=self._panels.close))

    def _open(self, one: "Done") -> None:
        self._panels.close()
        self._opened(one)
