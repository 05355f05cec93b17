"""Makes everything around the conversation say what is known now: at once when somebody is asked, else within a moment."""

import os
from typing import TYPE_CHECKING, cast

from textual.timer import Timer

from opencode_tui.tui.control import Control
from opencode_tui.tui.notify import Notifier
from opencode_tui.tui.sidebar.facts import sidebar_facts
from opencode_tui.tui.status.activity import Activity
from opencode_tui.tui.surroundings import activity_of, end_of_turn, prompt_hints, status_of, title_of

if TYPE_CHECKING:
    from opencode_tui.tui.app import OpenCodeApp
    from opencode_tui.tui.screens.chat import ChatScreen

IDLE_S = 20
"""Seconds between two looks while nothing happens: how long ago things were goes on."""

SETTLE_S = 0.25
"""Seconds between two looks at numbers that grow with every token."""


class Settling:
    """Compares and tells; what did not change is not drawn again."""

    def __init__(self, screen: "ChatScreen", control: Control) -> None:
        self._screen = screen
        self._control = control
        self._notifier = Notifier(cast("OpenCodeApp", screen.app))
        self._note: Activity | None = None
        self._busy: tuple[str, int] | None = None
        self._timer: Timer | None = None
        screen.set_interval(IDLE_S, self.settle)

    def tell(self, note: Activity | None) -> None:
        """Say something in the activity line until the next key or the next run; None takes it away."""
        if note != self._note:
            self._note = note
            self.settle()

    def soon(self) -> None:
        """Settle within a moment; at once when somebody is asked or a run begins or ends."""
        if self._control.take_urgent():
            self.settle()
        elif self._timer is None:
            self._timer = self._screen.set_timer(SETTLE_S, self.settle)

    def settle(self) -> None:
        """Look at all facts."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        screen, control, now = self._screen, self._control, self._control.now()
        if not screen.is_mounted:
            return
        self._follow_run(now)
        assert screen.panels is not None
        screen.panels.sync()
        self._notifier.follow(len(control.questions()))
        cast("OpenCodeApp", screen.app).title_line.show(control.facts.title if control.facts is not None else "")
        screen.header.show(title_of(control, is_folded=screen.is_folded))
        doing = activity_of(control, now, interrupt_key=screen.keymap.first("session_interrupt"))
        screen.activity.show(doing if self._note is None else self._note)
        self._show_status()
        screen.prompt.editor.show_hints(prompt_hints(control, has_examples=screen.prompt.has_examples))
        if screen.welcome is not None and screen.welcome.display:
            screen.welcome.show(control)
        if screen.sidebar is not None and screen.sidebar.display:
            screen.sidebar.show(sidebar_facts(control, screen.sidebar.look.glyphs, home=os.path.expanduser("~")))
        if control.is_busy and self._timer is None:
            self._timer = screen.set_timer(1, self.settle)

    def _show_status(self) -> None:
        screen = self._screen
        screen.status.show(
            status_of(
                self._control,
                is_folded=screen.is_folded,
                is_asking=screen.panels is not None and screen.panels.is_open,
                width=screen.size.width,
                key=screen.keymap.first,
            )
        )

    def _follow_run(self, now: int) -> None:
        """Take notes away when a run begins, say what a run was when it ends."""
        control = self._control
        shown = control.session_id
        if control.is_busy and shown is not None:
            if self._busy is None or self._busy[0] != shown:
                self._busy, self._note = (shown, now), None
        elif self._busy is not None:
            session_id, started = self._busy
            self._busy = None
            if session_id == shown:
                self._note = end_of_turn(control, started, now)
                self._notifier.ended(now - started)
