"""The panel of what sessions did while the user was away: a line each; enter opens one, text goes into the prompt."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import events

from opencode_tui.text.cells import clip, pad
from opencode_tui.text.inbox import done_line
from opencode_tui.text.quantity import age
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.dialogs.panel import Line, Panel
from opencode_tui.tui.keys.keyed import KeyAction, cancels
from opencode_tui.tui.widgets.row import Piece

if TYPE_CHECKING:
    from opencode_tui.schema.api.inbox import Done

TITLE = 32
"""Cells of the column with the titles."""


class AwayPanel(Panel):
    """One session is selected; the keys that scroll other panels move the selection."""

    scopes = ("panel:away", "panel")
    bar = "accent"

    def __init__(
        self,
        done: Sequence["Done"],
        *,
        since: int,
        now: int,
        opened: Callable[["Done"], None],
        closed: Callable[[], None],
    ) -> None:
        """`since` and `now` are in ms."""
        super().__init__()
        self._done = done
        self._for = age(since, now)
        self._open_session = opened
        self._close_panel = closed
        self._at = 0

    @property
    def answers(self) -> Sequence[KeyAction]:
        """Open the selected session, or close the panel."""
        return KeyAction("away_open", "open", lambda: self._open_session(self._done[self._at])), cancels(
            "close", self._close_panel
        )

    def receive_key(self, event: events.Key) -> None:
        """Act, or close the panel for a text that is for the prompt."""
        if event.is_printable and event.character:
            self.post_message(self.Typed(event.character))
            self._close_panel()
        else:
            super().receive_key(event)

    def scroll_by(self, lines: int) -> None:
        """Move the selection, limited to its ends."""
        self._at = min(max(0, self._at + lines), len(self._done) - 1)
        self.scroll_to_line(self._at)

    def title(self) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """Return what it is, and how long the user was away."""
        palette = self.look.palette
        return [("While you were away", palette.style("text", "surface", bold=True))], [
            (self._for, palette.style("muted", "surface"))
        ]

    def body(self, width: int) -> Sequence[Line]:
        """Return a line for each session."""
        palette, glyphs = self.look.palette, self.look.glyphs
        room = max(1, min(TITLE, width // 2))
        lines: list[Line] = []
        for at, one in enumerate(self._done):
            is_here = at == self._at
            title = clip(screen_line(" ".join(one.info.title.split()) or "(no title)"), room, glyphs.ellipsis)
            hue = "warning" if one.state in ("asks", "stopped", "failed") else "muted"
            lines.append(
                [
                    (f"{glyphs.goes_on if is_here else ' '} ", palette.style("accent", "surface", bold=True)),
                    (f"{pad(title, room)}  ", palette.style("text", "surface", bold=is_here)),
                    (done_line(one), palette.style(hue, "surface")),
                ]
            )
        return lines
