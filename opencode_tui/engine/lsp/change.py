"""A change of a file, and what language servers say about it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from opencode_tui.schema.record import JsonObject


class FileChange(Struct, frozen=True):
    """A change of a file: its text before, None for a new file, and after, None for a deleted one.

    `source` is the file that was renamed to a new one; its deletion is a change that follows.
    """

    path: Path
    before: str | None
    after: str | None
    source: Path | None = None


class EditReport(Struct, frozen=True):
    """What the servers say about an edit: text for the model, empty for nothing, and the errors as metadata keeps them."""

    text: str = ""
    diagnostics: dict[str, list[JsonObject]] = field(default_factory=dict[str, list[JsonObject]])

    @property
    def message(self) -> str:
        """The text as the end of a tool's output."""
        return f"\n\nThis change brought new errors:\n{self.text}" if self.text else ""


class EditCheck(Protocol):
    """Looks for the errors that changes brought; never raises, and returns in time."""

    async def __call__(self, changes: Sequence[FileChange]) -> EditReport:
        """Return the report about changes that were written."""
        ...


async def check_nothing(changes: Sequence[FileChange]) -> EditReport:
    """Return an empty report."""
    del changes
    return EditReport()
