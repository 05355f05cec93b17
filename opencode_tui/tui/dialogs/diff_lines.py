"""A unified diff as rows of a panel."""

import re

from opencode_tui.tui.dialogs.panel import Line
from opencode_tui.tui.row import clip
from opencode_tui.tui.safe_text import screen_line
from opencode_tui.tui.theme.look import Look

_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def diff_lines(diff: str, look: Look, room: int) -> list[Line]:
    """One row for each line of the change, numbered; between two places how far they are apart."""
    lines: list[Line] = []
    old = new = 0
    for text in diff.splitlines():
        hunk = _HUNK.match(text)
        if hunk is not None:
            skipped = int(hunk[2]) - new
            if new and skipped > 0:
                lines.append(
                    [(f"       {look.glyphs.ellipsis} {skipped} lines", look.palette.style("muted", "surface"))]
                )
            old, new = int(hunk[1]), int(hunk[2])
        elif new and text[:1] in ("+", "-", " "):
            lines.append(_line(text, old if text[0] == "-" else new, look, room))
            old += text[0] != "+"
            new += text[0] != "-"
    return lines


def _line(text: str, number: int, look: Look, room: int) -> Line:
    palette, glyphs = look.palette, look.glyphs
    sign = {"+": glyphs.plus, "-": glyphs.minus, " ": " "}[text[0]]
    token = {"+": "diff_add", "-": "diff_del", " ": "text"}[text[0]]
    area = {"+": "diff_add_line", "-": "diff_del_line", " ": "surface"}[text[0]] if palette.line_tones else "surface"
    code = "text" if palette.line_tones else token
    pieces = [
        (f"{number:>4} ", palette.style("muted", area)),
        (f"{sign} ", palette.style(token, area, bold=text[0] != " ")),
        (screen_line(text[1:]), palette.style(code, area)),
    ]
    shown = list(clip(pieces, room, glyphs.goes_on))
    used = sum(len(piece) for piece, _ in shown)
    return [*shown, (" " * max(0, room - used), palette.area(area))]
