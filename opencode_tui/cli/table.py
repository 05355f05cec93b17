"""Plain tables and ages for people."""

import shutil
import unicodedata
from collections.abc import Sequence

_GAP = "  "


def render_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the rows under their heads, columns as wide as their widest cell; the widest column is cut to the terminal."""
    table = [list(heads), *[list(row) for row in rows]]
    widths = [max(width(row[column]) for row in table) for column in range(len(heads))]
    room = shutil.get_terminal_size((120, 24)).columns - len(_GAP) * (len(widths) - 1)
    widest = max(range(len(widths)), key=widths.__getitem__)
    widths[widest] = max(10, min(widths[widest], room - sum(widths) + widths[widest]))
    return "\n".join(_GAP.join(_cell(text, widths[n]) for n, text in enumerate(row)).rstrip() for row in table)


def width(text: str) -> int:
    """Return how many cells a text takes in a terminal."""
    return sum(_cells(letter) for letter in text)


def age(then: int, now: int) -> str:
    """Return how long ago a moment (ms since 1970) was, as `12 s`, `4 m`, `2 h` or `5 d`."""
    seconds = max(0, (now - then) // 1000)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _cells(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in ("W", "F") else 1


def _cell(text: str, room: int) -> str:
    if width(text) <= room:
        return text + " " * (room - width(text))
    cut, used = "", 0
    for letter in text:
        if used + _cells(letter) > room - 1:
            break
        cut, used = cut + letter, used + _cells(letter)
    return cut + "…" + " " * (room - used - 1)
