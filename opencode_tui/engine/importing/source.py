"""What a reader of another program's sessions provides, and what all readers share: ids, tool names, checked records.

A reader is pure: it opens files of the other program for reading, and returns our records. A part or line that it cannot read costs
only itself and becomes a `Problem`. `importer` writes the records.
"""

import hashlib
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, Protocol, cast

import msgspec
from msgspec import Struct
from pydantic import ValidationError

from opencode_tui.engine.importing.allowed import allowed_message, allowed_part
from opencode_tui.schema.api.project import ProjectInfo
from opencode_tui.schema.ids import BASE62, Prefix
from opencode_tui.schema.json_text import shallow
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import MESSAGE
from opencode_tui.schema.session.part import PART, AnyPart
from opencode_tui.schema.session.session import SessionInfo, Todo
from opencode_tui.schema.tools import TOOLS
from opencode_tui.storage.session_record import describe_mismatch

Tool = Literal["opencode", "claude", "codex"]
"""The program that made a session."""


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
    def tool(self) -> Tool:
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


# Ids. Those of OpenCode are kept; others are derived from the time and the id there, so that a second import gives the same ones.

_TICKS_PER_MS = 4096
_MASK = (1 << 48) - 1
_SPACE = 62**14


def derive_session_id(tool: Tool, source_id: str, created: int) -> str:
    """Return the id of a session of another program; `created` is milliseconds since 1970 and must never change."""
    return _render("ses", ~(created * _TICKS_PER_MS) & _MASK, f"{tool} {source_id}")


class DerivedIds:
    """Derives the ids of one session's messages and parts, each strictly ascending in the order of the calls.

    Call it for the same records in the same order at each import: an id depends on those before where times are equal or go back.
    """

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._last: dict[Prefix, int] = {}

    def message(self, source_id: str, time_ms: int) -> str:
        """Return the id of the next message; `source_id` names it within the session, `time_ms` is when it was created."""
        return self._next("msg", source_id, time_ms)

    def part(self, source_id: str, time_ms: int) -> str:
        """Return the id of the next part; `source_id` names it within the session, for example `{line}.{block}`."""
        return self._next("prt", source_id, time_ms)

    def _next(self, prefix: Prefix, source_id: str, time_ms: int) -> str:
        value = max(time_ms * _TICKS_PER_MS, self._last.get(prefix, 0) + 1)
        self._last[prefix] = value
        return _render(prefix, value & _MASK, f"{self._session_id} {source_id}")


def _render(prefix: Prefix, field: int, text: str) -> str:
    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()) % _SPACE
    tail = ""
    for _ in range(14):
        number, digit = divmod(number, 62)
        tail += BASE62[digit]
    return f"{prefix}_{field:012x}{tail}"


# Tool calls under our names, so that the screen shows them as ours and the model finds its own calls again.

_TOOLS = {name: row.name for row in TOOLS for name in (row.claude, *row.imported) if name}
_ARGUMENTS = {
    "bash": {"cmd": "command", "timeout_ms": "timeout"},
    "read": {"file_path": "filePath"},
    "write": {"file_path": "filePath"},
    "edit": {
        "file_path": "filePath",
        "old_string": "oldString",
        "new_string": "newString",
        "replace_all": "replaceAll",
    },
    "multiedit": {"file_path": "filePath"},
    "grep": {"glob": "include"},
    "apply_patch": {"input": "patchText"},
}


def map_tool(name: str) -> str:
    """Return our name of another program's tool; an unknown one keeps its name."""
    return _TOOLS.get(name, name)


def map_arguments(tool: str, arguments: JsonObject) -> JsonObject:
    """Return the arguments of a call under the names of our tool `tool`; others keep their names and all keep their values.

    A command that is a list of words (`["bash", "-lc", "ls"]`) becomes its text.
    """
    names = _ARGUMENTS.get(tool, {})
    mapped = {names.get(key, key): value for key, value in arguments.items()}
    if tool == "multiedit" and isinstance(mapped.get("edits"), list):
        edits = cast("list[object]", mapped["edits"])
        mapped["edits"] = [
            map_arguments("edit", cast(JsonObject, edit)) if isinstance(edit, dict) else edit for edit in edits
        ]
    command = mapped.get("command")
    if tool == "bash" and isinstance(command, list):
        words = [str(word) for word in cast("list[object]", command)]
        is_script = len(words) == 3 and words[1] in ("-c", "-lc")
        mapped["command"] = words[2] if is_script else shlex.join(words)
    return mapped


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
