"""The result of formatting a text."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import Struct


class Formatted(Struct, frozen=True):
    """A text after formatting, and what the model must know about it; an empty message when nothing changed."""

    text: str
    message: str = ""


FormatEdit = Callable[[Path, str | None, str], Awaitable[Formatted]]
"""Returns the text of a file after an edit, formatted where it changed; never raises.

Called with the path and the texts before and after the edit; the one before is None for a new file.
"""


async def keep(path: Path, before: str | None, after: str) -> Formatted:
    """Return the text as it is."""
    del path, before
    return Formatted(after)
