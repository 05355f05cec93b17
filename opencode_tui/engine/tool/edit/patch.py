"""The patch format that models write: files to add, delete, update and move, as data.

Source: reference, section 28 (apply_patch).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from opencode_tui.engine.tool.edit.indent import reindent
from opencode_tui.engine.tool.edit.match import find_sequences
from opencode_tui.engine.tool.files.files import TextFile
from opencode_tui.schema.error import ToolError

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE, _MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "
_END_OF_FILE = "*** End of File"
_HEREDOC = re.compile(r"^\s*(?:\w+\s+)?<<-?\s*(['\"]?)(\w++)\1[^\n]*\n(.*)\n\2\s*$", re.DOTALL)

Sign = Literal[" ", "-", "+"]


@dataclass(slots=True)
class Chunk:
    """A run of lines to keep, remove and add; `context` is a line somewhere before it, `at_end`: it is at the file's end."""

    context: str | None = None
    lines: list[tuple[Sign, str]] = field(default_factory=list[tuple[Sign, str]])
    at_end: bool = False

    @property
    def old(self) -> list[str]:
        """The lines that must match the file."""
        return [text for sign, text in self.lines if sign != "+"]


@dataclass(slots=True)
class AddFile:
    """A file to create with this content; an existing one is overwritten."""

    path: str
    content: str = ""


@dataclass(slots=True)
class DeleteFile:
    """A file to remove."""

    path: str


@dataclass(slots=True)
class UpdateFile:
    """A file to change, and optionally to move."""

    path: str
    move_to: str | None = None
    chunks: list[Chunk] = field(default_factory=list[Chunk])


Section = AddFile | DeleteFile | UpdateFile


def parse_patch(text: str) -> list[Section]:
    """Return the sections of a patch in order; raises ToolError with the first invalid line."""
    if not text.strip():
        raise ToolError("patchText is required; give a patch from `*** Begin Patch` to `*** End Patch`")
    lines = _body(text)
    sections: list[Section] = []
    for number, line in enumerate(lines, 2):
        _parse_line(line, number, sections)
    if not sections:
        raise ToolError("the patch is empty; put at least one Add, Delete or Update File section into it")
    _check_updates(sections)
    return sections


def _body(text: str) -> list[str]:
    """Return the lines between the markers, without a shell heredoc around them."""
    heredoc = _HEREDOC.match(text)
    lines = (heredoc.group(3) if heredoc else text).replace("\r\n", "\n").strip().split("\n")
    begin = next((index for index, line in enumerate(lines) if line.strip() == _BEGIN), None)
    end = next((index for index in range(len(lines) - 1, -1, -1) if lines[index].strip() == _END), None)
    if begin is None or end is None or begin > end:
        raise ToolError(
            f"patch verification failed: it must begin with `{_BEGIN}` and end with `{_END}`; write it again"
        )
    return lines[begin + 1 : end]


def _parse_line(line: str, number: int, sections: list[Section]) -> None:
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
            _parse_update_line(line, number, current)
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


def _parse_update_line(line: str, number: int, section: UpdateFile) -> None:
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
            raise ToolError("patch verification failed: a section names no file; write the path after its header")
        if not isinstance(section, UpdateFile):
            continue
        # A context without lines narrows the place of the next chunk.
        section.chunks = [chunk for chunk in section.chunks if chunk.lines or chunk.context]
        if not any(chunk.lines for chunk in section.chunks) and section.move_to is None:
            raise ToolError(f"patch verification failed: the update of {section.path} changes nothing; add its lines")


# Puts the chunks of a patch into a file's text: every place is searched in order, and lines that stay are the file's
# own.

_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
        "\u2026": "...",
    }
)


def _plain(line: str) -> str:
    return line.strip().translate(_PLAIN)


_FORMS: tuple[Callable[[str], str], ...] = (str, str.rstrip, str.strip, _plain)
"""How lines are compared, strict to loose."""


def apply_chunks(file: TextFile, chunks: Sequence[Chunk]) -> str:
    """Return the text after all chunks, ending in a line end; raises ToolError when one does not match."""
    raw = file.text.split("\n")
    if raw[-1] == "":
        raw.pop()
    lines = [line.removesuffix("\r") for line in raw]
    done: list[str] = []
    taken = at = 0
    for chunk in chunks:
        at = _after_context(lines, chunk, at, file)
        start, length, added = _place(lines, chunk, at, file)
        done += raw[taken:start]
        done += _merge(chunk, raw[start : start + length], added, file)
        taken = at = start + length
    done += raw[taken:]
    if done and file.format.newline == "\r\n" and not file.text.endswith("\n"):
        done[-1] = done[-1].removesuffix("\r") + "\r"
    return "".join(line + "\n" for line in done)


def _after_context(lines: Sequence[str], chunk: Chunk, at: int, file: TextFile) -> int:
    if chunk.context is None:
        return at
    found = _seek(lines, [chunk.context], at)
    if not found:
        raise ToolError(
            f"{file.path} has no line {chunk.context!r} after line {at}; read the file and write the patch again"
        )
    return found[0] + 1


def _place(lines: Sequence[str], chunk: Chunk, at: int, file: TextFile) -> tuple[int, int, list[str]]:
    """Return the position and number of a chunk's old lines, and its added lines with the indentation of the file."""
    old = chunk.old
    added = [text for sign, text in chunk.lines if sign == "+"]
    if not old:
        return (at if chunk.context and not chunk.at_end else len(lines)), 0, added
    tail = len(lines) - len(old)
    if chunk.at_end and tail >= at and _seek(lines[tail:], old, 0):
        return tail, len(old), _indented(added, old, lines[tail:])
    found = _seek(lines, old, at)
    if not found and old[-1] == "" and len(old) > 1:
        # Models end a chunk with a blank line that is none of the file's.
        chunk.lines = _without_last_blank(chunk.lines)
        return _place(lines, chunk, at, file)
    if not found:
        raise ToolError(
            f"{file.path} does not hold these lines after line {at}: {_quoted(old)}; read it and write the patch again"
        )
    start = found[-1] if chunk.at_end else found[0]
    is_exact = list(lines[start : start + len(old)]) == old
    if len(found) > 1 and not is_exact and not chunk.at_end:
        numbers = ", ".join(str(index + 1) for index in found[:8])
        raise ToolError(
            f"{file.path} has lines like {_quoted(old)} at {numbers}; quote them exactly or add an @@ line before"
        )
    return start, len(old), _indented(added, old, lines[start : start + len(old)])


def _seek(lines: Sequence[str], wanted: Sequence[str], at: int) -> list[int]:
    """Return all positions from `at` on where these lines match, by the strictest comparison with a match."""
    for form in _FORMS:
        shown, sought = [form(line) for line in lines[at:]], [form(line) for line in wanted]
        found = [at + index for index in find_sequences(shown, sought)]
        if found:
            return found
    return []


def _merge(chunk: Chunk, present: Sequence[str], added: Sequence[str], file: TextFile) -> list[str]:
    """Return the chunk's lines after the change: kept lines as in the file, new ones with the file's line end."""
    end = "\r" if file.format.newline == "\r\n" else ""
    kept, fresh = iter(present), iter(added)
    merged: list[str] = []
    for sign, _ in chunk.lines:
        match sign:
            case "+":
                merged.append(next(fresh) + end)
            case "-":
                next(kept)
            case _:
                merged.append(next(kept))
    return merged


def _indented(added: list[str], old: Sequence[str], present: Sequence[str]) -> list[str]:
    shift = reindent(old, present[: len(old)])
    text = shift.apply("\n".join(added)) if shift and added else None
    return added if text is None else text.split("\n")


def _without_last_blank(lines: Sequence[tuple[Sign, str]]) -> list[tuple[Sign, str]]:
    last = max(index for index, (sign, text) in enumerate(lines) if sign != "+" and text == "")
    return [*lines[:last], *lines[last + 1 :]]


def _quoted(lines: Sequence[str]) -> str:
    return repr("\n".join(lines))[:200]
