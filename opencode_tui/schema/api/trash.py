"""Deleted sessions that can be restored."""

from typing import Annotated

from opencode_tui.schema.field import Field
from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.record import Record


class TrashedSession(Record):
    """A deleted session with its subagent sessions; times are milliseconds since 1970.

    `name` identifies it in the trash, because a session can be deleted more than once. `session_ids` start with the session itself.
    """

    name: str
    session_ids: list[str]
    title: str
    project_id: str
    directory: FilePath
    updated: int
    deleted: int
    messages: int = 0
    bytes: int = 0

    @property
    def session_id(self) -> str:
        """Return the ID of the session, without its subagent sessions."""
        return self.session_ids[0]


class TrashChoice(Record):
    """The names of deleted sessions."""

    names: list[Annotated[str, Field(pattern=r"^[0-9]{1,20}-ses_[0-9A-Za-z]{1,60}$")]]
