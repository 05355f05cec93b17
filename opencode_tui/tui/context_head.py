"""The head of the context view: how full it is, as a bar by kinds, and what the kinds take."""

from collections.abc import Sequence

from rich.style import Style

from opencode_tui.schema.context import ContextGroup, ContextView
from opencode_tui.text.quantity import amount, money
from opencode_tui.tui.row import Piece, measure
from opencode_tui.tui.theme.look import Look
from opencode_tui.tui.theme.mixing import mix

GROUPS: tuple[tuple[ContextGroup, str], ...] = (
    ("outputs", "tool output"),
    ("messages", "messages"),
    ("summary", "summary"),
    ("system", "system and tools"),
)
"""The four parts of the bar, what can be freed first."""

_SHADES = ("accent", "muted", "guide", "border")
_FADED = (0.0, 0.35, 0.6, 0.82)
"""How much of the page is in the colour of each part: the brightest is what can be freed."""

MARGIN = 5
"""Cells of a row that lie outside of its texts."""


class ContextHead:
    """Title, bar and legend of a view."""

    def __init__(self, look: Look, view: ContextView) -> None:
        self._look = look
        self._view = view
        self._sums = [sum(item.tokens for item in view.items if item.group == group) for group, _ in GROUPS]

    def title(self) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """`Context`, and at the right how much of what."""
        view, palette = self._view, self._look.palette
        facts = f" tokens · {round(100 * view.tokens / view.usable)} %" if view.usable else " tokens"
        of = f" of {amount(view.usable)}" if view.usable else ""
        cost = f" · {money(view.cost)}" if view.cost else ""
        bold = palette.style("text", bold=True)
        right = [(amount(view.tokens), bold), (self._look.words(f"{of}{facts}{cost}"), palette.style("muted"))]
        return [("Context", bold)], right

    def bar(self, room: int) -> list[Piece]:
        """Each part as long as its share of what is usable; the rest is free."""
        view = self._view
        whole = max(view.usable or 0, view.tokens, 1)
        pieces: list[Piece] = []
        used = 0
        for number, total in enumerate(self._sums):
            cells = min(room - used, round(room * total / whole) or (1 if total else 0))
            used += cells
            pieces.append((self._sign(number) * cells, self._shade(number)))
        return [*pieces, (self._look.glyphs.shades[4] * (room - used), self._look.palette.style("guide"))]

    def legend(self, width: int) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """What each part takes, what is free, and where there is room when it compacts."""
        palette, view = self._look.palette, self._view
        muted, text = palette.style("muted"), palette.style("text")
        pieces: list[Piece] = []
        for number, (total, (_, words)) in enumerate(zip(self._sums, GROUPS, strict=True)):
            sign = (f"{self._sign(number)} ", self._shade(number))
            pieces += [sign, (f"{words} ", muted), (f"{_whole(total)}   ", text)]
        if not view.usable:
            return pieces, []
        free = max(0, view.usable - view.tokens)
        pieces += [(f"{self._look.glyphs.shades[4]} ", palette.style("guide")), ("free ", muted), (_whole(free), text)]
        right = [(f"compacts at {amount(view.usable)}", muted)]
        return pieces, right if measure([*pieces, *right]) + MARGIN + 3 <= width else []

    def _sign(self, number: int) -> str:
        return self._look.glyphs.shades[0 if self._look.palette.tones else number]

    def _shade(self, number: int) -> Style:
        palette = self._look.palette
        if palette.depth == "truecolor":
            return Style.parse(f"{mix(palette.accent, palette.background, _FADED[number])} on {palette.background}")
        return palette.style(_SHADES[number])


def _whole(number: int) -> str:
    """An amount without a digit behind the point from ten thousand on."""
    return f"{round(number / 1_000)} k" if 10_000 <= number < 1_000_000 else amount(number)
