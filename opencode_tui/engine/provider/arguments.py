"""The arguments of a tool call: the model's JSON text to an object, or why it must not be run.

Nothing is mended: a cut or misspelt text that is repaired could write half a file. Only a whole object that was encoded twice
is taken out of its string.
"""

import json
from typing import Any, NoReturn, cast

from opencode_tui.schema.record import JsonObject


def parse_arguments(raw: str) -> tuple[JsonObject, str | None]:
    """Return (object, None), or ({}, a line for the model that says what is wrong). An empty text and null mean no arguments."""
    text = raw.strip()
    if not text or text == "null":
        return {}, None
    try:
        value: Any = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        return {}, "The arguments are nested too deeply."
    except ValueError as error:
        return {}, f"The arguments are not valid JSON ({error}). Write one complete JSON object."
    if isinstance(value, str) and value.lstrip().startswith("{"):
        return parse_arguments(value)
    if not isinstance(value, dict):
        return {}, f"The arguments are {_kind(value)}, not an object. Write one JSON object."
    arguments = cast(JsonObject, value)
    if not _is_encodable(text, arguments):
        return {}, "The arguments hold half of a surrogate pair, which is no valid text."
    return arguments, None


def render_arguments(value: object) -> str:
    """Return arguments that came as a value, not as a text, as JSON text; null is no text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _kind(value: object) -> str:
    return "a JSON array" if isinstance(value, list) else f"a plain JSON value ({value!r:.40})"


def _is_encodable(text: str, value: object) -> bool:
    """Tell whether the value is valid Unicode; only an escape can bring half a pair in, so most texts need no look."""
    try:
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
        else:
            text.encode()
    except UnicodeEncodeError:
        return False
    return True
