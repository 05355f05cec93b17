"""The words of a command as the shell would see them after expansion, as far as known without running anything.

A word travels as one string in which characters of a private area stand for what plain text cannot say: a quoted character that
would otherwise be special, an unknown piece, a border where an unquoted variable splits. `finish` turns such strings into words.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from opencode_tui.schema.table import read_rows, read_sections, split_columns


def names(text: str) -> frozenset[str]:
    """Return the blank-separated words of a text."""
    return frozenset(text.split())


def rows(table: str, count: int) -> Iterator[list[str]]:
    """Yield the rows of a table of this package, each split into `count` columns."""
    for row in read_rows(Path(__file__).with_name(table)):
        yield split_columns(row, count)


def listed(title: str) -> frozenset[str]:
    """Return a list of the table `names.txt`."""
    return _lists()[title]


@cache
def _lists() -> Mapping[str, frozenset[str]]:
    sections = read_sections(Path(__file__).with_name("names.txt"))
    return {section.title: names(" ".join(section.rows)) for section in sections}


UNKNOWN = "\ue007"
SPLIT = "\ue008"
_SPECIAL = "*?[{},~"
_QUOTE = str.maketrans(_SPECIAL, "\ue000\ue001\ue002\ue003\ue004\ue005\ue006")
_QUOTE_BUT_GLOBS = str.maketrans("{},~", "\ue003\ue004\ue005\ue006")
_MATCHED = str.maketrans("*?[", "\ue009\ue00a\ue00b")
_PLAIN = str.maketrans("\ue000\ue001\ue002\ue003\ue004\ue005\ue006\ue009\ue00a\ue00b", _SPECIAL + "*?[", "\ue008")
PRIVATE = re.compile("[\ue000-\ue00b\ud800-\udfff]")
"""Characters that a scan replaces: the private ones that it uses itself, undecodable bytes and lone surrogates."""


_ACTIVE = re.compile(f"[*?\\[\ue009\ue00a\ue00b{UNKNOWN}]")
_GLOB = re.compile("[*?\\[\ue009\ue00a\ue00b]")
_BRACE = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(-?\w+)\.\.(-?\w+)(?:\.\.-?\d+)?")
_BLANK = re.compile(r"[ \t\n]+")
_TILDE = re.compile(r"~([^/:]*)")

WORD_LIMIT = 1_000
"""Maximum number of words of one brace expansion; more are unknown."""


class Word(Struct, frozen=True, gc=False):
    """One word after expansion.

    `text` is what is known of it, unknown pieces as `UNKNOWN`; `fixed` is its start before the first unknown piece or glob;
    `computed` is true for the result of an expansion, which the source does not show.
    """

    text: str
    fixed: str
    glob: bool = False
    computed: bool = False

    @property
    def known(self) -> bool:
        """Return whether every character is known (a glob's characters are)."""
        return UNKNOWN not in self.text


CUT = Word(text=UNKNOWN, fixed="", computed=True)
"""Represents a word that the grammar split in two; its value is unknown."""


def literal(text: str) -> Word:
    """Return a literal word."""
    return Word(text=text, fixed=text)


def quote(text: str) -> str:
    """Return text in which no character is special."""
    return text.translate(_QUOTE)


def unbraced(encoded: str) -> str:
    """Return an encoded text in which braces and blanks are plain, as on the right of an assignment."""
    return encoded.replace("{", "\ue003").replace(SPLIT, " ")


def matched(word: Word) -> str:
    """Return the value of a loop variable for a word: globs stay globs, even between quotes."""
    return word.text.translate(_MATCHED) if word.glob else word.text


def variable_text(value: str, *, quoted: bool) -> str:
    """Return the value of a variable in a word: unquoted, it splits at blanks and its globs are active."""
    if quoted:
        return quote(value)
    return _BLANK.sub(SPLIT, value.translate(_QUOTE_BUT_GLOBS))


def finish(encoded: str, *, home: str, folder: str | None, computed: bool) -> list[Word]:
    """Return the words that an encoded word becomes: braces, splitting, tilde, globs, in the shell's order."""
    words: list[Word] = []
    for alternative in _braces(encoded) if "{" in encoded else (encoded,):
        for piece in alternative.split(SPLIT) if SPLIT in alternative else [alternative]:
            if piece or SPLIT not in alternative:
                words.append(_word(_tilde(piece, home, folder), computed or piece != encoded))
    return words


def _word(encoded: str, computed: bool) -> Word:
    start = _ACTIVE.search(encoded)
    fixed = encoded[: start.start()] if start else encoded
    glob = start is not None and _GLOB.search(encoded) is not None
    return Word(text=encoded.translate(_PLAIN), fixed=fixed.translate(_PLAIN), glob=glob, computed=computed)


def plain(encoded: str) -> str:
    """Return the text of an encoded string, unknown pieces kept."""
    return encoded.translate(_PLAIN)


def _tilde(piece: str, home: str, folder: str | None) -> str:
    if not piece.startswith("~"):
        return piece
    found = _TILDE.match(piece)
    name = found.group(1) if found else ""
    rest = piece[1 + len(name) :]
    match name:
        case "":
            return home + rest
        case "+":
            return (folder or UNKNOWN) + rest
        case _ if name.isidentifier():
            return home_of(name, home) + rest
        case _:
            return UNKNOWN + rest


def home_of(name: str, home: str) -> str:
    """Return the home of another user, in the folder of this user's home, as a shell expands `~NAME`."""
    return "/root" if name == "root" else f"{posixpath.dirname(home)}/{name}"


def _braces(encoded: str) -> Iterator[str]:
    """Yield the alternatives of brace expansion, unknown where there are too many; innermost groups first gives the same set."""
    waiting = [encoded]
    given = 0
    while waiting:
        current = waiting.pop()
        group = next((one for one in _BRACE.finditer(current) if _choices(one.group(1))), None)
        if group is None:
            yield current
            given += 1
            continue
        head, tail = current[: group.start()], current[group.end() :]
        choices = _choices(group.group(1)) or []
        if given + len(waiting) + len(choices) > WORD_LIMIT:
            yield head + UNKNOWN
            return
        waiting.extend(head + choice + tail for choice in reversed(choices))


def _choices(inner: str) -> list[str] | None:
    if "," in inner:
        return inner.split(",")
    found = _RANGE.fullmatch(inner)
    if found is None:
        return None
    low, high = found.groups()
    if low.lstrip("-").isdigit() and high.lstrip("-").isdigit():
        first, last = sorted((int(low[:9]), int(high[:9])))
        return [str(number) for number in range(first, last + 1)] if last - first < WORD_LIMIT else [UNKNOWN]
    if len(low) == 1 and len(high) == 1:
        first, last = sorted((ord(low), ord(high)))
        return [quote(chr(code)) for code in range(first, last + 1)]
    return None
