"""Asks the terminal how it shows pictures, and finds its replies among the keys."""

import fcntl
import re
import struct
import termios
from collections.abc import Mapping

from opencode_tui.tui.held_reply import ROUNDS, HeldReply
from opencode_tui.tui.pictures.forms import Terminal

_QUERY_ID = 0x6F62FFFF

_ASK_KITTY = f"\x1b_Gi={_QUERY_ID},s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"
_ASK_REST = "\x1b[16t\x1b[?1;1;0S\x1b[c"
"""The size of a cell in pixels, the colors of a sixel image, and last what every terminal answers."""

_REPLY = re.compile(
    r"\x1b_G(?P<kitty>[^\x1b]{0,200})\x1b\\"
    r"|\x1b\[6;(?P<height>\d{1,4});(?P<width>\d{1,4})t"
    r"|\x1b\[\?1;(?P<status>\d);?(?P<colors>[\d;]{0,20})S"
    r"|\x1b\[\?(?P<abilities>[\d;]{0,80})c"
)
_BEGINNING = re.compile(r"\x1b(?:_(?:G[^\x1b]{0,200}\x1b?)?|\[(?:\?[\d;]{0,80}|6(?:;\d{0,4}){0,2})?)?$")
_NOT_TYPED = re.compile(r"\x1b_G|\x1b\[\?")
"""The other start is that of keys too, such as page down."""

_SIXEL = "4"


def questions(environ: Mapping[str, str]) -> str:
    """Return what asks the terminal. Some take the question for kitty's graphics for a title, or show it."""
    is_deaf = environ.get("TMUX") or environ.get("STY") or environ.get("TERM_PROGRAM") == "Apple_Terminal"
    return _ASK_REST if is_deaf else _ASK_KITTY + _ASK_REST


class Replies:
    """Removes the replies from the input; the possible start of one is held until `release`."""

    def __init__(self, cell: tuple[int, int] = (0, 0)) -> None:
        """`cell` is the size of a cell in pixels as the system knows it, zeros for unknown."""
        self._cell = cell
        self._held = HeldReply(_BEGINNING, _NOT_TYPED, _REPLY.match)
        self._held.rounds = ROUNDS
        self._found: dict[str, str] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether a reply is expected, or its possible start is held."""
        return self._held.is_waiting

    def feed(self, data: str) -> tuple[str, Terminal | None]:
        """Return the typed text, and how the terminal shows pictures once its last reply was in the input."""
        data = self._held.join(data)
        terminal: Terminal | None = None
        for match in _REPLY.finditer(data):
            self._found.update({name: value for name, value in match.groupdict().items() if value is not None})
            if match["abilities"] is not None:
                terminal, self._held.rounds = terminal_of(self._found, self._cell), 0
        return self._held.hold(_REPLY.sub("", data)), terminal

    def release(self) -> str:
        """Return what was typed of the held text, because nothing followed in time."""
        return self._held.release()


def cell_size(descriptor: int) -> tuple[int, int]:
    """Return the size of a cell in pixels that a terminal has told the system; zeros for none."""
    try:
        rows, columns, width, height = struct.unpack("HHHH", fcntl.ioctl(descriptor, termios.TIOCGWINSZ, b"\0" * 8))
    except OSError:
        return 0, 0
    return (width // columns, height // rows) if rows and columns else (0, 0)


def terminal_of(found: Mapping[str, str], cell: tuple[int, int]) -> Terminal:
    """Return what the replies say; one without graphics of its own gets half blocks."""
    replied = (int(found.get("width") or 0), int(found.get("height") or 0))
    size = next((one for one in (replied, cell) if min(one) > 2), Terminal("blocks").cell)
    if f"i={_QUERY_ID};OK" in found.get("kitty", ""):
        return Terminal("kitty", size)
    if _SIXEL in found.get("abilities", "").split(";")[1:]:
        colors = found.get("colors", "").split(";")[0] if found.get("status") == "0" else ""
        return Terminal("sixel", size, int(colors) if colors.isdecimal() and int(colors) > 1 else 256)
    return Terminal("blocks")
