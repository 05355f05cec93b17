"""What a tool call and a permission request say about the sandbox, under `sandbox` in their metadata."""

from typing import cast

from opencode_tui.schema.permission import Runs
from opencode_tui.schema.record import JsonObject, Record, ValidationError, absent

KEY = "sandbox"


class RefusedAccess(Record):
    """What the sandbox probably refused to a command, in a sentence, and why the user was not asked or did not allow it."""

    what: str = ""
    path: str | None = absent()
    host: str | None = absent()
    reason: str | None = absent()


class ProtectedChange(Record):
    """A protected file that a command made, changed or removed, relative to the worktree."""

    path: str
    change: str


class LostRow(Record):
    """A file, or a folder with a number of files, that a command would remove or overwrite; `path` is relative to the worktree.

    `git` is "tracked", "untracked" or "ignored", of files of several kinds absent. `reason` is why undo would not bring it back,
    absent where it would.
    """

    path: str
    files: int
    bytes: int
    git: str | None = absent()
    reason: str | None = absent()


class SandboxFacts(Record):
    """Where a command runs or ran, and what a question about it is about; texts are unsafe.

    Of a question: `kind` is "outside" (it needs the outside), "discard" (it discards work), "refused" (the sandbox refused
    something that it did), "protected" (it made or changed protected `files`), or "rule"; `reasons` are sentences, `folder` is
    the working directory, `path` or `host` what was refused, `allows` the host that can be allowed instead of running it outside,
    `lost` what a command would remove or overwrite, largest first. Of a call that has ended: `refused` and `protected` are what
    it met, `undone` the protected files whose changes were undone.
    """

    kind: str | None = absent()
    runs: Runs | None = absent()
    tier: str | None = absent()
    reasons: list[str] | None = absent()
    folder: str | None = absent()
    path: str | None = absent()
    host: str | None = absent()
    allows: str | None = absent()
    files: list[str] | None = absent()
    lost: list[LostRow] | None = absent()
    protected: list[ProtectedChange] | None = absent()
    undone: list[str] | None = absent()
    refused: RefusedAccess | None = absent()

    @property
    def is_afterwards(self) -> bool:
        """Whether a question is about a command that has already run."""
        return self.kind in ("refused", "protected")

    @property
    def leaves(self) -> bool:
        """Whether the command runs outside of the sandbox that works here."""
        return self.runs == "host" and self.tier != "none"


def sandbox_of(metadata: JsonObject) -> SandboxFacts | None:
    """Return the facts in the metadata of a call or of a request, None without any; values that are not valid are left out."""
    found = metadata.get(KEY)
    if not isinstance(found, dict):
        return None
    facts = cast(JsonObject, found)
    try:
        return SandboxFacts.model_validate(facts)
    except ValidationError as error:
        wrong = {fault["loc"][0] for fault in error.errors()}
        return SandboxFacts.model_validate({key: value for key, value in facts.items() if key not in wrong})
