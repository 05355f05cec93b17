"""Colors, signs and width of an output stream; files and pipes get plain text.

Colors are the terminal's own sixteen, so that they fit its theme; `muted` is the `dim` attribute.
"""

import os
from collections.abc import Mapping
from typing import Literal, TextIO

from msgspec import Struct

Token = Literal["bold", "italic", "muted", "text", "accent", "success", "warning", "error", "added", "removed"]

MAX_WIDTH = 120
"""Maximum width in cells of lines with right-aligned facts."""

USUAL_COLUMNS = 80
"""Cells of a line where the terminal does not know its width, as over a serial console."""

_ATTRIBUTES: dict[Token, str] = {"bold": "1", "italic": "3", "muted": "2"}
_DARK: dict[Token, str] = {
    "accent": "95",
    "success": "92",
    "added": "92",
    "warning": "93",
    "error": "91",
    "removed": "91",
}
_LIGHT: dict[Token, str] = {
    "accent": "35",
    "success": "1",
    "added": "1",
    "warning": "1",
    "error": "31",
    "removed": "31",
}
_ASCII = str.maketrans(
    {
        "✓": "v",
        "✗": "x",
        "●": "*",
        "○": "o",
        "■": "#",
        "█": "#",
        "▌": "-",
        "↻": "~",
        "↶": "<",
        "→": ">",
        "−": "-",
        "·": ".",
        "…": "~",
        "›": ">",
        "│": "|",
        "├": "|",
        "└": "`",
        "─": "-",
        "━": "=",
    }
)


class Style(Struct, frozen=True):
    """What a stream can show; the default is a file or a pipe. `is_live`: the terminal supports control sequences."""

    is_terminal: bool = False
    is_live: bool = False
    colors: Mapping[Token, str] | None = None
    is_utf8: bool = True
    descriptor: int | None = None

    def paint(self, text: str, *tokens: Token) -> str:
        """Return a safe text with its style; without colors bold, italic and muted remain."""
        table = {**_ATTRIBUTES, **(self.colors or {})}
        codes = ";".join(table[token] for token in tokens if token in table)
        return f"\x1b[{codes}m{text}\x1b[0m" if self.is_live and codes and text else text

    def words(self, text: str) -> str:
        """Return a text of the program, with its signs in ASCII if the locale requires it."""
        return text if self.is_utf8 else text.translate(_ASCII)

    def columns(self) -> int | None:
        """Return the current width in cells, None without a terminal; the last cell stays free, so that nothing wraps."""
        if self.descriptor is None:
            return None
        try:
            columns = os.get_terminal_size(self.descriptor).columns
        except OSError:
            return None
        return max(20, (columns or USUAL_COLUMNS) - 1)

    def width(self) -> int | None:
        """Return the width in cells of a line with right-aligned facts."""
        columns = self.columns()
        return None if columns is None else min(columns, MAX_WIDTH)


PLAIN = Style()


def style_of(stream: TextIO | None, environ: Mapping[str, str]) -> Style:
    """Return what a stream can show; `NO_COLOR` disables colors, `TERM=dumb` everything but the width."""
    if stream is None or stream.closed:
        return PLAIN
    is_utf8 = _is_utf8(stream.encoding, environ)
    if not stream.isatty():
        return Style(is_utf8=is_utf8)
    is_live = environ.get("TERM", "") not in ("", "dumb")
    colors = None if not is_live or environ.get("NO_COLOR") else _LIGHT if _is_light(environ) else _DARK
    return Style(is_terminal=True, is_live=is_live, colors=colors, is_utf8=is_utf8, descriptor=stream.fileno())


def _is_light(environ: Mapping[str, str]) -> bool:
    """Return whether the terminal reports a light background: `COLORFGBG` ends with a light color."""
    return environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")


def _is_utf8(encoding: str | None, environ: Mapping[str, str]) -> bool:
    """Return whether the stream and the locale are UTF-8.

    Python treats the locale C as UTF-8 and sets `LC_CTYPE`; here an explicit C means ASCII.
    """
    try:
        "✓".encode(encoding or "ascii")
    except UnicodeEncodeError:
        return False
    names = (environ.get("LC_ALL"), _chosen_ctype(environ), environ.get("LANG"))
    locale = next((name for name in names if name), "UTF-8")
    return "UTF8" in locale.upper().replace("-", "")


def _chosen_ctype(environ: Mapping[str, str]) -> str | None:
    ctype = environ.get("LC_CTYPE")
    return None if ctype in ("C.UTF-8", "C.utf8", "UTF-8") else ctype
