"""The errors that an edit brought, as its call keeps them, for the screen; their words come from language servers."""

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from opencode_tui.schema.record import JsonObject
from opencode_tui.text.safe_text import screen_line

MOST_ERRORS = 20


class FoundError(Struct, frozen=True):
    """An error in a file: its absolute path, the line and character, both from 1, and its message; safe, one line each."""

    path: str
    line: int
    character: int
    message: str


def errors_of(metadata: Mapping[str, Any]) -> list[FoundError]:
    """Return the errors that the metadata of a call lists, by file and line; what has another form is left out."""
    listed = metadata.get("diagnostics")
    found: list[FoundError] = []
    for path, errors in cast("dict[str, object]", listed).items() if isinstance(listed, dict) else ():
        for one in cast("list[object]", errors) if isinstance(errors, list) else ():
            if isinstance(one, dict) and cast("JsonObject", one).get("severity", 1) == 1:
                found.append(_error(path, cast("JsonObject", one)))
    return sorted(found, key=lambda one: (one.path, one.line, one.character))


def _error(path: str, given: JsonObject) -> FoundError:
    range_ = given.get("range")
    start = cast("JsonObject", range_).get("start") if isinstance(range_, dict) else None
    place = cast("JsonObject", start) if isinstance(start, dict) else JsonObject()
    line, character = (
        value + 1 if isinstance(value := place.get(name), int) and value >= 0 else 1 for name in ("line", "character")
    )
    return FoundError(
        screen_line(path), line, character, screen_line(" ".join(str(given.get("message") or "").split()))
    )
