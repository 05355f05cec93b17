"""What an undo would do, what it did, and what of it is kept with the session until it is final or taken back."""

from typing import Literal

from pydantic import Field

from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.record import Record, absent
from opencode_tui.schema.session.session import RevertState


class UndoTarget(Record):
    """Where an undo is to begin: at a message, at a part of it, or without a message at the person's last turn."""

    message_id: str | None = absent()
    part_id: str | None = absent()


class UndoFile(Record):
    """A file (absolute path) that an undo is about.

    `status`, `additions` and `deletions` (lines) are those of the change that it takes back, or brings back; absent and 0 where
    nothing is known of it. `reason` says why a file is left alone, `changed_at` when it was changed last, in ms since 1970, if
    that is why.
    """

    path: FilePath
    status: Literal["added", "deleted", "modified"] | None = absent()
    additions: int = 0
    deletions: int = 0
    note: str | None = absent()
    reason: str | None = absent()
    changed_at: int | None = absent()


class UndoScope(Record):
    """From where on a conversation is undone: from `part_id` of the message `message_id` on, without a part from the message on.

    `messages` are the ids of those that go as a whole, oldest first; `requests` of them are the person's, `answers` the
    agent's. `parts` go from the message that stays.
    """

    message_id: str
    part_id: str | None = absent()
    messages: list[str] = Field(default_factory=list[str])
    requests: int = 0
    answers: int = 0
    parts: list[str] = Field(default_factory=list[str])


class UndoFiles(Record):
    """What becomes of files, by their paths.

    `restored` get an earlier state, `deleted` were not there then. `kept` are left because somebody changed them,
    `unprotected` because their earlier state is not known, `failed` because the disk refused: a second undo does them.
    """

    restored: list[UndoFile] = Field(default_factory=list[UndoFile])
    deleted: list[UndoFile] = Field(default_factory=list[UndoFile])
    kept: list[UndoFile] = Field(default_factory=list[UndoFile])
    unprotected: list[UndoFile] = Field(default_factory=list[UndoFile])
    failed: list[UndoFile] = Field(default_factory=list[UndoFile])


class RevertPreview(UndoFiles):
    """What an undo would do now, or, without a `scope`, taking back the one that is in force."""

    scope: UndoScope | None = absent()


class RevertReport(UndoFiles):
    """What an undo did, verified by reading again; without a `scope` it took one back.

    `before` and `after` are the states of the files around it; absent when it had no files to look at.
    """

    scope: UndoScope | None = absent()
    before: str | None = absent()
    after: str | None = absent()


class PendingUndo(Record):
    """An undo, or without `to` its taking back, that is under way; `key` is its name in the store of the files' states."""

    key: str
    to: RevertState | None = absent()


class UndoNote(Record):
    """What stands in `session.metadata` while there is an undo: the report of the one in force, an act that was begun."""

    report: RevertReport | None = absent()
    pending: PendingUndo | None = absent()
