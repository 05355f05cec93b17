"""A parser of JSON with comments and trailing commas that gives the line and column of every key and value.

Key order is kept; of a duplicate key the last value is used and the duplicate is reported. Nesting and length are limited, NaN and
Infinity are errors, and no message quotes the text: it may contain API keys.
"""

import re
from typing import Any

from msgspec import Struct, field

MAX_DEPTH = 64
"""Levels of nesting; real settings have about ten."""

KeyPath = tuple[str | int, ...]
"""The path to a value: keys of objects and indexes of lists, from the top."""

_SKIPPED = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_PLAIN_STRING = re.compile(r'"([^"\\\x00-\x1f]*)"')
_STRING_PIECE = re.compile(r'[^"\\\x00-\x1f]+')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_MAX_DIGITS = 300
_MAX_REPETITIONS = 100


class Position(Struct, frozen=True):
    """A position in a text; both count from 1, columns in characters."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line} column {self.column}"


class Repetition(Struct, frozen=True):
    """A duplicate key in an object; the later value is used."""

    path: KeyPath
    position: Position


class Document(Struct, frozen=True):
    """A parsed text. `positions` has the position of each key, of each list member, and () for the top."""

    value: Any
    positions: dict[KeyPath, Position]
    repetitions: list[Repetition] = field(default_factory=list[Repetition])


class JsoncError(Exception):
    """The text is not JSON with comments; the message contains what was expected, not what was found."""

    def __init__(self, message: str, position: Position) -> None:
        super().__init__(message)
        self.position = position


def parse(text: str) -> Document:
    """Return the value of a text and the positions of its parts; an empty text is an empty object. Raises JsoncError."""
    return Reader(text.removeprefix("\ufeff")).document()


class Reader:
    """A recursive descent parser; records offsets and converts them to lines at the end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._offset = 0
        self._offsets: dict[KeyPath, int] = {}
        self._repeated: list[tuple[KeyPath, int]] = []

    @property
    def offset(self) -> int:
        """The number of characters that were read."""
        return self._offset

    @property
    def offsets(self) -> dict[KeyPath, int]:
        """Where each key and each list member begins."""
        return self._offsets

    def document(self) -> Document:
        """Return what `parse` returns. Raises JsoncError."""
        self.skip()
        if self.at_end():
            return Document({}, {(): Position(1, 1)})
        value = self.value((), 1)
        self.skip()
        if not self.at_end():
            raise self.error("unexpected text after the value")
        return Document(value, self.positions(), self.repetitions())

    def at_end(self) -> bool:
        """Return whether everything was read."""
        return self._offset >= len(self._text)

    def skip(self) -> None:
        """Skip white space and comments."""
        match = _SKIPPED.match(self._text, self._offset)
        self._offset = match.end() if match else self._offset
        if self._text.startswith("/*", self._offset):
            raise self.error("unterminated comment")

    def value(self, path: KeyPath, depth: int) -> Any:
        """Parse one value and advance past it."""
        if depth > MAX_DEPTH:
            raise self.error(f"nested too deeply, more than {MAX_DEPTH} levels")
        self._offsets.setdefault(path, self._offset)
        match self._text[self._offset : self._offset + 1]:
            case "{":
                return self._object(path, depth)
            case "[":
                return self._list(path, depth)
            case '"':
                return self._string()
            case _:
                return self._scalar()

    def error(self, message: str, offset: int | None = None) -> JsoncError:
        """Return the error to raise for an offset, by default the present one."""
        return JsoncError(message, self._position(self._offset if offset is None else offset))

    def positions(self) -> dict[KeyPath, Position]:
        """Return the position of every part, found in one pass over the text."""
        result: dict[KeyPath, Position] = {}
        line, line_start = 1, 0
        for path, offset in sorted(self._offsets.items(), key=lambda item: item[1]):
            line += self._text.count("\n", line_start, offset)
            line_start = max(line_start, self._text.rfind("\n", line_start, offset) + 1)
            result[path] = Position(line, offset - line_start + 1)
        return result

    def repetitions(self) -> list[Repetition]:
        """Return the duplicate keys."""
        return [Repetition(path, self._position(offset)) for path, offset in self._repeated]

    def _position(self, offset: int) -> Position:
        line_start = self._text.rfind("\n", 0, offset) + 1
        return Position(self._text.count("\n", 0, offset) + 1, offset - line_start + 1)

    def _object(self, path: KeyPath, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        self._offset += 1
        while not self._closes("}", bool(result)):
            if not self._text.startswith('"', self._offset):
                raise self.error('expected a key in double quotes or "}"')
            start = self._offset
            key = self._string()
            inner = (*path, key)
            if key in result:
                self._record_repetition(inner, start)
                del result[key]
            self._offsets[inner] = start
            self.skip()
            if not self._text.startswith(":", self._offset):
                raise self.error("expected a colon after the key")
            self._offset += 1
            self.skip()
            result[key] = self.value(inner, depth + 1)
        return result

    def _list(self, path: KeyPath, depth: int) -> list[Any]:
        result: list[Any] = []
        self._offset += 1
        while not self._closes("]", bool(result)):
            result.append(self.value((*path, len(result)), depth + 1))
        return result

    def _closes(self, bracket: str, has_members: bool) -> bool:
        """Skip the comma before the next member or the closing bracket; return whether it was the bracket."""
        self.skip()
        if has_members and not self._text.startswith(bracket, self._offset):
            if not self._text.startswith(",", self._offset):
                raise self.error(f'expected a comma or "{bracket}"')
            self._offset += 1
            self.skip()
        if self._text.startswith(bracket, self._offset):
            self._offset += 1
            return True
        return False

    def _record_repetition(self, path: KeyPath, start: int) -> None:
        """Record a duplicate key, and drop the positions inside the value that it replaces."""
        self._repeated.append((path, start))
        if len(self._repeated) > _MAX_REPETITIONS:
            raise self.error("too many repeated keys", start)
        for known in [known for known in self._offsets if known[: len(path)] == path]:
            del self._offsets[known]

    def _string(self) -> str:
        plain = _PLAIN_STRING.match(self._text, self._offset)
        if plain:
            self._offset = plain.end()
            return plain.group(1)
        start, pieces = self._offset, list[str]()
        self._offset += 1
        while not self._text.startswith('"', self._offset):
            piece = _STRING_PIECE.match(self._text, self._offset)
            if piece:
                pieces.append(piece.group())
                self._offset = piece.end()
            elif self._text.startswith("\\", self._offset):
                pieces.append(self._escape())
            elif self.at_end() or self._text[self._offset] in "\r\n":
                raise self.error("unterminated string", start)
            else:
                raise self.error("control character in string; escape it")
        self._offset += 1
        return "".join(pieces)

    def _escape(self) -> str:
        escape = self._text[self._offset + 1 : self._offset + 2]
        if escape in _ESCAPES:
            self._offset += 2
            return _ESCAPES[escape]
        if escape != "u":
            raise self.error("unknown escape after the backslash, write \\\\ for a backslash")
        code = self._hex()
        if 0xD800 <= code < 0xDC00 and self._text.startswith("\\u", self._offset):
            low = self._hex()
            if not 0xDC00 <= low < 0xE000:
                raise self.error("unpaired surrogate")
            return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
        if 0xD800 <= code < 0xE000:
            raise self.error("unpaired surrogate")
        return chr(code)

    def _hex(self) -> int:
        digits = self._text[self._offset + 2 : self._offset + 6]
        if not re.fullmatch("[0-9a-fA-F]{4}", digits):
            raise self.error("expected four hex digits after \\u")
        self._offset += 6
        return int(digits, 16)

    def _scalar(self) -> Any:
        word = _WORD.match(self._text, self._offset)
        if word and word.group() in _WORDS:
            self._offset = word.end()
            return _WORDS[word.group()]
        number = _NUMBER.match(self._text, self._offset)
        if number is None:
            raise self.error(self._explain_missing_value())
        value = self._number(number.group())
        self._offset = number.end()
        return value

    def _number(self, literal: str) -> int | float:
        """Return the number; as in JavaScript, one without a fraction is an integer."""
        if len(literal) > _MAX_DIGITS:
            raise self.error("a number with too many digits")
        if literal.lstrip("-").isdigit():
            return int(literal)
        value = float(literal)
        if value in (float("inf"), float("-inf")):
            raise self.error("a number too large to be stored")
        return int(value) if value.is_integer() and abs(value) < 1 << 53 else value

    def _explain_missing_value(self) -> str:
        rest = self._text[self._offset : self._offset + 9]
        if not rest:
            return "unexpected end of file"
        if rest.startswith(("NaN", "Infinity", "-Infinity")):
            return "NaN and Infinity are not JSON, write a number"
        if rest.startswith("'"):
            return "expected a value; strings need double quotes"
        if rest.startswith(("{env:", "{file:")):
            return "put {env:…} and {file:…} in double quotes"
        return "expected a value"
