"""What is told of snapshots, and what is given back to undo: patches and reports, as they are stored and sent."""

from pydantic import Field

from opencode_tui.schema.record import Record, absent


class PathNote(Record):
    """A path and why something is to be said of it."""

    path: str
    reason: str


class Snapshot(Record):
    """A recorded state. `unprotected` are the paths, relative to the worktree, that it does not hold, in order."""

    id: str
    unprotected: list[PathNote] = Field(default_factory=list[PathNote])


class Patch(Record):
    """Files (absolute paths) that changed from the state `hash` to the state `after`; the same shape as a patch part's.

    Without `after` (an OpenCode session) nothing is known of what the change left behind.
    """

    hash: str
    files: list[str] = Field(default_factory=list[str])
    after: str | None = absent()


class Preview(Record):
    """What a revert would do; all paths absolute. `additions` and `deletions` count lines."""

    restored: list[str] = Field(default_factory=list[str])
    deleted: list[str] = Field(default_factory=list[str])
    conflicts: list[PathNote] = Field(default_factory=list[PathNote])
    unprotected: list[PathNote] = Field(default_factory=list[PathNote])
    additions: int = 0
    deletions: int = 0


class Report(Record):
    """What a revert did, verified by reading again; all paths absolute.

    `before` is the state of everything that it was asked for, taken before anything changed, `after` the state that it left.
    `conflicts` were left as they are because somebody changed them; `failed` because the disk refused: a second revert does them.
    """

    before: str
    after: str
    restored: list[str] = Field(default_factory=list[str])
    deleted: list[str] = Field(default_factory=list[str])
    conflicts: list[PathNote] = Field(default_factory=list[PathNote])
    unprotected: list[PathNote] = Field(default_factory=list[PathNote])
    failed: list[PathNote] = Field(default_factory=list[PathNote])

    def as_patch(self) -> Patch:
        """Return the change that the revert itself was."""
        return Patch(hash=self.before, after=self.after, files=[*self.restored, *self.deleted])
