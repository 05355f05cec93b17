"""Worktrees that clients make, remove and reset. Source: OpenCode's API, `/experimental/worktree`."""

from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.record import NoNul, Record, absent


class WorktreeInfo(Record):
    """A worktree: its name, its branch, and its absolute folder."""

    name: str
    branch: str
    directory: FilePath


class CreateWorktree(Record):
    """A wished worktree; `start_command` is a shell command that runs in it after that of the project."""

    name: str | None = absent()
    start_command: NoNul | None = absent()


class WorktreeChoice(Record):
    """A worktree by its absolute folder."""

    directory: NoNul
