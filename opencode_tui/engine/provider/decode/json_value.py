"""Tolerant readers for values in providers' JSON."""

import json
from typing import Any, cast

from pydantic_core import from_json

from opencode_tui.schema.record import JsonObject

_MAX_DIGITS = 10
_MOST_TOKENS = 1e12
"""Upper limit of plausible token counts; a larger number is a provider's error."""


def read_json(data: bytes) -> Any:
    """Return the value of a JSON text; keeps unpaired surrogates, replaces invalid UTF-8 by U+FFFD. Raises ValueError."""
    try:
        return from_json(data)
    except ValueError:
        try:
            return json.loads(data.decode("utf-8", "replace"))
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def as_object(value: object) -> JsonObject:
    """Return a JSON object, an empty one for anything else."""
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return a JSON list, an empty one for anything else."""
    return cast(list[Any], value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return a text, empty for anything else."""
    return value if isinstance(value, str) else ""


def as_index(value: object) -> int | None:
    """Return an integer, also from a text; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < _MAX_DIGITS:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_count(value: object) -> int:
    """Return a plausible number of tokens (an integer from 0 to the limit); 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_TOKENS:
        return 0
    return int(value)
