"""What a setting that needs trust would start, send or read, in a few words for the person who is asked to trust it."""

import re
from typing import Any, cast

from opencode_tui.config.gate import Gated
from opencode_tui.config.notice import dotted
from opencode_tui.schema.record import JsonObject

LIMIT = 200
"""Letters of what is told of one setting; the rest stands in the file."""

_TELLING = ("command", "url", "baseURL", "template", "module", "path")
_SNIPPETS = re.compile(r"!`[^`]*`?")


def describe(gated: Gated) -> str:
    """Return one line: the setting, what it does, and the command, address or file that it names. Secrets are not among them."""
    told = " ".join(_telling(gated.value).split())
    told = told if len(told) <= LIMIT else told[: LIMIT - 1] + "…"
    return f"{dotted(gated.path)}: {gated.effect}" + (f": {told}" if told and told not in map(str, gated.path) else "")


def _telling(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(filter(None, map(_telling, cast("list[Any]", value))))
    if not isinstance(value, dict):
        return ""
    fields = cast("JsonObject", value)
    return " ".join(_field(key, fields[key]) for key in _TELLING if key in fields)


def _field(key: str, value: Any) -> str:
    if key == "template" and isinstance(value, str):
        return " ".join(_SNIPPETS.findall(value))
    if isinstance(value, list):
        return " ".join(str(word) for word in cast("list[Any]", value))
    return value if isinstance(value, str) else ""
