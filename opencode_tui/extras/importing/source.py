"""What a reader of another program's sessions provides, and what all readers share: the found session, checked records.

A reader is pure: it opens files of the other program for reading, and returns our records. A part or line that it cannot read costs
only itself and becomes a `Problem`. `importer` writes the records.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from opencode_tui.extras.importing.allowed import allowed_message, allowed_part
from opencode_tui.schema.api.importing import ImportTool
from opencode_tui.schema.api.project import ProjectInfo
from opencode_tui.schema.json_text import shallow
from opencode_tui.schema.record import JsonObject, ValidationError
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import MESSAGE
from opencode_tui.schema.session.part import PART, AnyPart
from opencode_tui.schema.session.session import SessionInfo, Todo
from opencode_tui.storage.session_record import describe_mismatch


class Problem(Struct, frozen=True):
    """Something that was left out: the file, its line or the id of the record (empty for the whole file), and the reason."""

    path: str
    line: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}" if self.line else f"{self.path}: {self.reason}"


Problems = list[Problem]
"""A list that grows while something is read."""


class FoundSession(Struct, frozen=True):
    """A session in the store of another program, known without reading its messages.

    `id` is the id there, `session_id` the one that it gets here. Times are milliseconds since 1970. `size` is bytes, 0 where it is
    not known without reading; `version` is that of the program, empty where it is unknown. `path` is the file that holds the
    session, `parent` the `id` of its parent. `is_alone`: it is the one session of a file or an address, which anybody can have
    written, so that it completes only what came from there.
    """

    id: str
    session_id: str
    directory: str
    title: str
    created: int
    updated: int
    path: str
    size: int = 0
    version: str = ""
    parent: str = ""
    is_alone: bool = False


class SnapshotStore(Struct, frozen=True):
    """The git folder of another program with the recorded states of a session's files."""

    git_dir: Path


class ImportedSession(Struct, frozen=True):
    """A session as our records.

    `messages` yields each message with its parts, oldest first, and can be read once; `problems` grows while it is read. When
    `info.project_id` is empty, the importer looks for the project of `info.directory`. The importer adds `importedFrom` to
    `info.metadata`. `diffs` are the file changes of the session; `snapshots` are where its snapshot ids can be found, in order.
    """

    info: SessionInfo
    messages: Iterator[MessageWithParts]
    todos: Sequence[Todo] = ()
    diffs: Sequence[FileDiff] = ()
    problems: Problems = msgspec.field(default_factory=list[Problem])
    snapshots: Sequence[SnapshotStore] = ()
    project: ProjectInfo | None = None
    """The project's record there, for programs that have projects as ours."""


class SessionSource(Protocol):
    """One store of another program."""

    @property
    def tool(self) -> ImportTool:
        """The program."""
        ...

    @property
    def label(self) -> str:
        """The program and its version for the user, such as `OpenCode 1.18` or `Claude Code`."""
        ...

    @property
    def path(self) -> Path:
        """The file or folder that holds the sessions."""
        ...

    @property
    def problems(self) -> Problems:
        """What `list` could not read; grows while it is read."""
        ...

    def list(self) -> Iterator[FoundSession]:
        """Yield every session, a parent before its children; reads as little as possible of each. Blocks.

        Raises StorageError when the store cannot be read at all.
        """
        ...

    def read(self, found: FoundSession) -> ImportedSession:
        """Return a session of `list`. Blocks, also while its messages are read. Raises StorageError."""
        ...

    def close(self) -> None:
        """Close what is open; closing twice is fine."""
        ...


def short_title(text: str) -> str:
    """Return the first line of a request as a title."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 80 else line[:79].rstrip() + "…"


# Records from data: what our models do not accept is left out and listed.


def check_message(
    info: JsonObject, parts: Sequence[tuple[str, JsonObject]], *, path: str, line: str, problems: Problems
) -> MessageWithParts | None:
    """Return a message of JSON data, None when it is not valid; each part comes with its line or id for messages.

    Only what is allowed of them is kept. What is not valid is added to `problems`.
    """
    try:
        message = allowed_message(MESSAGE.validate_python(shallow(info)))
    except ValueError as error:
        problems.append(Problem(path, line, f"not a valid message: {_reason(error)}"))
        return None
    checked: list[AnyPart] = []
    for part_line, part in parts:
        try:
            checked.append(allowed_part(PART.validate_python(shallow(part))))
        except ValueError as error:
            problems.append(Problem(path, part_line, f"not a valid part: {_reason(error)}"))
    return with_parts(message, checked)


def _reason(error: ValueError) -> str:
    return describe_mismatch(error) if isinstance(error, ValidationError) else str(error)
