"""The change of a file between two states."""

from typing import Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.record import JsonObject, Record, absent

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
    additions: int = 0
    deletions: int = 0
    status: Literal["added", "deleted", "modified"] | None = absent()
    note: str | None = absent()

    @model_serializer(mode="wrap")
    def _without_empty_texts(self, serialize: SerializerFunctionWrapHandler) -> JsonObject:
        """Leave out the texts of a change of a newer OpenCode, which has a `patch` in their place."""
        fields: JsonObject = serialize(self)
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
