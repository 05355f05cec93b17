"""The grep tool: lines by regular expression, newest files first. Source: docs/internals/tools.md#grep."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from opencode_tui.engine.permission.ruleset import grantable
from opencode_tui.engine.tool.files.text_format import presentable
from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.location import Location
from opencode_tui.engine.tool.search.hits import LINE_LENGTH
from opencode_tui.engine.tool.search.search import (
    RESULT_LIMIT,
    FileSearch,
    Match,
    Matches,
    Readable,
    ask_to_search,
    choose_location,
    hidden_note,
    newest_first,
    readable_below,
)
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.engine.tool.truncate import MAX_BYTES
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.field import Field

_NOTES_BYTES = 1_000


class GrepParameters(Parameters):
    """The expression and the folder or file to search."""

    pattern: str = Field(min_length=1)
    path: str | None = None
    include: str | None = None


class GrepTool:
    """Searches contents; files that need permission to be read are left out and counted, except a file named as `path`."""

    name = "grep"
    parameters = GrepParameters

    def __init__(self, *, search: FileSearch, readable: Readable | None = None) -> None:
        self.description = read_description(self.name)
        self._search = search
        self._readable = readable

    async def run(self, arguments: GrepParameters, context: ToolContext) -> ToolResult:
        """Return the matching lines by file, at most 100."""
        location = await choose_location(arguments.path, context)
        await ask_to_search("grep", arguments.pattern, location, context, arguments)
        if not location.is_folder:
            if not await asyncio.to_thread(location.real.is_file):
                raise ToolError(f"{location.path} is a pipe, socket or device, not a file; it cannot be searched")
            await context.ask("read", location.read_patterns, always=grantable(location.read_patterns))
        found = await self._search.lines(
            location.real, arguments.pattern, include=arguments.include, is_file=not location.is_folder
        )
        return await self._present(found, arguments.pattern, location, context)

    async def _present(self, matches: Matches, pattern: str, location: Location, context: ToolContext) -> ToolResult:
        order = await newest_first(location.real, (match.path for match in matches.found))
        readable = readable_below("grep", location, self._readable if location.is_folder else None, context)
        rank = {path: number for number, path in enumerate(order) if readable is None or readable(path)}
        found = sorted(
            (match for match in matches.found if match.path in rank), key=lambda match: (rank[match.path], match.line)
        )
        lines, count = _by_file(found[:RESULT_LIMIT], location.path)
        is_cut = count < len(found) or matches.more
        heading = f"Found {len(found)}{'+' if matches.more else ''} matches" if found else "No files found"
        cut = f"(Only the first {count} are shown; use a narrower path or pattern.)" if is_cut else ""
        unread = "" if matches.complete else "(Some paths could not be read and were passed over.)"
        notes = [note for note in (cut, unread, *hidden_note(len(order) - len(rank))) if note]
        output = "\n".join([heading, *lines, *(["", *notes] if notes else [])])
        return ToolResult(pattern, output, {"matches": len(found), "truncated": is_cut})


def _by_file(shown: Sequence[Match], root: Path) -> tuple[list[str], int]:
    """Return the output's lines, within the size limit, and the number of matches in them."""
    lines: list[str] = []
    used = _NOTES_BYTES
    path: str | None = None
    for count, match in enumerate(shown):
        fresh = [] if match.path == path else ["", presentable(f"{root / match.path}:")]
        fresh.append(f"  Line {match.line}: {_cut(presentable(match.text))}")
        used += sum(len(line.encode()) + 1 for line in fresh)
        if used > MAX_BYTES:
            return lines, count
        lines += fresh
        path = match.path
    return lines, len(shown)


def _cut(text: str) -> str:
    return text if len(text) <= LINE_LENGTH else text[:LINE_LENGTH] + "..."


def make(kit: ToolKit) -> GrepTool:
    """Return the tool."""
    return GrepTool(search=kit.search, readable=kit.readable)
