"""The row above the prompt with the check of the session: what it did last, how long ago, what was edited since."""

from collections.abc import Sequence

from rich.style import Style
from textual import events
from textual.strip import Strip

from opencode_tui.schema.session.until import Until
from opencode_tui.text.check import changed_words, end_words, result_words
from opencode_tui.text.quantity import age, brief_duration
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chrome.status_line import Pressed, pressed, pressing
from opencode_tui.tui.widgets.row import Piece, Rows, row

_ROOM_FOR_KEYS = 80
"""Cells from which on the keys are shown."""


class CheckRow(Rows):
    """One row; hidden without a check."""

    DEFAULT_CSS = "CheckRow { height: 1; }"

    _facts: tuple[object, ...] = ()
    _left: Sequence[tuple[str, str]] = ()
    """Texts and the names of their colors."""
    _keys: Sequence[tuple[str, str, str]] = ()

    def show(self, until: Until, edited: int, now: int, keys: Sequence[tuple[str, str, str]]) -> None:
        """Show a check, the number of files that were edited since it ran, and keys as (key, words, action ID).

        `now` is in ms since 1970.
        """
        left = self._pieces(until, edited, now)
        if (self._left, self._keys) != (left, keys):
            self._left, self._keys = left, keys
            self.redraw()

    def _pieces(self, until: Until, edited: int, now: int) -> Sequence[tuple[str, str]]:
        glyphs, last = self.look.glyphs, until.last
        command = screen_line(" ".join(until.command.split()))
        if last is None:
            return [
                (f" {glyphs.waiting} ", "muted"),
                ("check  ", "muted"),
                (command, "text"),
                ("  after this turn", "muted"),
            ]
        sign, color = (glyphs.done, "success") if last.has_passed else (glyphs.failed, "error")
        facts = [
            *filter(None, [end_words(until, last), changed_words(edited)]),
            *([] if last.end == "refused" else [brief_duration(last.took / 1000)]),
            f"{age(last.at, now)} ago",
        ]
        separator = f" {glyphs.separator} "
        return [
            (f" {sign} ", color),
            ("check  ", "muted"),
            (command, "text"),
            (f"  {result_words(last)}", color),
            ("".join(f"{separator}{one}" for one in facts), "muted"),
        ]

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return the row."""
        palette, glyphs = self.look.palette, self.look.glyphs
        left = [(text, palette.style(color)) for text, color in self._left]
        right: list[Piece] = []
        for key, words, action_id in self._keys if width >= _ROOM_FOR_KEYS else ():
            meta: Style = pressing(action_id)
            right += [(f"  {key}", palette.style("text") + meta), (f" {words} ", palette.style("muted") + meta)]
        return [row(width, left, right, fill=palette.area("background"), mark=glyphs.ellipsis)]

    def on_click(self, event: events.Click) -> None:
        """Handle a click on a hint like its key."""
        if act := pressed(event):
            self.post_message(Pressed(act))
