"""Changes that a model reviews, and what it finds in them."""

from typing import Literal

from opencode_tui.schema.api.review import ChangedPath
from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.record import Record, absent

Severity = Literal["error", "warning", "note"]
Side = Literal["LEFT", "RIGHT"]


class ReviewedChanges(Record):
    """Changes to review: what they are in words, their files, and the ID of the last commit; none for the work tree."""

    name: str
    head: str | None = absent()
    files: list[ChangedPath]

    @property
    def left_out(self) -> list[str]:
        """The files whose content no model gets, each with the reason."""
        start = "left out: "
        found = (f"{one.path} ({one.note.removeprefix(start)})" for one in self.files if one.note.startswith(start))
        return list(dict.fromkeys(found))


class Finding(Record):
    """A problem in a changed file. `line` counts from 1 in the file after the change, with the side `LEFT` in that before it.

    A line of 0 is about the file as a whole.
    """

    file: FilePath
    line: int
    severity: Severity
    text: str
    side: Side = "RIGHT"


class Findings(Record):
    """The result of a review: a summary, the findings with the worst first, and the session in which the model worked."""

    name: str
    head: str | None = absent()
    session_id: str
    summary: str
    findings: list[Finding]
