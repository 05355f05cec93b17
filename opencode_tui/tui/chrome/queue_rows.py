"""The rows above the prompt with the requests that wait for the end of the turn."""

from collections.abc import Sequence

from textual import events
from textual.strip import Strip

from opencode_tui.tui.chrome.status_line import Pressed, pressed, pressing
from opencode_tui.tui.widgets.row import Piece, Rows, row

MOST = 3
"""Requests that are shown."""


class QueueRows(Rows):
    """One row per request, the oldest first; the first one has the keys. Hidden while nothing waits."""

    texts: Sequence[str] = ()
    keys: Sequence[tuple[str, str, str]] = ()

    def on_mount(self) -> None:
        """Start hidden."""
        self.display = False

    def show(self, texts: Sequence[str], keys: Sequence[tuple[str, str, str]]) -> None:
        """Show the requests, safe texts of one line each, and keys as (key, words, action ID)."""
        if (texts, keys) == (self.texts, self.keys):
            return
        self.texts, self.keys = texts, keys
        self.display = bool(texts)
        self.styles.height = min(len(texts), MOST)
        self.redraw()

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return a row for each request; the last row counts those that have none."""
        palette, glyphs = self.look.palette, self.look.glyphs
        fill = palette.area("background")
        hidden = len(self.texts) - MOST
        rows: list[Strip] = []
        for number, text in enumerate(self.texts[:MOST]):
            left = [
                (f" {glyphs.waiting} ", palette.style("accent")),
                ("next turn  ", palette.style("muted")),
                (text, palette.style("text")),
            ]
            right = self._keys() if number == 0 and width >= 80 else []
            if number == MOST - 1 and hidden > 0:
                right = [(f"and {hidden} more  ", palette.style("muted"))]
            rows.append(row(width, left, right, fill=fill, mark=glyphs.ellipsis))
        return rows

    def _keys(self) -> list[Piece]:
        palette = self.look.palette
        pieces: list[Piece] = []
        for key, words, action_id in self.keys:
            meta = pressing(action_id)
            pieces += [(f"  {key}", palette.style("text") + meta), (f" {words} ", palette.style("muted") + meta)]
        return [*pieces, (" ", palette.area("background"))] if pieces else []

    def on_click(self, event: events.Click) -> None:
        """Handle a click on a hint like its key."""
        if act := pressed(event):
            self.post_message(Pressed(act))
