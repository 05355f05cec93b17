"""Changes of single values in JSON with comments; everything else in the text stays byte by byte.

An existing value is replaced where it is; a new key follows the last one of its object, indented as that one is. Objects are
merged, lists and other values replaced whole.
"""

import json
import re
from typing import Any, cast

from msgspec import Struct

from opencode_tui.config.sources.jsonc import Document, JsoncError, KeyPath, Reader
from opencode_tui.schema.record import JsonObject

_INDENT = "  "
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class Span(Struct, frozen=True):
    """Offsets in a text: where a value begins, and the first character after it."""

    start: int
    end: int


def merge_into(text: str, change: JsonObject) -> str:
    """Return the text with the values of `change`; the text itself when it has them all.

    Raises JsoncError for a text that is not an object of JSON with comments, or that has a duplicate key.
    """
    body = text.removeprefix("\ufeff")
    mark = text[: len(text) - len(body)]
    if not _COMMENT.sub("", body).strip():
        body = f"{body.rstrip()}\n{{}}\n".lstrip("\n")
    newline = "\r\n" if "\r\n" in body else "\n"
    return mark + _merge(body, (), change, newline)


def _merge(text: str, path: KeyPath, change: JsonObject, newline: str) -> str:
    for key, value in change.items():
        inner = (*path, key)
        present = _find(_read(text).value, inner)
        if _is_object(value) and _is_object(present):
            text = _merge(text, inner, cast("JsonObject", value), newline)
        elif not _is_same(present, value):
            text = _put(text, inner, value, newline)
    return text


def remove_from(text: str, path: KeyPath) -> str:
    """Return the text without a key and its value, and without objects that have nothing else then; all of it if there is no key.

    Comments stay. Raises JsoncError as `merge_into` does.
    """
    body = text.removeprefix("\ufeff")
    mark = text[: len(text) - len(body)]
    if not _COMMENT.sub("", body).strip() or _find(_read(body).value, path) is _MISSING:
        return text
    while len(path) > 1 and _is_lone(body, path):
        path = path[:-1]
    return mark + _cut(body, path)


def _is_lone(text: str, path: KeyPath) -> bool:
    """Return whether the object of a key has no other key and no comment."""
    reader = _read_spans(text)
    parent = reader.spans[path[:-1]]
    keys = sum(len(one) == len(path) and one[:-1] == path[:-1] for one in reader.spans)
    own = reader.spans[path]
    around = text[parent.start : reader.key_offset(path)] + text[own.end : parent.end]
    return keys == 1 and _COMMENT.sub("", around) == around


def _cut(text: str, path: KeyPath) -> str:
    """Return the text without a member, and without the comma that is too much then."""
    reader = _read_spans(text)
    start, end = reader.key_offset(path), reader.spans[path].end
    parent = reader.spans[path[:-1]]
    siblings = [one for one in reader.spans if len(one) == len(path) and one[:-1] == path[:-1] and one != path]
    before = max((reader.spans[one].end for one in siblings if reader.spans[one].end <= start), default=None)
    after = min((reader.key_offset(one) for one in siblings if reader.key_offset(one) >= end), default=parent.end)
    comma = _blank_comments(text[end:after]).find(",")
    if comma >= 0:
        text = text[: end + comma] + text[end + comma + 1 :]
    elif before is not None:
        comma = before + _blank_comments(text[before:start]).index(",")
        text, start, end = text[:comma] + text[comma + 1 :], start - 1, end - 1
    line = text.rfind("\n", 0, start) + 1
    rest = text[end:].partition("\n")
    if not text[line:start].strip() and not rest[0].strip() and rest[1]:
        return text[:line] + rest[2]
    is_first = text[:start].rstrip().endswith("{")
    return (text[:start] if is_first else text[:start].rstrip(" ")) + text[end:].removeprefix(" " if is_first else "")


def _blank_comments(text: str) -> str:
    """Return the text with blanks in the place of comments."""
    return _COMMENT.sub(lambda found: " " * len(found[0]), text)


def _put(text: str, path: KeyPath, value: Any, newline: str) -> str:
    """Return the text with another value of a key, whose object exists."""
    reader = _read_spans(text)
    if path in reader.spans:
        span = reader.spans[path]
        return (
            text[: span.start] + _render(value, _line_indent(text, reader.key_offset(path)), newline) + text[span.end :]
        )
    parent = reader.spans[path[:-1]]
    members = [one for one in reader.spans if len(one) == len(path) and one[:-1] == path[:-1]]
    key = json.dumps(path[-1], ensure_ascii=False)
    if not members:
        return _put_first(text, parent, f"{key}: ", value, newline)
    last = max((reader.spans[one] for one in members), key=lambda span: span.end)
    indent = _line_indent(text, reader.key_offset(max(members, key=lambda one: reader.spans[one].end)))
    tail = text[last.end : parent.end - 1]
    kept = tail.rstrip()
    comma = "" if "," in _COMMENT.sub("", tail) else ","
    if "\n" not in text[parent.start : parent.end]:
        written = f"{kept} {key}: {_render(value, indent, newline)}{tail[len(kept) :]}"
        return f"{text[: last.end]}{comma}{written}{text[parent.end - 1 :]}"
    closing = text[parent.end - 1 - (len(tail) - len(kept)) :]
    if not closing.startswith(("\n", "\r")) and "\n" not in closing[: len(tail) - len(kept)]:
        closing = f"{newline}{_line_indent(text, parent.start)}{closing.lstrip()}"
    return f"{text[: last.end]}{comma}{kept}{newline}{indent}{key}: {_render(value, indent, newline)}{closing}"


def _put_first(text: str, parent: Span, key: str, value: Any, newline: str) -> str:
    """Return the text with the first member of an object, after the comments in it."""
    outer = _line_indent(text, parent.start)
    indent = outer + _INDENT
    kept = text[parent.start : parent.end - 1].rstrip()
    written = f"{newline}{indent}{key}{_render(value, indent, newline)}{newline}{outer}"
    return f"{text[: parent.start]}{kept}{written}{text[parent.end - 1 :]}"


def _render(value: Any, indent: str, newline: str) -> str:
    return json.dumps(value, ensure_ascii=False, indent=len(_INDENT)).replace("\n", newline + indent)


def _line_indent(text: str, offset: int) -> str:
    """Return the white space at the beginning of the line of an offset."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip())]


def _find(value: object, path: KeyPath) -> object:
    for part in path:
        inner = cast("dict[str | int, object]", value) if isinstance(value, dict) else {}
        value = inner.get(part, _MISSING)
    return value


_MISSING = object()


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_same(one: object, other: object) -> bool:
    """Return whether two values are written the same; 1 and true are equal to Python only."""
    return type(one) is type(other) and one == other


class _SpanReader(Reader):
    """Records where each value begins and ends."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.spans: dict[KeyPath, Span] = {}

    def value(self, path: KeyPath, depth: int) -> Any:
        start = self.offset
        found = super().value(path, depth)
        self.spans[path] = Span(start, self.offset)
        return found

    def key_offset(self, path: KeyPath) -> int:
        """Return where the key of a member begins."""
        return self.offsets[path]


def _read_spans(text: str) -> _SpanReader:
    reader = _SpanReader(text)
    reader.document()
    return reader


def _read(text: str) -> Document:
    document = _SpanReader(text).document()
    if not isinstance(document.value, dict):
        raise JsoncError("expected an object", document.positions[()])
    if document.repetitions:
        again = document.repetitions[0]
        raise JsoncError("duplicate key; remove one of the two", again.position)
    return document
