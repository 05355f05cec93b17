"""The changes of a work tree, piece by piece, and what a user does with them: a commit, a branch, a push, a pull request."""

from typing import Literal

from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.record import Record, absent

ChangeState = Literal["staged", "unstaged", "untracked", "committed"]
"""Those that are committed are only looked at."""


class Hunk(Record):
    """A piece of a change that can be marked alone; `id` is that of its content.

    Lines start with a blank, `+`, `-` or a backslash, as in a patch, and are not made safe. `before` and `after` are the numbers of
    the first line; `header` is the line of code that it is in.
    """

    id: str
    before: int = 0
    after: int = 0
    header: str = ""
    lines: list[str]


class ChangedPath(Record):
    """A changed file in one state: one that is staged in part is there twice. `note` says why it has no lines."""

    path: FilePath
    state: ChangeState
    status: Literal["added", "deleted", "modified"]
    additions: int = 0
    deletions: int = 0
    note: str = ""
    hunks: list[Hunk]


class TreeChanges(Record):
    """All changes of a work tree, staged ones first.

    `branch` is empty where none is checked out. `hooks` are the names of the hooks that a commit runs. `problem` is why nothing can
    be committed; empty if nothing is in the way.
    """

    branch: str = ""
    problem: str = ""
    hooks: list[str]
    files: list[ChangedPath]


class CommitMarked(Record):
    """The pieces to commit by their IDs, and the message."""

    hunks: list[str]
    message: str


class GitReport(Record):
    """How git ended: what it, its hooks and the other side printed, not made safe, and the ID of a new commit.

    `url` is the first address of the web that the other side printed, or that of the pull request. `warning` says what is different
    than asked for although git succeeded.
    """

    is_done: bool
    output: str = ""
    commit: str | None = absent()
    url: str = ""
    warning: str = ""


class PublishPlan(Record):
    """What a push would do: commits of `branch`, by their subjects, newest first, would go to the branch of a remote.

    `tool` is the program that can open a pull request, empty without one. `is_new` says that the remote does not have the branch
    as far as it is known here; then all commits count that none of its branches has.
    """

    branch: str
    remote: str
    url: str
    commits: list[str]
    is_new: bool = False
    tool: str = ""


class NewBranch(Record):
    """The name of a branch to create at the present commit."""

    name: str


class PullRequest(Record):
    """The title and the text of a pull request."""

    title: str
    body: str = ""
