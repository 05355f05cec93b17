"""A change of a file, and what language servers say about it."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

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
    """What the servers say about an edit: text for the model, empty if there is none, and the errors as metadata keeps them.

    `unchecked` are the ids of servers that were not ready to examine it.
    """

    text: str = ""
    diagnostics: dict[str, list[JsonObject]] = field(default_factory=dict[str, list[JsonObject]])
    unchecked: Sequence[str] = ()

    @property
    def message(self) -> str:
        """The text as the end of a tool's output."""
        shown = f"\n\nThis change brought new errors:\n{self.text}" if self.text else ""
        if self.unchecked:
            names = ", ".join(self.unchecked)
            shown += f"\n\nNot checked yet: {names} is starting; its errors come with a later result or at the end of the turn."
        return shown


EditCheck = Callable[[Sequence[FileChange], str], Awaitable[EditReport]]
"""Returns the report about the errors that written changes of a session, by its id, brought; never raises, and returns in time."""


async def check_nothing(changes: Sequence[FileChange], session_id: str) -> EditReport:
    """Return an empty report."""
    del changes, session_id
    return EditReport()
