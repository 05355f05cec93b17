"""Files of the working folder, as the API returns them. Source: docs/internals/http.md#routes."""

from typing import Literal

from opencode_tui.schema.field import Field
from opencode_tui.schema.record import Record, absent

FindKind = Literal["file", "directory", "all"]


class FileEntry(Record):
    """An entry of a folder; `path` is relative to the working folder, `ignored` is whether git ignores it."""

    name: str
    path: str
    absolute: str
    type: Literal["file", "directory"]
    ignored: bool


class FileContent(Record):
    """The content of a file: text, or base64 for types that a browser can show; empty for other binary files."""

    type: Literal["text", "binary"]
    content: str
    encoding: Literal["base64"] | None = absent()
    mime_type: str | None = absent()


class ChangedFile(Record):
    """A file that differs from the last commit; `path` is relative to the working folder, counts are lines."""

    path: str
    added: int
    removed: int
    status: Literal["added", "deleted", "modified"]


class LineText(Record):
    """A text inside a match."""

    text: str


class Submatch(Record):
    """Where in the line the expression matched, in bytes."""

    match: LineText
    start: int
    end: int


class LineMatch(Record):
    """A line that matches; `line_number` is 1-based, `absolute_offset` the line's first byte in the file."""

    path: LineText
    lines: LineText
    line_number: int = Field(alias="line_number")
    absolute_offset: int = Field(alias="absolute_offset")
    submatches: list[Submatch]
