"""The row above the prompt with the check of the session: what it did last, how long ago, what was edited since."""

from collections.abc import Sequence

from textual import events
from textual.strip import Strip

from opencode_tui.schema.session.until import Until
from opencode_tui.text.cells import width as cells
from opencode_tui.text.check import changed_words, end_words, result_words
from opencode_tui.text.quantity import age, brief_duration
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chrome.status_line import Pressed, pressed, pressing
from opencode_tui.tui.widgets.row import Piece, Rows, clip, measure, row

_COMMAND = 2
"""The index of the command among the pieces."""

_LEAST_COMMAND = 24
"""Cells of the command that are shown before keys are."""

_SHORTEST_COMMAND = 10
"""Cells of the command that are shown before anything else of the row."""


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
            *((f"{separator}{one}", "muted") for one in facts),
        ]

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return the row: where there is little room the keys go first, the last one before, then the last facts.

        After these goes the end of the command; no fact is cut.
        """
        if not self._left:
            return []
        palette, glyphs = self.look.palette, self.look.glyphs
        left: list[Piece] = [(text, palette.style(color)) for text, color in self._left]
        spare = max(0, cells(left[_COMMAND][0]) - _SHORTEST_COMMAND)
        while len(left) > _COMMAND + 2 and measure(left) - spare >= width:
            left.pop()
        hints = [self._hint(*key) for key in self._keys]
        room = width - measure(left) + cells(left[_COMMAND][0])
        while hints and room - sum(map(measure, hints)) - 1 < min(_LEAST_COMMAND, cells(left[_COMMAND][0])):
            hints.pop()
        right = [piece for hint in hints for piece in hint] or [(" ", palette.area("background"))]
        room -= measure(right) + 1
        left[_COMMAND : _COMMAND + 1] = clip([left[_COMMAND]], max(room, _SHORTEST_COMMAND), glyphs.ellipsis)
        return [row(width, left, right, fill=palette.area("background"), mark=glyphs.ellipsis)]

    def _hint(self, key: str, words: str, action_id: str) -> Sequence[Piece]:
        palette, meta = self.look.palette, pressing(action_id)
        return [(f"  {key}", palette.style("text") + meta), (f" {words} ", palette.style("muted") + meta)]

    def on_click(self, event: events.Click) -> None:
        """Handle a click on a hint like its key."""
        if act := pressed(event):
            self.post_message(Pressed(act))
