"""The grep tool: lines by regular expression, newest files first. Source: docs/internals/tools.md#grep."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from opencode_tui.engine.permission.ruleset import grantable
from opencode_tui.engine.tool.files.text_format import presentable
from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.location import Location
from opencode_tui.engine.tool.search.hits import LINE_LENGTH
from opencode_tui.engine.tool.search.search import (
    RESULT_LIMIT,
    FileSearch,
    LineSearch,
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
from opencode_tui.schema.field import UNLISTED, Field

_NOTES_BYTES = 1_000
_MOST_AROUND = 50
"""Most lines before and after a match."""


class GrepParameters(Parameters):
    """The expression and the folder or file to search; what is not listed is what other agents' tools have."""

    pattern: str = Field(min_length=1)
    path: str | None = None
    include: str | None = None
    ignore_case: Annotated[bool | None, UNLISTED] = None
    case_sensitive: Annotated[bool | None, UNLISTED] = None
    context: Annotated[int | None, UNLISTED] = Field(default=None, ge=0)
    before: Annotated[int | None, UNLISTED] = Field(default=None, ge=0)
    after: Annotated[int | None, UNLISTED] = Field(default=None, ge=0)
    multiline: Annotated[bool | None, UNLISTED] = None
    type: Annotated[str | None, UNLISTED] = None
    output_mode: Annotated[Literal["content", "files_with_matches", "count"], UNLISTED] = "content"
    head_limit: Annotated[int | None, UNLISTED] = Field(default=None, ge=0)
    """Most lines, files or counts that are shown; 0 for the usual limit."""
    offset: Annotated[int, UNLISTED] = Field(default=0, ge=0)
    """How many of these are left out first."""

    def search(self) -> LineSearch:
        """Return how the lines are searched."""
        around = self.context or 0
        return LineSearch(
            self.pattern,
            include=self.include,
            type=self.type,
            ignore_case=bool(self.ignore_case) or self.case_sensitive is False,
            multiline=bool(self.multiline),
            before=min(around if self.before is None else self.before, _MOST_AROUND),
            after=min(around if self.after is None else self.after, _MOST_AROUND),
            once=self.output_mode == "files_with_matches",
        )


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
        found = await self._search.lines(location.real, arguments.search(), is_file=not location.is_folder)
        return await self._present(found, arguments, location, context)

    async def _present(
        self, matches: Matches, arguments: GrepParameters, location: Location, context: ToolContext
    ) -> ToolResult:
        order = await newest_first(location.real, (match.path for match in matches.found))
        readable = readable_below("grep", location, self._readable if location.is_folder else None, context)
        rank = {path: number for number, path in enumerate(order) if readable is None or readable(path)}
        found = sorted(
            (match for match in matches.found if match.path in rank), key=lambda match: (rank[match.path], match.line)
        )
        hits = [match for match in found if not match.is_context]
        entries = _entries(found, arguments.output_mode)
        chosen = entries[arguments.offset :][: min(arguments.head_limit or RESULT_LIMIT, RESULT_LIMIT)]
        if arguments.output_mode == "content":
            lines, count = _by_file(chosen, location.path)
        else:
            lines, count = _files(chosen, location.path, with_counts=arguments.output_mode == "count")
        is_cut = arguments.offset + count < len(entries) or matches.more
        what = "matches" if arguments.output_mode == "content" else "files"
        total = len(hits) if arguments.output_mode == "content" else len(entries)
        heading = f"Found {total}{'+' if matches.more else ''} {what}" if hits else "No files found"
        from_ = f" from {arguments.offset + 1} on" if arguments.offset else ""
        shown = f"Only the first {count} are shown" if not arguments.offset else f"Only {count}{from_} are shown"
        cut = f"({shown}; use a narrower path or pattern.)" if is_cut or arguments.offset else ""
        unread = "" if matches.complete else "(Some paths could not be read and were passed over.)"
        notes = [note for note in (cut, unread, *hidden_note(len(order) - len(rank))) if note]
        output = "\n".join([heading, *lines, *(["", *notes] if notes else [])])
        return ToolResult(arguments.pattern, output, {"matches": len(hits), "truncated": is_cut})


def _entries(found: Sequence[Match], mode: str) -> list[list[Match]]:
    """Return what is counted and shown: each match with the lines around it, or the matches of each file."""
    entries: list[list[Match]] = []
    waiting: list[Match] = []
    for match in found:
        is_same = bool(entries) and entries[-1][-1].path == match.path
        if mode != "content":
            if match.is_context:
                continue
            if is_same:
                entries[-1].append(match)
            else:
                entries.append([match])
        elif match.is_context:
            follows = is_same and not waiting and entries[-1][-1].line == match.line - 1
            (entries[-1] if follows else waiting).append(match)
        else:
            entries.append([*waiting, match])
            waiting = []
    return entries


def _files(entries: Sequence[Sequence[Match]], root: Path, *, with_counts: bool) -> tuple[list[str], int]:
    """Return the lines with the files, and their number; the paths end the matches of a search in one file."""
    names = [presentable(str(root / one[0].path) if one[0].path else str(root)) for one in entries]
    counts = [f": {len(one)}" if with_counts else "" for one in entries]
    return [name + count for name, count in zip(names, counts, strict=True)], len(entries)


def _by_file(shown: Sequence[Sequence[Match]], root: Path) -> tuple[list[str], int]:
    """Return the output's lines, within the size limit, and the number of matches in them."""
    lines: list[str] = []
    used = _NOTES_BYTES
    last: Match | None = None
    for count, entry in enumerate(shown):
        fresh: list[str] = []
        for match in entry:
            if last is None or match.path != last.path:
                fresh += ["", presentable(f"{root / match.path}:")]
            elif match.line > last.line + 1 and (len(entry) > 1 or last.is_context):
                fresh.append("  --")
            fresh.append(f"  Line {match.line}{'-' if match.is_context else ':'} {_cut(presentable(match.text))}")
            last = match
        used += sum(len(line.encode()) + 1 for line in fresh)
        if used > MAX_BYTES:
            return lines, count
        lines += fresh
    return lines, len(shown)


def _cut(text: str) -> str:
    return text if len(text) <= LINE_LENGTH else text[:LINE_LENGTH] + "..."


def make(kit: ToolKit) -> GrepTool:
    """Return the tool."""
    return GrepTool(search=kit.search, readable=kit.readable)
