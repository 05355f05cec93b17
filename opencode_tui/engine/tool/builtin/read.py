"""The read tool: lines of a file, entries of a folder, images and PDF as attachments. Source: docs/internals/tools.md#read."""

import asyncio
import base64
import os
import stat
import threading
from collections.abc import Callable, Sequence
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.cancellation import to_cancellable_thread
from opencode_tui.engine.permission.ruleset import grantable
from opencode_tui.engine.tool.files.media_type import media_type
from opencode_tui.engine.tool.files.read_guard import ReadGuard, Stamp, stamp_of
from opencode_tui.engine.tool.files.text_format import TextFormat, detect, is_binary, presentable
from opencode_tui.engine.tool.files.transaction import explain
from opencode_tui.engine.tool.kit import DirectoryInstructions, ToolKit
from opencode_tui.engine.tool.location import Location, ask_outside, describe_twin, locate, same_looking, similar_paths
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.engine.tool.truncate import MAX_BYTES, MAX_LINES
from opencode_tui.schema.error import MissingFileError, ToolError
from opencode_tui.schema.field import UNLISTED, Field
from opencode_tui.storage.safe_folder import open_folder

LINE_LIMIT_CHARACTERS = 2_000
MEDIA_LIMIT_BYTES = 20 * 1024 * 1024
_SAMPLE_BYTES = 256 * 1024
_PIECE_CHARACTERS = 64 * 1024


class Window(Struct, frozen=True):
    """Lines of a file without their ends. `total` counts all lines when the end was reached; `full`: the byte limit was hit.

    `note` says how the bytes were read, where that is not as usual.
    """

    lines: list[str]
    stamp: Stamp
    total: int | None
    full: bool = False
    note: str = ""


class Media(Struct, frozen=True):
    """An image or document."""

    mime: str
    data: bytes
    stamp: Stamp


class Listing(Struct, frozen=True):
    """A folder's entries in order; sub-folders end in `/`."""

    entries: list[str]


def open_window(path: Path, offset: int, limit: int, stop: threading.Event) -> Window | Media | Listing | None:
    """Return the content of a real path, lines from number `offset` (1-based) on, or None when it does not exist.

    Raises ToolError for what cannot be shown: other binary files, pipes, too large media.
    """
    try:
        with open_folder(path.parent) as folder:
            status = folder.find(path.name) if path.name else os.stat(path)
            if status is None:
                return None
            if not stat.S_ISDIR(status.st_mode):
                return _read_file(folder.open_to_read(path.name), path, (offset, limit), stop)
        with open_folder(path) as folder:
            return Listing(sorted(presentable(name) for name in folder.entries()))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise explain(error, path) from error


def _read_file(descriptor: int, path: Path, lines: tuple[int, int], stop: threading.Event) -> Window | Media:
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ToolError(f"{path} is a pipe, socket or device, not a file", "it cannot be read")
        sample = file.read(_SAMPLE_BYTES)
        mime = media_type(sample)
        if mime is not None:
            if status.st_size > MEDIA_LIMIT_BYTES:
                raise ToolError(
                    f"{path} is a {mime} of {status.st_size} bytes, more than the {MEDIA_LIMIT_BYTES} that can be attached"
                )
            return Media(mime, sample + file.read(MEDIA_LIMIT_BYTES), stamp_of(status))
        if is_binary(sample):
            raise ToolError(
                f"{path} is a binary file of {status.st_size} bytes", "look at it with a fitting program through bash"
            )
        found = detect(sample, is_whole=len(sample) < _SAMPLE_BYTES)
        file.seek(len(found.mark))
        errors = found.errors if found.errors != "strict" else "replace"
        shown = sample[len(found.mark) :].decode(found.encoding, errors)
        end = "\r" if "\r" in shown and "\n" not in shown else "\n"
        text = TextIOWrapper(file, encoding=found.encoding, errors=errors, newline=end)
        window = _collect(partial(_next_line, text, end, stop), lines, stamp_of(status), stop)
        return replace(window, note=_note(found, end))


def _note(found: TextFormat, end: str) -> str:
    """Return what the model must know about the bytes of a text that is not UTF-8, or has other line ends than all others."""
    if found.errors != "strict":
        note = "Some bytes are not UTF-8; they are shown as U+FFFD, and an edit keeps them."
    elif found.mark and found.encoding != "utf-8":
        note = f"Read as {found.encoding}, as its mark says; an edit keeps it."
    elif found.encoding != "utf-8":
        note = f"Not UTF-8: read as {found.encoding}, which may be wrong; an edit keeps the bytes of other lines."
    else:
        note = ""
    return f"{note} Its lines end in CR alone.".strip() if end == "\r" else note


def _collect(
    next_line: Callable[[], str | None], lines: tuple[int, int], stamp: Stamp, stop: threading.Event
) -> Window:
    offset, limit = lines
    kept: list[str] = []
    number, used = 0, 0
    while not stop.is_set():
        line = next_line()
        if line is None:
            return Window(kept, stamp, total=number)
        number += 1
        if number < offset:
            continue
        if len(kept) == limit:
            return Window(kept, stamp, total=None)
        used += len(line.encode()) + (1 if kept else 0)
        if used > MAX_BYTES:
            return Window(kept, stamp, total=None, full=True)
        kept.append(line)
    return Window(kept, stamp, total=None)


def _next_line(text: TextIOWrapper, end: str, stop: threading.Event) -> str | None:
    """Return the next line, cut when it is over-long, or None at the end."""
    piece = text.readline(_PIECE_CHARACTERS)
    if not piece:
        return None
    line = piece
    while not piece.endswith(end) and not stop.is_set():
        piece = text.readline(_PIECE_CHARACTERS)
        if not piece:
            break
    line = presentable(line.removesuffix("\n").removesuffix("\r"))
    return line if len(line) <= LINE_LIMIT_CHARACTERS else line[:LINE_LIMIT_CHARACTERS] + "..."


_PREVIEW_LINES = 20


class ReadParameters(Parameters):
    """The file or folder to read."""

    file_path: str
    offset: int = 1
    limit: int = Field(default=MAX_LINES, ge=1)
    end_line: Annotated[int | None, UNLISTED] = None
    """The last line, which other agents name in the place of `limit`."""
    view_range: Annotated[list[int] | None, UNLISTED] = None
    """The first and the last line, -1 for the file's; wins over the others."""

    def lines(self) -> tuple[int, int]:
        """Return the first line and the number of lines. Raises ToolError."""
        first, last = self.offset, self.end_line
        if self.view_range:
            first, last = self.view_range[0], self.view_range[1] if len(self.view_range) > 1 else -1
        if first < 1:
            raise ToolError(f"offset is {first}, but lines count from 1", "give 1 or more")
        if last is None or last == -1:
            return first, self.limit
        if last < first:
            raise ToolError(f"the last line, {last}, is before the first, {first}", "give a later one")
        return first, min(self.limit, last - first + 1)


class ReadTool:
    """Reads for the model and marks files as known to the session.

    `instructions` adds the rules of a file's folders; `after_read` is called with each text file, and does not block.
    """

    name = "read"
    parameters = ReadParameters

    def __init__(
        self,
        *,
        stamps: ReadGuard,
        instructions: DirectoryInstructions | None = None,
        after_read: Callable[[Path], None] | None = None,
    ) -> None:
        self.description = read_description(self.name)
        self._stamps = stamps
        self._instructions = instructions
        self._after_read = after_read

    async def run(self, arguments: ReadParameters, context: ToolContext) -> ToolResult:
        """Return the lines, the entries, or the attachment; asks for `read` also when the path does not exist."""
        offset, limit = arguments.lines()
        arguments = arguments.changed(offset=offset, limit=limit, end_line=None, view_range=None)
        place = await locate(arguments.file_path, context)
        await ask_outside(place, context, "read")
        await context.ask("read", place.read_patterns, always=grantable(place.read_patterns))
        found = await to_cancellable_thread(partial(open_window, place.real, offset, limit))
        if found is None and (twin := await asyncio.to_thread(same_looking, place.path)) is not None:
            result = await self.run(arguments.changed(file_path=str(twin)), context)
            return replace(result, output=f"{result.output}\n{describe_twin(place.path, twin)}")
        match found:
            case None:
                raise await asyncio.to_thread(_missing, place)
            case Listing():
                return _show_folder(place, found, arguments)
            case Media():
                self._stamps.mark(context.session_id, place.real, found.stamp)
                return await asyncio.to_thread(_attach, place, found)
            case Window():
                self._stamps.mark(context.session_id, place.real, found.stamp)
                if self._after_read is not None:
                    self._after_read(place.real)
                return await self._with_instructions(_show_lines(place, found, arguments), place, context)

    async def _with_instructions(self, result: ToolResult, place: Location, context: ToolContext) -> ToolResult:
        loaded = await self._instructions(place.real, context) if self._instructions else ()
        if not loaded:
            return result
        texts = "\n\n".join(f"Instructions from: {path}\n{text}" for path, text in loaded)
        return ToolResult(
            result.title,
            f"{result.output}\n\n<system-reminder>\n{texts}\n</system-reminder>",
            {**result.metadata, "loaded": [str(path) for path, _ in loaded]},
        )


def _show_lines(place: Location, window: Window, arguments: ReadParameters) -> ToolResult:
    end = arguments.offset + len(window.lines) - 1
    if window.total is not None and arguments.offset > max(window.total, 1):
        raise ToolError(
            f"{place.path} has {window.total} lines, so nothing is at offset {arguments.offset}",
            "give a smaller offset",
        )
    if window.total is not None:
        status = f"(End of file - total {window.total} lines)"
    elif window.full:
        status = f"(Output truncated at {MAX_BYTES} bytes. Read on with offset={end + 1})"
    else:
        status = f"(File has more lines. Read on with offset={end + 1})"
    status = f"{status}\n({window.note})" if window.note else status
    numbered = [f"{arguments.offset + index}: {line}" for index, line in enumerate(window.lines)]
    return ToolResult(
        place.relative,
        _wrap(place.path, "file", "content", [*numbered, "", status]),
        {"preview": "\n".join(window.lines[:_PREVIEW_LINES]), "truncated": window.total is None, "loaded": []},
    )


def _show_folder(place: Location, listing: Listing, arguments: ReadParameters) -> ToolResult:
    start = arguments.offset - 1
    shown = _within_bytes(listing.entries[start : start + arguments.limit])
    left = len(listing.entries) - start - len(shown)
    status = (
        f"({len(listing.entries)} entries)"
        if left <= 0
        else f"({left} more entries. Read on with offset={start + len(shown) + 1})"
    )
    return ToolResult(
        place.relative,
        _wrap(place.path, "directory", "entries", [*shown, "", status]),
        {"preview": "\n".join(shown[:_PREVIEW_LINES]), "truncated": left > 0, "loaded": []},
    )


def _within_bytes(names: Sequence[str]) -> list[str]:
    used = 0
    for count, name in enumerate(names):
        used += len(name.encode()) + 1
        if used > MAX_BYTES:
            return list(names[:count])
    return list(names)


def _attach(place: Location, media: Media) -> ToolResult:
    kind = "PDF" if media.mime == "application/pdf" else "Image"
    note = f"{kind} read; it is attached."
    url = f"data:{media.mime};base64,{base64.b64encode(media.data).decode()}"
    attachment = {"type": "file", "mime": media.mime, "url": url, "filename": place.path.name}
    return ToolResult(place.relative, note, {"preview": note, "truncated": False, "loaded": []}, [attachment])


def _wrap(path: Path, kind: str, tag: str, lines: Sequence[str]) -> str:
    return "\n".join([f"<path>{path}</path>", f"<type>{kind}</type>", f"<{tag}>", *lines, f"</{tag}>"])


def _missing(place: Location) -> MissingFileError:
    nearest = similar_paths(place.path)
    return MissingFileError(f"file not found: {place.path}", advice="look for it with glob", nearest=nearest)


def make(kit: ToolKit) -> ReadTool:
    """Return the tool."""
    return ReadTool(stamps=kit.editing.stamps, instructions=kit.instructions, after_read=kit.editing.after_read)
