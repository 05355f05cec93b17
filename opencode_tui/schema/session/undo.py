"""Previews and reports of an undo, and its state that is stored with the session."""

from typing import Annotated, Literal

from opencode_tui.schema.field import Field
from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.record import Record, absent
from opencode_tui.schema.session.session import RevertState

UndoOnly = Literal["conversation", "files"]
"""What an undo is limited to; without it both are undone."""


MessageName = Annotated[str, Field(pattern=r"^msg_[0-9A-Za-z]{1,60}$")]
PartName = Annotated[str, Field(pattern=r"^prt_[0-9A-Za-z]{1,60}$")]


class UndoTarget(Record):
    """Where an undo starts: at a message, at a part of it, or, without a message, at the user's last turn."""

    message_id: MessageName | None = absent()
    part_id: PartName | None = absent()
    only: UndoOnly | None = absent()


class UndoFile(Record):
    """A file (absolute path) of an undo.

    `status`, `additions` and `deletions` (lines) are those of the change that is undone or redone; absent and 0 if
    unknown. `reason` says why a file is left unchanged; if it was changed, `changed_at` is when, in ms since 1970.
    """

    path: FilePath
    status: Literal["added", "deleted", "modified"] | None = absent()
    additions: int = 0
    deletions: int = 0
    note: str | None = absent()
    reason: str | None = absent()
    changed_at: int | None = absent()


class UndoScope(Record):
    """The part of a conversation that is undone: from `part_id` of the message `message_id`, or from the whole message.

    `messages` are the IDs of those removed completely, oldest first; `requests` of them are the user's, `answers` the
    agent's. `parts` are removed from the message that stays. With `only` files, all of them stay.
    """

    message_id: str
    part_id: str | None = absent()
    only: UndoOnly | None = absent()
    messages: list[str] = Field(default_factory=list[str])
    requests: int = 0
    answers: int = 0
    parts: list[str] = Field(default_factory=list[str])


class UndoFiles(Record):
    """The effect on files, by their paths.

    `restored` get an earlier state, `deleted` did not exist then. `kept` are unchanged because they were modified since,
    `unprotected` because their earlier state is unknown, `failed` because of an error: a second undo retries them.
    `unavailable` says why no file is restored in this folder; absent where undo is on. `beside` are background commands that
    ran while commands did whose changes are undone: some of these may be theirs.
    """

    restored: list[UndoFile] = Field(default_factory=list[UndoFile])
    deleted: list[UndoFile] = Field(default_factory=list[UndoFile])
    kept: list[UndoFile] = Field(default_factory=list[UndoFile])
    unprotected: list[UndoFile] = Field(default_factory=list[UndoFile])
    failed: list[UndoFile] = Field(default_factory=list[UndoFile])
    unavailable: str | None = absent()
    beside: list[str] = Field(default_factory=list[str])


class RevertPreview(UndoFiles):
    """The effects that an undo would have, or, without a `scope`, a redo."""

    scope: UndoScope | None = absent()


class RevertReport(UndoFiles):
    """The effects of an undo, verified on disk; a redo has no `scope`.

    `before` and `after` are the states of the files; absent when no files were involved. `edited` are those of the kept files
    that an undo before this one changed, and somebody else after it: a redo brings them back only if that is taken back.
    """

    scope: UndoScope | None = absent()
    before: str | None = absent()
    after: str | None = absent()
    edited: list[FilePath] = Field(default_factory=list[FilePath])


class PendingUndo(Record):
    """An undo, or without `to` a redo, in progress; `key` is its name in the snapshot store.

    `record` is the id of the message that reports an undo of files only, once that is final.
    """

    key: str
    to: RevertState | None = absent()
    only: UndoOnly | None = absent()
    record: str | None = absent()


class UndoNote(Record):
    """The value in `session.metadata` during an undo: the report of the active one, and one in progress.

    `final` is set before what the active one hides is deleted: from then on it cannot be redone.
    """

    report: RevertReport | None = absent()
    pending: PendingUndo | None = absent()
    final: bool | None = absent()
