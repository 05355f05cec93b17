"""Records of snapshots and patches, as they are stored and sent; what a revert did is a `RevertReport` of the schema."""

from typing import TYPE_CHECKING

from opencode_tui.schema.field import Field
from opencode_tui.schema.record import Record, absent

if TYPE_CHECKING:
    from opencode_tui.schema.session.undo import RevertReport


class PathNote(Record):
    """A path and the reason why a snapshot does not contain it."""

    path: str
    reason: str


class Snapshot(Record):
    """A recorded state. `unprotected` are the paths, relative to the worktree, that it does not contain, sorted."""

    id: str
    unprotected: list[PathNote] = Field(default_factory=list[PathNote])


class Patch(Record):
    """Files (absolute paths) that changed from the state `hash` to the state `after`; the same shape as a patch part's.

    Without `after` (an OpenCode session) the state after the change is unknown.
    """

    hash: str
    files: list[str] = Field(default_factory=list[str])
    after: str | None = absent()


def as_patch(report: "RevertReport") -> Patch | None:
    """Return the change that a revert itself was; None when it was one of no files."""
    if report.before is None:
        return None
    files = [*(file.path for file in (*report.restored, *report.deleted)), *report.edited]
    return Patch(hash=report.before, after=report.after, files=files)
