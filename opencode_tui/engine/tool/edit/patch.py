"""The patch format that models write: files to add, delete, update and move, as data.

Source: docs/internals/tools.md#apply_patch.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

from opencode_tui.engine.tool.edit.check import are_lines_meant
from opencode_tui.engine.tool.edit.fold import carry_characters, fold
from opencode_tui.engine.tool.edit.indent import indent_of, reindent
from opencode_tui.engine.tool.edit.match import find_sequences
from opencode_tui.engine.tool.edit.nearest import explain_missing
from opencode_tui.engine.tool.edit.placeholder import refuse_placeholders
from opencode_tui.engine.tool.files.files import TextFile
from opencode_tui.schema.error import ToolError

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE, _MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "
_END_OF_FILE = "*** End of File"
_SHOWN_NUMBERS = 8
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
    lines: list[str] = field(default_factory=list[str])

    @property
    def content(self) -> str:
        """The text of the file."""
        return "".join(f"{line}\n" for line in self.lines)


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
        raise ToolError("patchText is required", "give a patch from `*** Begin Patch` to `*** End Patch`")
    lines = _body(text)
    sections: list[Section] = []
    for number, line in enumerate(lines, 2):
        _parse_line(line, number, sections)
    if not sections:
        raise ToolError("the patch is empty", "put at least one Add, Delete or Update File section into it")
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
            f"patch verification failed: it must begin with `{_BEGIN}` and end with `{_END}`", "write it again"
        )
    return lines[begin + 1 : end]


def _parse_line(line: str, number: int, sections: list[Section]) -> None:
    """Add one line to the sections; a header opens the next one.

    Blanks before a header do not count, except in an update, where such a line is one of the file's.
    """
    header = _header(line if sections and isinstance(sections[-1], UpdateFile) else line.strip())
    if header is not None:
        sections.append(header)
        return
    current = sections[-1] if sections else None
    match current:
        case AddFile() if line.startswith("+"):
            current.lines.append(line[1:])
        case UpdateFile() if line.startswith(_MOVE) and not current.chunks:
            current.move_to = line.removeprefix(_MOVE).strip()
        case UpdateFile():
            _parse_update_line(line, number, current)
        case _ if not line.strip():
            return
        case _:
            raise ToolError(
                f"patch verification failed: line {number} fits no section: {line[:80]!r}", "write the patch again"
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
                f"patch verification failed: line {number} begins with none of ' ', '-', '+', '@@': {line[:80]!r}",
                "write it again",
            )


def _check_updates(sections: list[Section]) -> None:
    for section in sections:
        if not section.path:
            raise ToolError("patch verification failed: a section names no file", "write the path after its header")
        if not isinstance(section, UpdateFile):
            continue
        # A context without lines narrows the place of the next chunk.
        section.chunks = [chunk for chunk in section.chunks if chunk.lines or chunk.context]
        if not any(chunk.lines for chunk in section.chunks) and section.move_to is None:
            raise ToolError(f"patch verification failed: the update of {section.path} changes nothing", "add its lines")


# Puts the chunks of a patch into a file's text: every place is searched in order, and lines that stay are the file's
# own.


def _plain(line: str) -> str:
    return fold(line.strip()).text


_FORMS: tuple[Callable[[str], str], ...] = (str, str.rstrip, str.strip, _plain)
"""How lines are compared, strict to loose."""


class Patched(Struct, frozen=True):
    """A text after all chunks, and sentences for the model on chunks that also match elsewhere."""

    text: str
    notes: tuple[str, ...] = ()


class _Place(Struct, frozen=True):
    """Where the old lines of a chunk are, its added lines with the file's indentation, and where the same lines are again."""

    start: int
    length: int
    added: list[str]
    others: Sequence[int] = ()


def apply_chunks(file: TextFile, chunks: Sequence[Chunk], *, may_show: bool = False) -> Patched:
    """Return the text after all chunks, ending in a line end; raises ToolError when one does not match.

    Of several exact matches the first after the previous chunk is changed, as in Codex. The error quotes the file's nearest lines
    only if the caller `may_show` them.
    """
    raw = (file.format.plain_lines(file.text) if file.format.newline == "\r" else file.text).split("\n")
    if raw[-1] == "":
        raw.pop()
    lines = [line.removesuffix("\r") for line in raw]
    edits: list[tuple[int, int, list[str]]] = []
    notes: list[str] = []
    at = 0
    for chunk in chunks:
        at = _after_context(lines, chunk, at, file)
        place = _place(lines, chunk, at, file, may_show=may_show)
        end = place.start + place.length
        edits.append((place.start, end, _merge(chunk, raw[place.start : end], place.added, file)))
        if chunk.old or place.start < len(lines):  # lines for the end of the file may come before others
            at = end
        if place.others:
            notes.append(
                f"the lines at {place.start + 1} are also at {_numbers(place.others)}; an @@ line says which are meant."
            )
    done: list[str] = []
    copied = 0
    for start, end, merged in sorted(edits, key=lambda edit: edit[:2]):
        done += [*raw[copied:start], *merged]
        copied = end
    done += raw[copied:]
    if done and file.format.newline == "\r\n" and not file.text.endswith("\n"):
        done[-1] = done[-1].removesuffix("\r") + "\r"
    end = "\r" if file.format.newline == "\r" else "\n"
    return Patched("".join(line + end for line in done), tuple(notes))


def _numbers(indexes: Sequence[int]) -> str:
    return ", ".join(str(index + 1) for index in indexes[:_SHOWN_NUMBERS])


def _after_context(lines: Sequence[str], chunk: Chunk, at: int, file: TextFile) -> int:
    if chunk.context is None:
        return at
    found = _seek(lines, [chunk.context], at)
    if not found:
        raise ToolError(
            f"{file.path} has no line {chunk.context!r} after line {at}", "read the file and write the patch again"
        )
    return found[0] + 1


def _place(lines: Sequence[str], chunk: Chunk, at: int, file: TextFile, *, may_show: bool) -> _Place:
    """Return where a chunk's old lines are, and its added lines with the indentation of the file."""
    old = chunk.old
    added = [text for sign, text in chunk.lines if sign == "+"]
    if not old:
        refuse_placeholders(file.path, "\n".join(added), "")
        return _Place(at if chunk.context and not chunk.at_end else len(lines), 0, added)
    tail = len(lines) - len(old)
    if chunk.at_end and tail >= at and _seek(lines[tail:], old, 0):
        return _Place(tail, len(old), _meant(chunk, lines[tail:], file))
    found = _seek(lines, old, at)
    if not found and chunk.lines[-1] == (" ", "") and len(chunk.lines) > 1:
        # Models end a chunk with a blank line that is none of the file's.
        chunk.lines = chunk.lines[:-1]
        return _place(lines, chunk, at, file, may_show=may_show)
    if not found and may_show:
        problem = f"{file.path} does not hold the quoted lines after line {at}"
        raise explain_missing(problem, "\n".join(lines), "\n".join(old))
    if not found:
        raise ToolError(
            f"{file.path} does not hold these lines after line {at}: {_quoted(old)}",
            "read it and write the patch again",
        )
    start = found[-1] if chunk.at_end else found[0]
    is_exact = list(lines[start : start + len(old)]) == old
    if len(found) > 1 and not is_exact and not chunk.at_end:
        raise ToolError(
            f"{file.path} has lines like {_quoted(old)} at {_numbers(found)}",
            "quote them exactly or add an @@ line before",
        )
    others = [] if chunk.context or chunk.at_end else found[1:]
    return _Place(start, len(old), _meant(chunk, lines[start : start + len(old)], file), others)


def _meant(chunk: Chunk, present: Sequence[str], file: TextFile) -> list[str]:
    """Return the chunk's added lines as the file is written; raises ToolError when something else may be meant."""
    written = [text for sign, text in chunk.lines if sign == "+"]
    refuse_placeholders(file.path, "\n".join(written), "\n".join(chunk.old))
    if not written:
        return written
    new = [text for sign, text in chunk.lines if sign != "-"]
    added = _indented(written, chunk.old, present)
    if added is not None and not are_lines_meant(chunk.old, new, present, _merged(chunk, present, added)):
        added = None
    if added is None and (added := _indented_flat(chunk, present)) is None:
        raise ToolError(
            f"{file.path} has the lines {_quoted(chunk.old)} in another form, so it is not certain how to write the added ones",
            "read the file and quote its lines exactly",
        )
    return added


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
    return _merged(chunk, present, [line + end for line in added])


def _merged(chunk: Chunk, present: Sequence[str], added: Sequence[str]) -> list[str]:
    kept, fresh = iter(present), iter(added)
    merged: list[str] = []
    for sign, _ in chunk.lines:
        match sign:
            case "+":
                merged.append(next(fresh))
            case "-":
                next(kept)
            case _:
                merged.append(next(kept))
    return merged


def _indented(added: list[str], old: Sequence[str], present: Sequence[str]) -> list[str] | None:
    """Return the added lines with the indentation and the typographic characters of the lines that are present.

    None when these are not certain.
    """
    if list(old) == list(present):
        return added
    shift = reindent(old, present)
    text = shift.apply("\n".join(added)) if shift else None
    if text is None:
        return None
    quoted, found = ("\n".join(line.strip() for line in lines) for lines in (old, present))
    if quoted != found:
        carried = carry_characters(found, quoted, text)
        text = carried.text if carried.is_certain else None
    return None if text is None else text.split("\n")


def _indented_flat(chunk: Chunk, present: Sequence[str]) -> list[str] | None:
    """Return the added lines of a chunk without any indentation, each with that of the removed line before it.

    None where that is not known.
    """
    added: list[str] = []
    indent: str | None = None
    found = iter(present)
    for sign, text in chunk.lines:
        if text != text.lstrip(" \t"):
            return None
        if sign == "+":
            if indent is None:
                return None
            added.append(indent + text if text else text)
            continue
        line = next(found)
        indent = indent_of(line) if sign == "-" else None
    return added


def _quoted(lines: Sequence[str]) -> str:
    return repr("\n".join(lines))[:200]
