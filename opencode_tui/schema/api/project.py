"""A project, which groups the sessions of one repository. Source: docs/internals/session.md#projects."""

from typing import Any, Literal

from opencode_tui.schema.field import Field
from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.record import Record, absent

GLOBAL_PROJECT = "global"
"""The project id of folders without a repository or without a commit."""


class Places(Record):
    """Absolute folders: the user's home, the program's folders, and the working folder."""

    home: FilePath
    state: str
    config: str
    data: str | None = absent()
    worktree: FilePath
    directory: FilePath


class ProjectTime(Record):
    """Milliseconds since 1970."""

    created: int
    updated: int | None = absent()
    initialized: int | None = absent()


class ProjectInfo(Record):
    """A project record; the id of a git project is the hash of its first root commit."""

    id: str
    worktree: FilePath
    vcs: Literal["git"] | None = absent()
    name: str | None = absent()
    icon: dict[str, Any] | None = absent()
    commands: dict[str, Any] | None = absent()
    time: ProjectTime
    sandboxes: list[FilePath] = Field(default_factory=list[FilePath])


class ProjectIcon(Record):
    """The icon of a project, shown by clients of the server: an address, a picture of the user's, a color."""

    url: str | None = absent()
    override: str | None = absent()
    color: str | None = absent()


class ProjectCommands(Record):
    """Shell commands of a project; `start` runs in each new worktree."""

    start: str | None = absent()


class UpdateProject(Record):
    """A change of a project's record; absent fields stay."""

    name: str | None = absent()
    icon: ProjectIcon | None = absent()
    commands: ProjectCommands | None = absent()
