"""The response text on stdout: safe for a terminal, without empty lines around it, ended by one line feed.

A terminal gets lines wrapped between words; a file or a pipe gets the text as the model wrote it.
"""

import os
import re
import stat
from functools import cache
from typing import TextIO

from opencode_tui.cli.style import Style
from opencode_tui.cli.terminal import write_answer
from opencode_tui.text.cells import width
from opencode_tui.text.safe_text import make_safe

PROSE_WIDTH = 88

_LIST_MARK = re.compile(r"[-*+>]|\d+[.)]")
_WIDE = r"\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe6f\uff00-\uffef"
"""Scripts without spaces: a line may break after each character."""


class AnswerText:
    """Writes one text at a time; `is_open` while a text is unfinished."""

    def __init__(self, stream: TextIO, style: Style) -> None:
        self._stream = stream
        self._style = style
        self._buffer = ""
        self._line = _Line()
        self.is_open = False

    @property
    def is_terminal(self) -> bool:
        """Return whether the output is a terminal."""
        return self._style.is_terminal

    @property
    def is_read_by_others(self) -> bool:
        """Return whether the output is a pipe, as in `| tee`, whose reader may write to the terminal at any time."""
        try:
            return stat.S_ISFIFO(os.fstat(self._stream.fileno()).st_mode)
        except (OSError, ValueError):  # not a real file
            return False

    def write(self, text: str) -> None:
        """Write a piece of a text. Trailing white space is buffered until more text follows; in a terminal a partial word too."""
        text = (self._buffer + text).replace("\r\n", "\n")
        body = text.rstrip("\r\n \t")
        if self.is_terminal and body == text:
            body = _open_word().sub("", body).rstrip("\r\n \t")
        self._put(body)
        self._buffer = text[len(body) :]

    def end(self) -> None:
        """Write the buffered text and end the last line, if a text is open."""
        body, self._buffer = self._buffer.replace("\r\n", "\n").rstrip("\r\n \t"), ""
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
        """Write and flush; characters that the encoding lacks are escaped."""
        encoding = self._stream.encoding or "utf-8"
        write_answer(self._stream, text.encode(encoding, "backslashreplace").decode(encoding))


class _Line:
    """The state of a text that is wrapped while it streams, between words; code and tables are not wrapped."""

    def __init__(self) -> None:
        self._used = 0
        self._indent = 0
        self._blank = ""
        self._is_fenced = False
        self._is_code = False

    def wrap(self, text: str, room: int) -> str:
        """Return the next piece of the text with some spaces replaced by line feeds."""
        return "".join(self._wrap_piece(piece, room) for piece in _pieces().findall(text))

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
        """Start a line with its first word, which determines whether it is code, and the indent of a list item."""
        is_fence = word.startswith("```")
        self._is_fenced ^= is_fence
        is_item = _LIST_MARK.fullmatch(word) is not None
        self._is_code = self._is_fenced or is_fence or word.startswith("|") or (len(blank) >= 4 and not is_item)
        self._indent = len(blank) + (len(word) + 1 if is_item else 0)


@cache
def _pieces() -> re.Pattern[str]:
    """Return the pattern of words, blanks and wide letters; compiling it takes 3 ms, so only for a terminal."""
    return re.compile(rf"\n|[^\S\n]+|[{_WIDE}]|[^\s{_WIDE}]+")


@cache
def _open_word() -> re.Pattern[str]:
    return re.compile(rf"[^\s{_WIDE}]+$")
