"""Pure: the code blocks of a markdown text, as they were written, for the clipboard."""

import re
from dataclasses import dataclass

_OPEN = re.compile(
    r"(?P<quote>(?: {0,3}> ?)*)(?P<indent>[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<sign>`{3,}|~{3,})(?P<info>[^`]*)$"
)
_QUOTE = re.compile(r" {0,3}> ?")


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A block between fences: its text without the final newline, not made safe, and its language, empty without one."""

    text: str
    language: str = ""

    @property
    def lines(self) -> int:
        """The number of lines."""
        return self.text.count("\n") + 1


def code_blocks(text: str) -> list[CodeBlock]:
    """Return the fenced blocks from the top, without the indent of the list and the signs of the quote that they are in.

    A block whose fence is not closed goes to the end of the text. Empty blocks are omitted.
    """
    found: list[CodeBlock] = []
    lines = iter(text.split("\n"))
    for line in lines:
        opening = _OPEN.match(line)
        if opening is None:
            continue
        quotes = opening["quote"].count(">")
        indent = len(opening["indent"].expandtabs(4))
        closing = re.compile(rf"[ \t]*{re.escape(opening['sign'][0])}{{{len(opening['sign'])},}}[ \t]*$")
        body: list[str] = []
        for raw in lines:
            inner = _unquoted(raw, quotes)
            if closing.match(inner):
                break
            body.append(_dedented(inner, indent))
        if any(one.strip() for one in body):
            info = opening["info"].split()
            found.append(CodeBlock("\n".join(body), info[0].strip("{}.") if info else ""))
    return found


def _unquoted(line: str, quotes: int) -> str:
    for _ in range(quotes):
        sign = _QUOTE.match(line)
        if sign is None:
            break
        line = line[sign.end() :]
    return line


def _dedented(line: str, indent: int) -> str:
    """Return a line without as much of its leading white space as the fence has before it."""
    width = 0
    for at, letter in enumerate(line):
        if width >= indent or letter not in " \t":
            return line[at:]
        width += 4 - width % 4 if letter == "\t" else 1
    return ""
