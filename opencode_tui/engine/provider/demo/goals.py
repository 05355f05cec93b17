"""What a person can ask of the demo model: one class per kind of request.

A path of None means the file that was last spoken of.
"""

from msgspec import Struct


class ReadFile(Struct, frozen=True):
    """Show a file, or with `outline` tell what is in it."""

    path: str | None
    outline: bool = False


class FindText(Struct, frozen=True):
    """Search file contents for a text, in a folder or file when `where` is given; `defined` looks only for its definition."""

    text: str
    where: str | None = None
    defined: bool = False


class FindFiles(Struct, frozen=True):
    """Search files whose path fits a glob pattern."""

    pattern: str


class ListFolder(Struct, frozen=True):
    """List the files of a folder; None is the one that the session works in."""

    folder: str | None = None


class CreateFile(Struct, frozen=True):
    """Write a new file; an existing one with other content is only replaced with `overwrite`."""

    path: str
    content: str
    overwrite: bool = False


class ReplaceText(Struct, frozen=True):
    """Replace a text everywhere in a file; with `whole_words` only when it is nowhere a part of a longer word."""

    path: str | None
    old: str
    new: str
    whole_words: bool = False


class InsertLine(Struct, frozen=True):
    """Add a line at the end of a file, or at its start."""

    path: str | None
    line: str
    at_start: bool = False


class RunCommand(Struct, frozen=True):
    """Run a shell command."""

    command: str


class RunFile(Struct, frozen=True):
    """Run a program file with the interpreter that its ending names; `exact` when it need not be looked for."""

    path: str | None
    exact: bool = False


class RunTests(Struct, frozen=True):
    """Run the tests of the folder, whatever they are made with."""


class WritePlan(Struct, frozen=True):
    """Write a todo list."""

    items: tuple[str, ...]


class FollowPlan(Struct, frozen=True):
    """Do what the latest todo list says."""


class Unclear(Struct, frozen=True):
    """A request that begins like one of the others but cannot be followed; `reason` tells the person what is missing."""

    reason: str


Goal = (
    ReadFile
    | FindText
    | FindFiles
    | ListFolder
    | CreateFile
    | ReplaceText
    | InsertLine
    | RunCommand
    | RunFile
    | RunTests
    | WritePlan
    | FollowPlan
    | Unclear
)
