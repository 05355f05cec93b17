"""Counts of changed lines in lists: two columns, so that they can be compared from row to row."""

from opencode_tui.tui.row import Piece
from opencode_tui.tui.theme.look import Look


def change_columns(
    look: Look, additions: int, deletions: int, area: str, *, apart: int = 4, is_quiet: bool = False
) -> list[Piece]:
    """`+18  −1`: additions end `apart` cells before deletions do, muted when `is_quiet`; nothing for no change."""
    if not additions and not deletions:
        return []
    added = f"{look.glyphs.plus}{additions}" if additions else ""
    removed = f"{look.glyphs.minus}{deletions}" if deletions else ""
    gap = " " * (max(apart, len(removed) + 1) - len(removed))
    hues = ("muted", "muted") if is_quiet else ("diff_add", "diff_del")
    return [
        (added, look.palette.style(hues[0], area)),
        (gap, look.palette.area(area)),
        (removed, look.palette.style(hues[1], area)),
    ]
