"""The change of a file between two states."""

from typing import Literal

from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.record import Count, JsonObject, Record, absent

IGNORED = "ignored by git, so its content is not shown"
"""The note of a change whose content is private."""


class FileDiff(Record):
    """One file's change; `before` and `after` are whole texts, empty for binary files.

    `file` is relative to the worktree; additions and deletions count lines. `note` (ours, never stored with messages)
    describes binary content, a mode or a link.
    """

    file: FilePath
    before: str = ""
    after: str = ""
    additions: Count = 0
    deletions: Count = 0
    status: Literal["added", "deleted", "modified"] | None = absent()
    note: str | None = absent()

    def wire_fields(self) -> JsonObject:
        """Return the fields; without the texts of a change of a newer OpenCode, which has a `patch` in their place."""
        fields = super().wire_fields()
        if "patch" in fields:
            for name in ("before", "after"):
                if not fields.get(name):
                    fields.pop(name, None)
        return fields


def lines_of(text: str) -> list[str]:
    """Return the lines as git counts them, with their ends: only a line feed ends a line."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])
