"""Parsing of shell text with tree-sitter, and the few readings that its grammar lacks.

`parse` never raises for any text. A tree with errors is mended where bash would accept the text and the grammar does not.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

SIZE_LIMIT = 1_000_000
"""Bytes of text that are parsed at all; a longer command is unknown."""

HERE_LIMIT = 500
"""Here-documents in one text; parsing takes more than linear time in their number."""

_BRACE_COMMAND = re.compile(rb"(?:^|(?<=[;&|(\n])|(?<=[;&|(\n] ))\{([^\s{}'\"`$();&|<>]*,[^\s{}'\"`$();&|<>]*)\}")
_READ_WRITE = re.compile(rb"<>")
_COPROCESS_NAME = re.compile(rb"\bcoproc[ \t]+[A-Za-z_]\w*(?=[ \t]*[({])")


@dataclass(frozen=True, slots=True)
class Script:
    """A parsed text: its tree, the text as it was given, whether bash's grammar is certain to accept it.

    `read_write` are the places where `<>` stood, as byte offsets of its `>`.
    """

    root: "Node"
    source: bytes
    certain: bool
    read_write: frozenset[int] = frozenset()


@cache
def _parser() -> "Parser":
    # tree-sitter is loaded when a command is first looked at, not when the program starts
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def parse(text: str) -> Script | None:
    """Return the parsed text, None when it is too long to be parsed in time."""
    source = text.encode("utf-8", "surrogateescape")
    if len(source) > SIZE_LIMIT or source.count(b"<<") > HERE_LIMIT:
        return None
    tree = _parser().parse(source)
    if not tree.root_node.has_error:
        return Script(tree.root_node, source, certain=True)
    mended, read_write = _mend(source)
    if mended == source:
        return Script(tree.root_node, source, certain=False)
    again = _parser().parse(mended).root_node
    return Script(again, source, certain=not again.has_error, read_write=read_write)


def _mend(source: bytes) -> tuple[bytes, frozenset[int]]:
    """Return the text with what the grammar lacks written in another way of the same length."""
    positions = frozenset(found.start() + 1 for found in _READ_WRITE.finditer(source))
    mended = _READ_WRITE.sub(b" >", source)
    mended = _BRACE_COMMAND.sub(lambda found: b" " + found.group(1).replace(b",", b" ") + b" ", mended)
    return _COPROCESS_NAME.sub(lambda found: b" " * len(found.group()), mended), positions


def embedded_programs(text: str) -> list[str]:
    """Return the command substitutions that stand in text which is not parsed as shell (here-documents, array subscripts)."""
    programs: list[str] = []
    place = 0
    while place < len(text):
        character = text[place]
        if character == "\\":
            place += 2
        elif text.startswith("$(", place):
            end = _closing(text, place + 2)
            programs.append(text[place + 2 : end])
            place = end + 1
        elif character == "`":
            end = text.find("`", place + 1)
            end = len(text) if end < 0 else end
            programs.append(text[place + 1 : end])
            place = end + 1
        else:
            place += 1
    return programs


def _closing(text: str, place: int) -> int:
    """Return where the parenthesis that was opened before `place` closes, the end of the text if it does not."""
    depth = 1
    quoted = ""
    while place < len(text):
        character = text[place]
        if character == "\\" and quoted != "'":
            place += 1
        elif quoted:
            quoted = "" if character == quoted else quoted
        elif character in "'\"":
            quoted = character
        elif character in "()":
            depth += 1 if character == "(" else -1
            if depth == 0:
                return place
        place += 1
    return len(text)


_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_ANSI_NAMED = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def decode_ansi(text: str) -> str:
    r"""Return the text between the quotes of `$'…'` with its escapes decoded. Source: bash manual, ANSI-C quoting."""

    def decode(found: re.Match[str]) -> str:
        hexadecimal, short, long, octal, control, named = found.groups()
        if code := hexadecimal or short or long:
            return chr(min(int(code, 16), 0x10FFFF))
        if octal:
            return chr(int(octal, 8) & 0xFF)
        if control:
            return chr(ord(control) & 0x1F)
        return _ANSI_NAMED.get(named, named)

    return _ANSI.sub(decode, text)
