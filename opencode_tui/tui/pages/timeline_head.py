"""The head of the timeline: the tokens of each turn as columns, where an undo restores files, what the time went to."""

from collections.abc import Sequence

from rich.style import Style
from textual import events
from textual.message import Message

from opencode_tui.text.bars import AS_ASCII, ASCII_COLUMNS, COLUMNS, columns, grouped
from opencode_tui.text.cells import pad, width
from opencode_tui.text.quantity import amount, duration
from opencode_tui.text.time_shares import TimeShares, shares_line
from opencode_tui.tui.pages.page import PageHead
from opencode_tui.tui.pages.timeline_moments import Moment
from opencode_tui.tui.theme.look import ASCII, Look
from opencode_tui.tui.widgets.row import Piece

PICTURE = 39
"""Cells beside the columns of the head: what they are called, the sum, the edges."""

EDGES = 5
"""Cells at the left and right of a row of the head."""

_NAME = 10
"""Cells of what a row of the head is called."""


def bars_of(found: Sequence[Moment], room: int) -> Sequence[Sequence[int]]:
    """Return the positions of the turns of each column; nothing for a single turn, without tokens, or where there is no room."""
    if len(found) < 2 or room < 10 or not any(one.tokens for one in found):
        return []
    return grouped([one.tokens for one in found], room)


def turn_of(group: Sequence[Moment]) -> str:
    """Return the ID of the turn that makes a column as high as it is; empty for a column of compactions."""
    turns = [one for one in group if not one.is_rule]
    return max(turns, key=lambda one: one.tokens).message_id if turns else ""


_META = "turn"
"""The key in the meta of a column's style: the ID of its turn."""


def _bar_style(group: Sequence[Moment]) -> Style:
    turn = turn_of(group)
    return Style(meta={_META: turn}) if turn else Style()


_SHARES = 13
"""Cells of the bars of the shares of time, together."""


def shares_of(shares: TimeShares, look: Look, room: int) -> list[Sequence[Piece]]:
    """Return the row that draws what the time of the turns went to; without bars where there is little room."""
    muted, plain = look.palette.style("muted"), look.palette.style("text")
    for cells in (_SHARES, 0):
        words = shares_line(shares, cells)
        drawn = words.translate(AS_ASCII) if look.glyphs is ASCII else words
        last = f"   {duration(shares.total / 1000)}"
        if words and width(drawn) + width(last) + _NAME <= room:
            return [[(pad("Time", _NAME), muted), (drawn, plain), (last, muted)]]
    return []


class TimelineHead(PageHead):
    """The head with the columns; it posts `Chosen` when one is clicked."""

    class Chosen(Message):
        """The column of a turn was clicked."""

        def __init__(self, turn: str) -> None:
            super().__init__()
            self.turn = turn

    def on_click(self, event: events.Click) -> None:
        """Select the turn of the clicked column."""
        if turn := str(event.style.meta.get(_META, "")):
            event.stop()
            self.post_message(self.Chosen(turn))


def picture_of(found: Sequence[Moment], chosen: str, look: Look, room: int) -> list[Sequence[Piece]]:
    """Return the rows that draw the tokens of the turns, and below them where files were changed; none for a single turn, or
    without tokens.

    Where there are more turns than cells, neighbors share a column: it has their largest figure. The selected one is marked.
    """
    total = sum(one.tokens for one in found)
    groups = bars_of(found, room)
    if not groups:
        return []
    is_ascii = look.glyphs is ASCII
    signs = columns(
        [max(found[at].tokens for at in group) for group in groups], marks=ASCII_COLUMNS if is_ascii else COLUMNS
    )
    muted, accent, plain = (
        look.palette.style("muted"),
        look.palette.style("accent", bold=True),
        look.palette.style("text"),
    )
    tokens: list[Piece] = [(pad("Tokens", _NAME), muted)]
    files: list[Piece] = [(pad("Changes", _NAME), muted)]
    for group, sign in zip(groups, signs, strict=True):
        here = [found[at] for at in group]
        is_chosen = any(one.message_id == chosen for one in here)
        is_cut = any(one.is_rule for one in here)
        meta = _bar_style(here)
        tokens.append((look.glyphs.compacted if is_cut else sign, (accent if is_chosen else plain) + meta))
        mark = look.glyphs.undone if any(one.has_changes for one in here) else " "
        files.append((mark, (accent if is_chosen else muted) + meta))
    tokens.append((f"   {amount(total)} new tokens", muted))
    has_changes = any(one.has_changes for one in found)
    files.append((f"   {look.glyphs.undone} undo restores files", muted))
    return [tokens, files] if has_changes else [tokens]
