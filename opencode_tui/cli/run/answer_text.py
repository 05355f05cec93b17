"""The answer's text on stdout: safe for a terminal, ended by one line feed, with no empty lines around it.

In a terminal lines are broken between words; a file or a pipe gets the text as the model wrote it.
"""

import os
import re
import stat
from typing import TextIO

from opencode_tui.cli.style import Style
from opencode_tui.cli.terminal import write_answer
from opencode_tui.text.cells import width
from opencode_tui.text.safe_text import make_safe

PROSE_WIDTH = 88
"""Source: design, visual, section 2."""

_LIST_MARK = re.compile(r"[-*+>]|\d+[.)]")
_WIDE = r"\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe6f\uff00-\uffef"
"""Scripts that are written without blanks: a line may end after each letter."""

_PIECE = re.compile(rf"\n|[^\S\n]+|[{_WIDE}]|[^\s{_WIDE}]+")
_OPEN_WORD = re.compile(rf"[^\s{_WIDE}]+$")


class AnswerText:
    """Writes texts one after another; `is_open` tells that a text stands there without its end."""

    def __init__(self, stream: TextIO, style: Style) -> None:
        self._stream = stream
        self._style = style
        self._held = ""
        self._line = _Line()
        self.is_open = False

    @property
    def is_terminal(self) -> bool:
        """Tell whether the text is seen while it is written."""
        return self._style.is_terminal

    @property
    def is_read_by_others(self) -> bool:
        """Tell whether the text goes to a program, as in `| tee`, which may show it on the terminal at any moment."""
        try:
            return stat.S_ISFIFO(os.fstat(self._stream.fileno()).st_mode)
        except (OSError, ValueError):  # no file behind it
            return False

    def write(self, text: str) -> None:
        """Write a piece of a text. White space is held back until more follows it, an unfinished word only in a terminal."""
        text = (self._held + text).replace("\r\n", "\n")
        body = text.rstrip("\r\n \t")
        if self.is_terminal and body == text:
            body = _OPEN_WORD.sub("", body).rstrip("\r\n \t")
        self._put(body)
        self._held = text[len(body) :]

    def end(self) -> None:
        """End the text and its last line, if there is one."""
        body, self._held = self._held.replace("\r\n", "\n").rstrip("\r\n \t"), ""
        self._put(body)
        if self.is_open:
            self.is_open = False
            self._line = _Line()
            self._send("\n")

    def _put(self, body: str) -> None:
        if not self.is_open:
            body = body.lstrip("\r\n")
        if not body:
            return
        self.is_open = True
        columns = self._style.columns()
        safe = make_safe(body, multiline=True)
        self._send(safe if columns is None else self._line.wrap(safe, min(columns, PROSE_WIDTH)))

    def _send(self, text: str) -> None:
        """Write at once; what the stream's encoding lacks is written as an escape."""
        encoding = self._stream.encoding or "utf-8"
        write_answer(self._stream, text.encode(encoding, "backslashreplace").decode(encoding))


class _Line:
    """Where a text stands that is wrapped while it comes, in whole words; code and tables are left as they are."""

    def __init__(self) -> None:
        self._used = 0
        self._indent = 0
        self._blank = ""
        self._is_fenced = False
        self._is_code = False

    def wrap(self, text: str, room: int) -> str:
        """Return the next piece of the text with line feeds in the place of some blanks."""
        return "".join(self._wrap_piece(piece, room) for piece in _PIECE.findall(text))

    def _wrap_piece(self, piece: str, room: int) -> str:
        if piece == "\n":
            self._used, self._blank = 0, ""
            return piece
        if piece.isspace():
            self._blank += piece
            return ""
        blank, self._blank = self._blank.expandtabs(4), ""
        if self._used == 0:
            self._begin(blank, piece)
        elif not self._is_code and self._used + width(blank + piece) > room:
            self._used = self._indent + width(piece)
            return "\n" + " " * self._indent + piece
        self._used += width(blank + piece)
        return blank + piece

    def _begin(self, blank: str, word: str) -> None:
        """Take the first word of a line: it tells code from prose, and how far a list's text is indented."""
        is_fence = word.startswith("```")
        self._is_fenced ^= is_fence
        is_item = _LIST_MARK.fullmatch(word) is not None
        self._is_code = self._is_fenced or is_fence or word.startswith("|") or (len(blank) >= 4 and not is_item)
        self._indent = len(blank) + (len(word) + 1 if is_item else 0)
