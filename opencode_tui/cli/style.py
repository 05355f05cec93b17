"""Few colours for what commands say on stderr; none when it is no terminal or `NO_COLOR` is set."""

import os
import sys
from typing import Literal

Token = Literal["bold", "muted", "accent", "success", "warning", "error"]

_CODES: dict[Token, str] = {"bold": "1", "muted": "2", "accent": "95", "success": "92", "warning": "93", "error": "91"}


def has_colour() -> bool:
    """Tell whether stderr shows colours."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in ("", "dumb")


def style(text: str, token: Token) -> str:
    """Return the text in a colour, or as it is where there are none. The text must be safe already."""
    return f"\x1b[{_CODES[token]}m{text}\x1b[0m" if has_colour() else text


def glyph(sign: str, plain: str) -> str:
    """Return a sign, or its ASCII stand-in when stderr cannot show it."""
    try:
        sign.encode(sys.stderr.encoding or "ascii")
    except UnicodeEncodeError:
        return plain
    return sign
