"""The import of sessions of other programs: the stores that were found, the request, its progress and its report."""

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from opencode_tui.schema.field import Field
from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.record import NoNul, Record, ValidationError, absent
from opencode_tui.schema.session.session import SessionInfo

ImportTool = Literal["opencode", "claude", "codex"]
"""The program that made a session."""

IMPORTED_FROM = "importedFrom"
"""The key of a session's `metadata` for an `ImportOrigin`."""


class ImportOrigin(Record):
    """Where an imported session came from: the store, its id there, the version that wrote it, and when it was imported.

    Times are milliseconds since 1970. `updated` is the session's time there; absent while an answer was still being written.
    """

    tool: ImportTool
    path: str
    id: str
    version: str = ""
    at: int
    updated: int | None = absent()


def import_origin(info: SessionInfo) -> ImportOrigin | None:
    """Return the origin of an imported session; None for other sessions and for invalid data."""
    value: Any = (info.metadata or {}).get(IMPORTED_FROM)
    try:
        return ImportOrigin.model_validate(value) if value is not None else None
    except ValidationError:
        return None


class ImportStore(Record):
    """A store of another program: how many sessions it has, how many are not here yet, and how many were continued there."""

    tool: ImportTool
    label: str
    path: str
    sessions: int
    new: int
    newer: int = 0
    problems: list[str] = Field(default_factory=list[str])


class ImportRequest(Record):
    """What to import; without `stores` and `source` all stores that are found.

    `stores` are paths of `ImportStore`; `source` is an exported file or the address of a shared session. The others choose among
    the sessions: `since` in milliseconds since 1970, `sessions` by their ids there, `directory` with all below. `map` replaces
    the beginnings of folders. `dry_run` writes nothing.
    """

    stores: list[NoNul] | None = absent()
    tool: ImportTool | None = absent()
    path: NoNul | None = absent()
    source: NoNul | None = absent()
    since: int | None = absent()
    sessions: list[str] | None = absent()
    directory: NoNul | None = absent()
    map: dict[str, str] | None = absent()
    dry_run: bool = False


class ImportProgress(Record):
    """How far the running import is; `title` is that of the session being read."""

    done: int
    total: int
    title: str = ""


class ImportedEntry(Record):
    """A session of an import: whether it was (or would be) added, completed, or left as it is, and why."""

    id: str
    title: str
    directory: FilePath
    tool: ImportTool
    state: Literal["new", "newer", "same", "skipped"]
    messages: int = 0
    reason: str | None = absent()


class ImportReport(Record):
    """What an import did, or would do: the sessions that are not the same, the records written, and what was left out.

    `left_out` counts the sessions by what they would have brought besides messages: rules, shares and the like.
    """

    sessions: list[ImportedEntry] = Field(default_factory=list[ImportedEntry])
    new: int = 0
    newer: int = 0
    same: int = 0
    skipped: int = 0
    records: int = 0
    problems: list[str] = Field(default_factory=list[str])
    omitted_problems: int = 0
    left_out: dict[str, int] = Field(default_factory=dict[str, int])
    is_cancelled: bool = False


class LeftBehind(Struct, frozen=True):
    """The titles of sessions in a store of OpenCode that a newer version of it shows without messages, or has in no database.

    `problem` says why a store cannot be read.
    """

    path: str
    state: Literal["without messages", "not in a database", "unreadable"]
    titles: Sequence[str]
    problem: str = ""
