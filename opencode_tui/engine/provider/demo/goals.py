"""What a person can ask of the demo model: one class per kind of request.

A path of None means the file that was last spoken of.
"""

from opencode_tui.schema.value import immutable


@immutable
class ReadFile:
    """Show a file, or with `outline` tell what is in it."""

    path: str | None
    outline: bool = False


@immutable
class FindText:
    """Search file contents for a text, in a folder or file when `where` is given; `defined` looks only for its definition."""

    text: str
    where: str | None = None
    defined: bool = False


@immutable
class FindFiles:
    """Search files whose path fits a glob pattern."""

    pattern: str


@immutable
class ListFolder:
    """List the files of a folder; None is the one that the session works in."""

    folder: str | None = None


@immutable
class CreateFile:
    """Write a new file; an existing one with other content is only replaced with `overwrite`."""

    path: str
    content: str
    overwrite: bool = False


@immutable
class ReplaceText:
    """Replace a text everywhere in a file; with `whole_words` only when it is nowhere a part of a longer word."""

    path: str | None
    old: str
    new: str
    whole_words: bool = False


@immutable
class InsertLine:
    """Add a line at the end of a file, or at its start."""

    path: str | None
    line: str
    at_start: bool = False


@immutable
class RunCommand:
    """Run a shell command."""

    command: str


@immutable
class RunFile:
    """Run a program file with the interpreter that its ending names; `exact` when it need not be looked for."""

    path: str | None
    exact: bool = False


@immutable
class RunTests:
    """Run the tests of the folder, whatever they are made with."""


@immutable
class WritePlan:
    """Write a todo list."""

    items: tuple[str, ...]


@immutable
class FollowPlan:
    """Do what the latest todo list says."""


@immutable
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
