"""Records of snapshots, patches and revert reports, as they are stored and sent."""

from pydantic import Field

from opencode_tui.schema.record import Record, absent


class PathNote(Record):
    """A path and the reason why the report names it."""

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


class Preview(Record):
    """The effect that a revert would have; all paths absolute. `additions` and `deletions` count lines."""

    restored: list[str] = Field(default_factory=list[str])
    deleted: list[str] = Field(default_factory=list[str])
    conflicts: list[PathNote] = Field(default_factory=list[PathNote])
    unprotected: list[PathNote] = Field(default_factory=list[PathNote])
    additions: int = 0
    deletions: int = 0


class Report(Record):
    """The effect of a revert, verified by reading the files again; all paths absolute.

    `before` is the state of all requested paths before the first change, `after` their state afterwards. `conflicts` were left
    unchanged because they differ from what the step left; `failed` because of a disk error: a second revert retries them.
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
