"""Diagnostics: which errors are new, and their texts for the model.

An error is known by its message and the text of its line, so that lines that an edit moves stay old.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from opencode_tui.engine.lsp.document import Encoding, column, line_of
from opencode_tui.schema.record import JsonObject

MOST_ERRORS = 20
"""Most errors of a file that are reported."""

MOST_FILES = 5
"""Limit of other files whose errors are reported."""

_ERROR = 1
_KEPT = ("range", "severity", "code", "source", "message")
_MESSAGE_CHARACTERS = 500
_LINE_CHARACTERS = 200

Key = tuple[str, str]
"""The message and the text of the line of an error."""


class FileErrors(Struct, frozen=True):
    """The errors of a file at one moment: as the server sent them, in order, and the keys by which they are known."""

    errors: Sequence[JsonObject] = ()
    keys: Sequence[Key] = ()


class NewErrors(Struct, frozen=True):
    """The errors that an edit brought to a file, a row for each (`line:column: message`), and the number of older ones."""

    path: Path
    errors: Sequence[JsonObject]
    rows: Sequence[str]
    older: int = 0


def errors_of(items: Any, text: str) -> FileErrors:
    """Return the errors among a server's diagnostics of a document with this text."""
    if not isinstance(items, list):
        return FileErrors()
    lines = text.split("\n")
    found: list[tuple[JsonObject, Key]] = []
    for item in cast("list[Any]", items):
        if not isinstance(item, dict):
            continue
        given = cast("JsonObject", item)
        message = given.get("message")
        if given.get("severity", _ERROR) != _ERROR or not isinstance(message, str):
            continue
        line = line_of(given.get("range"))
        kept = {name: given[name] for name in _KEPT if given.get(name) is not None}
        kept["message"] = message[:_MESSAGE_CHARACTERS]
        found.append((kept, (message, lines[line].strip() if line < len(lines) else "")))
    found.sort(key=lambda one: line_of(one[0].get("range")))
    return FileErrors([one for one, _ in found], [key for _, key in found])


def find_new(before: FileErrors, after: FileErrors) -> list[JsonObject]:
    """Return the errors that were not there before; of equal ones only those that are more than before."""
    old = Counter(before.keys)
    new: list[JsonObject] = []
    for error, key in zip(after.errors, after.keys, strict=True):
        if old[key]:
            old[key] -= 1
        else:
            new.append(error)
    return new


def new_errors(path: Path, text: str, before: FileErrors, after: FileErrors, encoding: Encoding) -> NewErrors:
    """Return the new errors of a document with this text."""
    errors, lines = find_new(before, after), text.split("\n")
    rows = [f"{_location(error, lines, encoding)}: {_message(error)}" for error in errors]
    return NewErrors(path, errors, rows, older=len(after.errors) - len(errors))


def describe(found: Sequence[NewErrors], root: Path) -> str:
    """Return the errors for the model; empty without any new ones."""
    blocks: list[str] = []
    for one in found:
        if not one.errors:
            continue
        name = str(one.path.relative_to(root)) if one.path.is_relative_to(root) else str(one.path)
        rows = [f"{name}:{row}" for row in one.rows[:MOST_ERRORS]]
        if len(one.rows) > MOST_ERRORS:
            rows.append(f"… and {len(one.rows) - MOST_ERRORS} more in {name}")
        if one.older:
            rows.append(f"({one.older} older {'error' if one.older == 1 else 'errors'} in {name} not shown)")
        blocks.append("\n".join(rows))
    return "\n".join(blocks)


def stored(found: Iterable[NewErrors]) -> dict[str, list[JsonObject]]:
    """Return the errors as `metadata.diagnostics` keeps them: by absolute path, in the protocol's form."""
    return {str(one.path): list(one.errors[:MOST_ERRORS]) for one in found if one.errors}


def _location(error: JsonObject, lines: Sequence[str], encoding: Encoding) -> str:
    line = line_of(error.get("range"))
    content = lines[line] if line < len(lines) else ""
    try:
        written = error["range"]["start"]["character"]
    except (KeyError, TypeError):
        written = 0
    character = max(written, 0) if isinstance(written, int) else 0
    return f"{line + 1}:{column(content, character, encoding) + 1}"


def _message(error: JsonObject) -> str:
    text = " ".join(str(error.get("message")).split())
    code = error.get("code")
    return text[:_LINE_CHARACTERS] + (f" [{code}]" if isinstance(code, str | int) and code != "" else "")
