"""The one way of a text from outside (a model, a tool, a file name, a provider) onto a screen.

Nothing that steers a terminal or hides gets through: control characters, direction overrides, invisible tags, operators and
fillers are written out as `\\x1b`; what terminals measure differently (joiners, emoji variants) is left out, flags become their
country's characters, so that every cell is where the program thinks.
"""

import re
from functools import cache

TAB = 4
"""Cells between two tab stops."""

_HIDDEN = (
    r"\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    r"\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff"
)
_UNSAFE_IN_LINE = rf"[\x00-\x1f{_HIDDEN}]"
_UNSAFE_IN_TEXT = rf"[\x00-\x08\x0b-\x1f{_HIDDEN}]"
_UNSTEADY = (  # [^\x00-\u218f] is [\u2190-\U0010ffff], and compiles three times as fast
    r"(?<=[^\x00-\u218f])[\u00ad\u200b\u200d\u2060\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]+|"
    r"[\u00ad\u200b\u2060\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]"
)
"""Characters that take zero, one or two cells, depending on the terminal: soft hyphens, variation selectors, skin tones,
and joiners after an emoji or an ideograph, also after other such characters."""

_FLAG_LETTERS = {code: code - 0x1F1E6 + ord("A") for code in range(0x1F1E6, 0x1F200)}
"""The halves of flags as characters. A pair takes two cells in kitty or xterm, two or four in tmux, depending on its version, and a
half alone one or two: whatever is counted, some terminal's cursor is elsewhere. Two characters are two cells in all of them."""

_FLAG = f"[{chr(0x1F1E6)}-{chr(0x1F1FF)}]"

_SEQUENCE = (
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|"
    r"\x1b[ -/]+[0-~]|\x1b[0-9=>A-OQ-WYZa-z|}~]|\x9b[0-?]*[ -/]*[@-~]"
)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return one of these patterns, compiled at its first use: most commands write plain ASCII, and all take 6 ms."""
    return re.compile(pattern)


def make_safe(text: str, *, multiline: bool = False) -> str:
    r"""Return the text with control, direction and surrogate characters written as `\x1b` or `\u202e`.

    With `multiline` line feeds and tabs stay as they are.
    """
    if text.isascii() and (text.replace("\n", "").replace("\t", "") if multiline else text).isprintable():
        return text
    return _compiled(_UNSAFE_IN_TEXT if multiline else _UNSAFE_IN_LINE).sub(_escape, text)


def screen_line(text: str) -> str:
    """Return one line for a widget: safe, each character in the cells that the program counts, tabs as blanks."""
    if text.isascii() and text.isprintable():
        return text
    text = spell_flags(_compiled(_UNSTEADY).sub("", text))
    return make_safe(expand_tabs(text) if "\t" in text else text)


def spell_flags(text: str) -> str:
    """Return the text with flags as characters, one for each half, so that it stays as long as it was."""
    return text if text.isascii() or not _compiled(_FLAG).search(text) else text.translate(_FLAG_LETTERS)


def screen_lines(text: str) -> list[str]:
    """Return a text's lines for a widget."""
    return [screen_line(line) for line in text.replace("\r\n", "\n").split("\n")]


def output_line(text: str) -> str:
    """Return a line that a command printed: without its colors, and of a line drawn again only the last form."""
    if text.isascii() and text.isprintable():
        return text
    plain = _compiled(_SEQUENCE).sub("", text).rstrip("\r")
    return screen_line(plain.rpartition("\r")[2]).rstrip()


def expand_tabs(text: str) -> str:
    """Return the text with each tab as the blanks up to the next stop, counted in cells."""
    from opencode_tui.text.cells import width  # only where there are tabs

    pieces = text.split("\t")
    used = 0
    for number, piece in enumerate(pieces[:-1]):
        used += width(piece)
        blanks = TAB - used % TAB
        pieces[number] = piece + " " * blanks
        used += blanks
    return "".join(pieces)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code >= 0x10000:
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
