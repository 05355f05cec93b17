"""JSON from outside: its depth is bounded, so that no decoder, and no code that follows the value, runs out of stack.

A decoder that is written in Python or C recurses once per level. Text that nests deeper than any real record ends it with a
RecursionError far from the reader, or passes it and ends the next encoder. So every reader of another's JSON comes here.
"""

import json
import math
from typing import Any, TypeVar, cast

import msgspec

JsonValue = TypeVar("JsonValue")
Item = TypeVar("Item", bound=msgspec.Struct)

MAX_DEPTH = 100
"""Levels of arrays and objects within each other; records have fewer than 20, JSON Schemas of tools fewer than 40."""


class JsonError(msgspec.DecodeError, ValueError):
    """A text is not JSON, or is nested too deeply."""


class TooDeepError(JsonError):
    """A value is nested too deeply."""

    def __init__(self) -> None:
        super().__init__(f"nested deeper than {MAX_DEPTH} levels")


def as_object(value: object) -> dict[str, Any]:
    """Return a JSON object, an empty one for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def load_json(text: str | bytes | bytearray) -> Any:
    """Return the value of a JSON text as `json.loads` does. Raises JsonError."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise TooDeepError from None
    except ValueError as error:
        raise JsonError(str(error)) from error
    return bounded(value, text)


def decode_json(text: str | bytes | bytearray) -> Any:
    """Return the value of a JSON text as `msgspec.json.decode` does, which is faster and stricter. Raises JsonError."""
    try:
        value = msgspec.json.decode(text)
    except RecursionError:
        raise TooDeepError from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise JsonError(str(error)) from error
    return bounded(value, text)


def decode_foreign(text: str | bytes | bytearray) -> Any:
    """Return the value of a JSON text of another program, with U+FFFD for bytes that are not UTF-8 and for halves of characters.

    Programs in JavaScript write such halves where they cut a text (`"\\ud83d"`). A number that JSON does not have is null. Raises
    JsonError.
    """
    try:
        return decode_json(text)
    except TooDeepError:
        raise
    except JsonError:
        given = text if isinstance(text, str) else text.decode("utf-8", "replace")
        value = with_finite_numbers(load_json(given))
        whole = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return json.loads(whole)


def decode_structs(text: bytes, kind: type[Item]) -> list[Item]:
    """Return the structs in a JSON list; their fields, which are no objects, bound the depth. Raises JsonError."""
    items: type[list[Item]] = list[kind]  # named, because type checkers take an argument `type` for an annotation
    try:
        return msgspec.json.decode(text, type=items)
    except RecursionError:  # in a field that they do not have
        raise TooDeepError from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise JsonError(str(error)) from error


def bounded(value: Any, text: str | bytes | bytearray) -> Any:
    """Return a value that was decoded from a text. Raises TooDeepError."""
    # Counting is much faster than following the value, and enough for nearly every text.
    opened = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    return shallow(value) if opened > MAX_DEPTH else value


def shallow(value: JsonValue) -> JsonValue:
    """Return a value of JSON data. Raises TooDeepError for one that cannot be written and read again."""
    if is_deep(value):
        raise TooDeepError
    return value


def with_finite_numbers(value: Any) -> Any:
    """Return a value of JSON data with null for NaN and the infinities, which `1e999` is read as: no JSON can hold them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if type(value) is dict:
        return {key: with_finite_numbers(one) for key, one in cast("dict[str, Any]", value).items()}
    if type(value) is list:
        return [with_finite_numbers(one) for one in cast("list[Any]", value)]
    return value


def is_deep(value: Any) -> bool:
    """Return whether a value of JSON data is nested more than `MAX_DEPTH` levels."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for one in level:
            if type(one) is dict:
                inner.extend(cast("dict[str, Any]", one).values())
            elif type(one) is list:
                inner.extend(cast("list[Any]", one))
        if not inner:
            return False
        level = inner
    return any(isinstance(one, dict | list) for one in level)
