"""Pure: the files that a text names, with line and column: `a.py:12`, an entry of a stack trace, a match of a search.

Whether a file exists is not known here: the result also has words that only look like paths.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.schema.tools import row_of

MOST = 400
"""Maximum number of references in one text."""

LONGEST = 4_000
"""Characters of a line that are searched."""


@dataclass(frozen=True, slots=True)
class FileReference:
    """A path as it was written, relative or absolute; `line` and `column` are counted from 1, 0 means unknown."""

    path: str
    line: int = 0
    column: int = 0

    @property
    def label(self) -> str:
        """The usual form, `a.py:12`; not made safe."""
        return f"{self.path}:{self.line}" if self.line else self.path


_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://\S+", re.IGNORECASE)
_QUOTED = re.compile(r"""\bFile "(?P<path>[^"]{1,500})", line (?P<line>\d{1,7})""")
_PLAIN = re.compile(
    r"(?P<path>[\w@~+%.-]{0,200}(?:/[\w@+%.\[\]-]{1,200}){1,40}|[\w@+.-]{1,200}\.\w{1,12}|[A-Z]\w{3,30}file)"
    r"(?:(?::|, line |\(|#L| line )(?P<line>\d{1,7})(?:[:,](?P<column>\d{1,5}))?)?"
)
_GREP_LINE = re.compile(r"  (?:Line (\d+)(:|-)|--$)")
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def references_in(text: str) -> list[FileReference]:
    """Return the references in a text, each one once, from the top. Grouped matches of a search are understood."""
    found: dict[FileReference, None] = {}
    heading = ""
    for line in text.split("\n"):
        number = _GREP_LINE.match(line)
        if number is not None and heading:
            if number[2] == ":":
                found[FileReference(heading, int(number[1]))] = None
            continue
        heading = line[:-1] if line.endswith(":") and not line.startswith(" ") else ""
        for one in _in_line(line[:LONGEST]):
            found[one] = None
        if len(found) >= MOST:
            break
    return _without_repeats(found)[:MOST]


def _in_line(line: str) -> Iterable[FileReference]:
    quoted = _QUOTED.search(line)
    if quoted is not None:
        yield FileReference(quoted["path"], int(quoted["line"]))
        return
    for match in _PLAIN.finditer(_URL.sub(" ", line)):
        path = match["path"].rstrip(".")
        path = path.rstrip("]") if "[" not in path else path
        if path.strip("./~"):
            yield FileReference(path, int(match["line"] or 0), int(match["column"] or 0))


def _without_repeats(found: Iterable[FileReference]) -> list[FileReference]:
    """Return the references without those that name only a file that another one names with a line."""
    all_of = list(found)
    with_line = {one.path for one in all_of if one.line}
    return [one for one in all_of if one.line or one.path not in with_line]


def references_of_call(part: ToolPart, text: str) -> list[FileReference]:
    """Return the references of a tool call: its file with the line that it read or changed, then those in `text`, its output."""
    own = _own(part)
    rest = [] if row_of(part.tool).argument == "file" else references_in(text)
    return [*own, *(one for one in rest if one not in own)]


def _own(part: ToolPart) -> list[FileReference]:
    state, row = part.state, row_of(part.tool)
    if row.result == "command":
        return references_in(str(state.input.get("command") or ""))
    if row.result == "patch" and isinstance(state, ToolStateCompleted):
        files = cast("list[JsonObject]", state.metadata.get("files") or [])
        return [_of_patch(one) for one in files]
    path = state.input.get("filePath")
    if not isinstance(path, str) or not path:
        return []
    if row.result == "text":
        offset = state.input.get("offset")
        return [FileReference(path, offset if isinstance(offset, int) and offset > 1 else 0)]
    diff = state.metadata.get("diff") if isinstance(state, ToolStateCompleted) else None
    return [FileReference(path, first_changed_line(diff) if isinstance(diff, str) else 0)]


def _of_patch(file: JsonObject) -> FileReference:
    diff = file.get("diff")
    line = first_changed_line(diff) if isinstance(diff, str) else 0
    return FileReference(str(file.get("movePath") or file.get("filePath") or ""), line)


def first_changed_line(diff: str) -> int:
    """Return the line of the new file where a unified diff changes it first; 0 if it has no hunk."""
    hunk = _HUNK.search(diff)
    if hunk is None:
        return 0
    line = int(hunk[1])
    for text in diff[hunk.end() :].split("\n")[1:]:
        if text[:1] in "+-" and text:
            return max(1, line)
        line += 1
    return max(1, line)
