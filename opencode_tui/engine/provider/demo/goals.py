"""What a person can ask of the demo model: one class per kind of request.

A path of None means the file that was last spoken of.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Show a file, or with `outline` tell what is in it."""

    path: str | None
    outline: bool = False


@dataclass(frozen=True, slots=True)
class FindText:
    """Search file contents for a text, in a folder or file when `where` is given; `defined` looks only for its definition."""

    text: str
    where: str | None = None
    defined: bool = False


@dataclass(frozen=True, slots=True)
class FindFiles:
    """Search files whose path fits a glob pattern."""

    pattern: str


@dataclass(frozen=True, slots=True)
class ListFolder:
    """List the files of a folder; None is the one that the session works in."""

    folder: str | None = None


@dataclass(frozen=True, slots=True)
class CreateFile:
    """Write a new file; an existing one with other content is only replaced with `overwrite`."""

    path: str
    content: str
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class ReplaceText:
    """Replace a text everywhere in a file; with `whole_words` only when it is nowhere a part of a longer word."""

    path: str | None
    old: str
    new: str
    whole_words: bool = False


@dataclass(frozen=True, slots=True)
class InsertLine:
    """Add a line at the end of a file, or at its start."""

    path: str | None
    line: str
    at_start: bool = False


@dataclass(frozen=True, slots=True)
class RunCommand:
    """Run a shell command."""

    command: str


@dataclass(frozen=True, slots=True)
class RunFile:
    """Run a program file with the interpreter that its ending names; `exact` when it need not be looked for."""

    path: str | None
    exact: bool = False


@dataclass(frozen=True, slots=True)
class RunTests:
    """Run the tests of the folder, whatever they are made with."""


@dataclass(frozen=True, slots=True)
class WritePlan:
    """Write a todo list."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FollowPlan:
    """Do what the latest todo list says."""


@dataclass(frozen=True, slots=True)
class Unclear:
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
