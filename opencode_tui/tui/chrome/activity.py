"""The activity line: what the session does now, with a spinner."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from textual import events
from textual.strip import Strip
from textual.timer import Timer

from opencode_tui.text.cells import clip, clip_middle, wrap
from opencode_tui.text.cells import width as cells
from opencode_tui.tui.chrome.status_line import Pressed, pressed, pressing
from opencode_tui.tui.widgets.row import Piece, Rows, measure, row

Kind = Literal["idle", "busy", "asks", "retry", "failed", "note", "done"]

FRAMES_PER_SECOND = 8

SHOWN_AFTER_S = 0.3
"""Seconds from which on a wait is shown."""

INTERRUPT = "session_interrupt"
"""The action that escape and a click on the line run while a run goes on."""


@dataclass(frozen=True, slots=True)
class Activity:
    """Content of the line: `word` is what happens, muted `facts` after it, `key` and `act` at the right end.

    `action_id` is the action of a click there, an interruption by default.
    """

    kind: Kind = "idle"
    word: str = ""
    facts: str = ""
    key: str = ""
    act: str = ""
    action_id: str = INTERRUPT


class ActivityLine(Rows):
    """One row above the prompt, with a spinner while `kind` is busy; a message that is longer has a second one."""

    activity = Activity()
    clock: Callable[[], float] = time.monotonic
    at_right = Activity()
    """Content of the right end that replaces the key, such as `↓ 14 new   end`."""

    _frame = 0
    _timer: Timer | None = None
    _turned_at = 0.0
    _joined_at = 0.0
    """When the last frame of the conversation was drawn."""

    def show(self, activity: Activity) -> None:
        """Show an activity."""
        if activity == self.activity:
            return
        self.activity = activity
        self._turn(activity.kind == "busy" and not self.look.is_still)
        self._fit()
        self.redraw()

    def show_at_right(self, at_right: Activity) -> None:
        """Show something else at the right end; an empty activity removes it."""
        if at_right != self.at_right:
            self.at_right = at_right
            self._fit()
            self.redraw()

    def on_resize(self) -> None:
        """Fit the message to another width."""
        self._fit()

    def _fit(self) -> None:
        """Be as high as the message at this width."""
        wanted, height = (2 if self._second_row(self.size.width) else 1), self.styles.height
        if height is None or height.value != wanted:
            self.styles.height = wanted

    def join_frame(self) -> None:
        """Turn the spinner, if it is time, in a frame that is drawn anyway: one of its own costs as much again."""
        self._joined_at = now = self.clock()
        if self._timer is not None and now - self._turned_at > 0.9 / FRAMES_PER_SECOND:
            self._step()

    def _turn(self, wanted: bool) -> None:
        if wanted and self._timer is None:
            self._timer = self.set_interval(1 / FRAMES_PER_SECOND, self._step_alone)
        elif not wanted and self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _step_alone(self) -> None:
        """Turn the spinner, unless frames come that do it."""
        if self.clock() - self._joined_at > 1 / FRAMES_PER_SECOND:
            self._step()

    def _step(self) -> None:
        self._turned_at = self.clock()
        self._frame += 1
        self.redraw()

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return the row, and the second one of a long message."""
        palette = self.look.palette
        fill = palette.area("background")
        if not self.activity.word:
            return [row(width, [], self._end(), fill=fill)]
        end = self._end()
        mark = self.look.glyphs.ellipsis
        word, second = self.activity.word, self._second_row(width) if height > 1 else ""
        if second:
            first = self._first_row(width)
            left = [(" ", fill), (f"{self._sign()} ", palette.style(self._hue(), bold=True))]
            below = [(" " * 3, fill), (second, palette.style("muted" if first == word else "text"))]
            return [
                row(width, [*left, (first, palette.style("text"))], end, fill=fill, mark=mark),
                row(width, below, fill=fill, mark=mark),
            ]
        if self.activity.kind == "failed":
            word = clip_middle(word, width - measure(end) - 4, mark)
        facts = self._facts(width - measure(end) - cells(word) - 4)
        if self.activity.kind in ("retry", "busy"):  # the time is what changes: the words give way
            word = clip(word, max(8, width - measure(end) - cells(facts) - 4), mark)
        loud = {"retry": "warning", "failed": "error"}.get(self.activity.kind, "text")
        left = [
            (" ", fill),
            (f"{self._sign()} ", palette.style(self._hue(), bold=True)),
            (word, palette.style(loud if self.activity.kind == "retry" else "text")),
            (facts, palette.style(self._facts_token())),
        ]
        return [row(width, left, end, fill=fill, mark=mark)]

    def _first_row(self, width: int) -> str:
        """Return what the first of two rows says of a message."""
        return wrap(self.activity.word, max(8, width - measure(self._end()) - 4))[0]

    def _second_row(self, width: int) -> str:
        """Return what follows in a second row: what one row would cut off of a message that names no time."""
        word, facts = self.activity.word, self.activity.facts
        if self.activity.kind not in ("note", "done", "failed") or " · " in facts or not word or width <= 0:
            return ""
        if 3 + cells(word) + (2 + cells(facts) if facts else 0) + measure(self._end()) < width:
            return ""
        rest = word[len(self._first_row(width)) :].strip()
        below = "  ".join(filter(None, [rest, self.look.words(facts)]))
        return clip_middle(below, width - 4, self.look.glyphs.ellipsis) if cells(below) > width - 4 else below

    def on_click(self, event: events.Click) -> None:
        """Handle a click on the key at the right like the key."""
        if act := pressed(event):
            self.post_message(Pressed(act))

    def _end(self) -> list[Piece]:
        shown = self.at_right if self.at_right.word or self.at_right.key else self.activity
        palette = self.look.palette
        word = f"{shown.word}   " if shown is self.at_right and shown.word else ""
        if not (shown.key or word):
            return []
        act = f" {shown.act}" if shown.act else ""
        meta = pressing(shown.action_id)
        return [
            (word, palette.style("accent") + meta),
            (shown.key, palette.style("text") + meta),
            (f"{act}  ", palette.style("muted") + meta),
        ]

    def _facts(self, room: int) -> str:
        """Return as many facts as fit, the last ones omitted; the first one is not omitted."""
        facts = self.activity.facts.split(" · ")
        while len(facts) > 1 and cells(" · ".join(facts)) + 2 > room:
            facts.pop()
        text = " · ".join(facts)
        while self.activity.kind in ("retry", "busy") and cells(text) + 2 > room and ", " in text:
            text = text.rpartition(", ")[0]  # the time is whole, the number of the attempt gives way
        return self.look.words(f"  {text}") if text else ""

    def _facts_token(self) -> str:
        return "text" if self.activity.kind == "retry" else "muted"

    def _sign(self) -> str:
        glyphs = self.look.glyphs
        if self.activity.kind == "busy":
            return glyphs.running if self.look.is_still else glyphs.spinner[self._frame % len(glyphs.spinner)]
        signs = {"asks": glyphs.asks, "retry": glyphs.retried, "failed": glyphs.failed, "done": glyphs.done}
        return signs.get(self.activity.kind, " ")

    def _hue(self) -> str:
        colors = {"busy": "accent", "asks": "warning", "retry": "warning", "failed": "error", "done": "success"}
        return colors.get(self.activity.kind, "muted")
