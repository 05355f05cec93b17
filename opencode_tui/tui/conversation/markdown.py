"""An answer's markdown as blocks, cut line by line while it is written: what a line feed has completed is never looked at again.

The unfinished last line is shown as what it seems to be, and taken back when more of it comes.
"""

import re

from opencode_tui.tui.conversation.block_builder import CUT, BlockBuilder
from opencode_tui.tui.conversation.blocks import Block

_UNSURE = re.compile(r"\s*(?:[-=*_|:`~#>+\s]|\d{1,9}[.)]?)*$")
"""A line of which only the beginning is known, that may become a rule, a fence, a mark."""


class Markdown:
    """Cuts a growing text into `blocks`."""

    def __init__(self) -> None:
        self._builder = BlockBuilder()
        self._partial: list[str] = []
        self._partial_size = 0
        self._is_mid_line = False

    @property
    def blocks(self) -> list[Block]:
        """What there is of the text so far, from top to bottom."""
        return self._builder.blocks

    def feed(self, text: str) -> int:
        """Take more of the text; return the index of the first block that is new or another one."""
        first = self._builder.take_back()
        head, newline, tail = text.rpartition("\n")
        if newline:
            lines = ("".join(self._partial) + head).split("\n")
            self._partial, self._partial_size = [], 0
            for line in lines:
                self._complete(line)
        if tail:
            self._partial.append(tail)
            self._partial_size += len(tail)
            if self._partial_size > CUT:
                self._cut_partial()
        self._guess()
        return min(first, self._builder.first)

    def close(self) -> int:
        """The text has ended; return the index of the first block that is another one now."""
        first = self._builder.take_back()
        if self._partial:
            self._complete("".join(self._partial))
            self._partial, self._partial_size = [], 0
        self._builder.close()
        return min(first, self._builder.first)

    def _guess(self) -> None:
        """Show the unfinished line as what it seems to be."""
        if not self._partial:
            return
        line = "".join(self._partial)
        self._partial = [line]
        if not _UNSURE.match(line) or (self._builder.is_in_fence and line.strip(" `~")):
            self._builder.guess(line, is_rest=self._is_mid_line)

    def _complete(self, line: str) -> None:
        line = line.rstrip("\r")
        if not self._is_mid_line:
            line = self._cut_all(line)
        if not self._is_mid_line:
            self._builder.line(line)
            return
        self._is_mid_line = False
        self._builder.go_on(line)
        self._builder.end_line()

    def _cut_partial(self) -> None:
        line = self._cut_all("".join(self._partial))
        self._partial, self._partial_size = [line], len(line)

    def _cut_all(self, line: str) -> str:
        """Make blocks of a long line's beginning; return its rest."""
        while len(line) > CUT:
            line = self._cut(line)
            self._is_mid_line = True
        return line

    def _cut(self, line: str) -> str:
        is_code = self._builder.is_in_fence
        at = -1 if is_code else line.rfind(" ", CUT // 2, CUT)
        at = CUT if at < 0 else at
        if self._is_mid_line:
            self._builder.go_on(line[:at])
        else:
            self._builder.line(line[:at])
        return line[at:].lstrip(" ") if not self._builder.is_in_fence else line[at:]
