"""The result of formatting a text."""

from pathlib import Path
from typing import Protocol

from msgspec import Struct


class Formatted(Struct, frozen=True):
    """A text after formatting, and what the model must know about it; an empty message when nothing changed."""

    text: str
    message: str = ""


class FormatEdit(Protocol):
    """Formats what an edit changed; never raises."""

    async def __call__(self, path: Path, before: str | None, after: str) -> Formatted:
        """Return the text of a file after an edit; `before` is None for a new file."""
        ...


async def keep(path: Path, before: str | None, after: str) -> Formatted:
    """Return the text as it is."""
    del path, before
    return Formatted(after)
