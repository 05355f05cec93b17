"""The patch format that models write: files to add, delete, update and move, as data.

Source: reference, section 28 (apply_patch).
"""

import re
from dataclasses import dataclass, field
from typing import Literal

from opencode_tui.schema.error import ToolError

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE, _MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "
_END_OF_FILE = "*** End of File"
_HEREDOC = re.compile(r"^\s*(?:\w+\s+)?<<-?\s*(['\"]?)(\w+)\1[^\n]*\n(.*)\n\2\s*$", re.DOTALL)

Sign = Literal[" ", "-", "+"]


@dataclass(slots=True)
class Chunk:
    """A run of lines to keep, take and add; `context` is a line that stands somewhere before it, `at_end` puts it at the end."""

    context: str | None = None
    lines: list[tuple[Sign, str]] = field(default_factory=list[tuple[Sign, str]])
    at_end: bool = False

    @property
    def old(self) -> list[str]:
        """The lines that must be there."""
        return [text for sign, text in self.lines if sign != "+"]


@dataclass(slots=True)
class AddFile:
    """A file with this content; an existing one is overwritten."""

    path: str
    content: str = ""


@dataclass(slots=True)
class DeleteFile:
    """A file to remove."""

    path: str


@dataclass(slots=True)
class UpdateFile:
    """A file to change, and perhaps to move."""

    path: str
    move_to: str | None = None
    chunks: list[Chunk] = field(default_factory=list[Chunk])


Section = AddFile | DeleteFile | UpdateFile


def parse_patch(text: str) -> list[Section]:
    """Return the sections of a patch in order; raises ToolError that names the line which does not fit."""
    if not text.strip():
        raise ToolError("patchText is required; give a patch from `*** Begin Patch` to `*** End Patch`")
    lines = _body(text)
    sections: list[Section] = []
    for number, line in enumerate(lines, 2):
        _take_line(line, number, sections)
    if not sections:
        raise ToolError("the patch is empty; put at least one Add, Delete or Update File section into it")
    _check_updates(sections)
    return sections


def _body(text: str) -> list[str]:
    """Return the lines between the markers; a shell heredoc around them is taken off."""
    heredoc = _HEREDOC.match(text)
    lines = (heredoc.group(3) if heredoc else text).replace("\r\n", "\n").strip().split("\n")
    begin = next((index for index, line in enumerate(lines) if line.strip() == _BEGIN), None)
    end = next((index for index in range(len(lines) - 1, -1, -1) if lines[index].strip() == _END), None)
    if begin is None or end is None or begin > end:
        raise ToolError(
            f"patch verification failed: it must begin with `{_BEGIN}` and end with `{_END}`; write it again"
        )
    return lines[begin + 1 : end]


def _take_line(line: str, number: int, sections: list[Section]) -> None:
    """Add one line to the sections; a header opens the next one."""
    header = _header(line)
    if header is not None:
        sections.append(header)
        return
    current = sections[-1] if sections else None
    match current:
        case AddFile() if line.startswith("+"):
            current.content += line[1:] + "\n"
        case UpdateFile() if line.startswith(_MOVE) and not current.chunks:
            current.move_to = line.removeprefix(_MOVE).strip()
        case UpdateFile():
            _take_update_line(line, number, current)
        case _ if not line.strip():
            return
        case _:
            raise ToolError(
                f"patch verification failed: line {number} fits no section: {line[:80]!r}; write the patch again"
            )


def _header(line: str) -> Section | None:
    if line.startswith(_ADD):
        return AddFile(line.removeprefix(_ADD).strip())
    if line.startswith(_DELETE):
        return DeleteFile(line.removeprefix(_DELETE).strip())
    if line.startswith(_UPDATE):
        return UpdateFile(line.removeprefix(_UPDATE).strip())
    return None


def _take_update_line(line: str, number: int, section: UpdateFile) -> None:
    if line.startswith("@@"):
        section.chunks.append(Chunk(context=line[2:].strip() or None))
        return
    if line.strip() == _END_OF_FILE:
        if section.chunks:
            section.chunks[-1].at_end = True
        return
    if not section.chunks:
        if not line.strip():
            return
        section.chunks.append(Chunk())
    match line[:1]:
        case "":
            section.chunks[-1].lines.append((" ", ""))
        case " " | "-" | "+" as sign:
            section.chunks[-1].lines.append((sign, line[1:]))
        case _:
            raise ToolError(
                f"patch verification failed: line {number} begins with none of ' ', '-', '+', '@@': {line[:80]!r}; write it again"
            )


def _check_updates(sections: list[Section]) -> None:
    for section in sections:
        if not section.path:
            raise ToolError("patch verification failed: a section names no file; write the path behind its header")
        if not isinstance(section, UpdateFile):
            continue
        # A context without lines narrows the place of the next chunk.
        section.chunks = [chunk for chunk in section.chunks if chunk.lines or chunk.context]
        if not any(chunk.lines for chunk in section.chunks) and section.move_to is None:
            raise ToolError(f"patch verification failed: the update of {section.path} changes nothing; add its lines")
