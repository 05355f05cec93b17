"""Pages of a list: a cursor names the item at the edge of a page, and on which side of it the next page is."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

from msgspec import Struct, ValidationError, convert, to_builtins

from opencode_tui.extras.opencode2.errors import wrong_cursor
from opencode_tui.schema.json_text import load_json

Order = Literal["asc", "desc"]
T = TypeVar("T")


class Cursor(Struct, frozen=True, omit_defaults=True):
    """The item at the edge of a page, the order of the list, and the filters of a list of sessions."""

    id: str
    direction: Literal["previous", "next"]
    order: Order = "desc"
    filters: dict[str, str] = {}

    def encode(self) -> str:
        """Return the cursor as a word."""
        return base64.urlsafe_b64encode(json.dumps(to_builtins(self)).encode()).decode().rstrip("=")


def read_cursor(word: str) -> Cursor:
    """Return the cursor of a word. Raises AnswerError for any other text."""
    try:
        data = base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True)
        return convert(load_json(data), Cursor)
    except (binascii.Error, ValueError, ValidationError):
        raise wrong_cursor() from None


def page(
    items: Sequence[T],
    name: Callable[[T], str],
    limit: int,
    cursor: Cursor | None,
    order: Order,
    filters: dict[str, str],
) -> tuple[list[T], dict[str, Any]]:
    """Return a page of ordered items and its cursors. Raises AnswerError when the cursor's item is not among them."""
    start, stop = 0, limit
    if cursor is not None:
        at = next((at for at, item in enumerate(items) if name(item) == cursor.id), None)
        if at is None:
            raise wrong_cursor()
        start, stop = (at + 1, at + 1 + limit) if cursor.direction == "next" else (max(0, at - limit), at)
    found = list(items[start:stop])
    if not found:
        return [], {"previous": None, "next": None}
    edges = {
        "previous": Cursor(name(found[0]), "previous", order, filters).encode(),
        "next": Cursor(name(found[-1]), "next", order, filters).encode(),
    }
    return found, edges
