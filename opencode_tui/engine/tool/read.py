"""The read tool: lines of a file, entries of a folder, images and PDF as attachments. Source: reference, section 28 (read)."""

import asyncio
import base64
import difflib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from pydantic import Field

from opencode_tui.cancellation import to_cancellable_thread
from opencode_tui.engine.tool.description import read_description
from opencode_tui.engine.tool.location import Location, ask_outside, locate
from opencode_tui.engine.tool.read_window import Listing, Media, Window, open_window
from opencode_tui.engine.tool.stamps import ReadStamps
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult
from opencode_tui.engine.tool.truncate import MAX_BYTES, MAX_LINES
from opencode_tui.schema.error import ToolError

_PREVIEW_LINES = 20
_SIMILAR_NAMES = 3

NearbyInstructions = Callable[[Path, ToolContext], Awaitable[Sequence[tuple[Path, str]]]]
"""Returns the instruction files (path, text) that hold near a path and that the session has not been given yet."""


class ReadParameters(Parameters):
    """What to read."""

    file_path: str = Field(description="file or folder, absolute or relative to the working directory")
    offset: int = Field(default=1, description="first line, from 1")
    limit: int = Field(default=MAX_LINES, ge=1, description="number of lines")


class ReadTool:
    """Reads for the model and marks files as known to the session. `instructions` adds rules that lie near a file."""

    name = "read"
    parameters = ReadParameters

    def __init__(self, *, stamps: ReadStamps, instructions: NearbyInstructions | None = None) -> None:
        self.description = read_description(self.name)
        self._stamps = stamps
        self._instructions = instructions

    async def run(self, arguments: ReadParameters, context: ToolContext) -> ToolResult:
        """Return the lines, the entries, or the attachment; asks `read` also for what does not exist."""
        if arguments.offset < 1:
            raise ToolError(f"offset is {arguments.offset}, but lines count from 1; give 1 or more")
        place = await locate(arguments.file_path, context)
        await ask_outside(place, context)
        await context.ask("read", place.read_patterns, always=place.read_patterns)
        found = await to_cancellable_thread(partial(open_window, place.real, arguments.offset, arguments.limit))
        match found:
            case None:
                raise ToolError(await asyncio.to_thread(_missing, place))
            case Listing():
                return _show_folder(place, found, arguments)
            case Media():
                self._stamps.mark(context.session_id, place.real, found.stamp)
                return await asyncio.to_thread(_attach, place, found)
            case Window():
                self._stamps.mark(context.session_id, place.real, found.stamp)
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
            f"{place.path} has {window.total} lines, so nothing is at offset {arguments.offset}; give a smaller offset"
        )
    if window.total is not None:
        status = f"(End of file - total {window.total} lines)"
    elif window.full:
        status = f"(Output truncated at {MAX_BYTES} bytes. Read on with offset={end + 1})"
    else:
        status = f"(File has more lines. Read on with offset={end + 1})"
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


def _missing(place: Location) -> str:
    try:
        names = [entry.name for entry in place.real.parent.iterdir()]
    except OSError:
        return f"file not found: {place.path}, nor is its folder there; look for it with glob"
    wanted = place.path.name.lower()
    contained = [name for name in names if wanted in name.lower() or name.lower() in wanted]
    close = difflib.get_close_matches(place.path.name, names, _SIMILAR_NAMES, 0.6)
    similar = list(dict.fromkeys(close + contained))[:_SIMILAR_NAMES]
    if not similar:
        return f"file not found: {place.path}; look for it with glob"
    return (
        f"file not found: {place.path}; did you mean {' or '.join(str(place.path.parent / name) for name in similar)}?"
    )
