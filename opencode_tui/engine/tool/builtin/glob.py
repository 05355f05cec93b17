"""The glob tool: files by name pattern, newest first. Source: docs/internals/tools.md#glob."""

from typing import Annotated

from opencode_tui.engine.tool.files.text_format import presentable
from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.search.glob_pattern import matcher, split_fixed
from opencode_tui.engine.tool.search.search import (
    FileSearch,
    Readable,
    ask_to_search,
    choose_location,
    first_readable,
    hidden_note,
    newest_first,
    readable_below,
)
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.field import UNLISTED


class GlobParameters(Parameters):
    """The pattern and the folder to search."""

    pattern: str
    path: str | None = None
    respect_git_ignore: Annotated[bool | None, UNLISTED] = None


class GlobTool:
    """Finds files; those that need permission to be read are left out and counted."""

    name = "glob"
    parameters = GlobParameters

    def __init__(self, *, search: FileSearch, readable: Readable | None = None) -> None:
        self.description = read_description(self.name)
        self._search = search
        self._readable = readable

    async def run(self, arguments: GlobParameters, context: ToolContext) -> ToolResult:
        """Return absolute paths, at most 100."""
        folder, pattern = arguments.path, arguments.pattern
        if pattern.startswith("/"):
            folder, pattern = split_fixed(pattern)
        location = await choose_location(folder, context)
        await ask_to_search("glob", arguments.pattern, location, context, arguments)
        if not location.is_folder:
            raise ToolError(f"{location.path} is a file; give a folder, or read the file")
        is_all = arguments.respect_git_ignore is False
        files = await self._search.files(location.real, accept=matcher(pattern), ignored_too=is_all)
        ordered = await newest_first(location.real, files.paths)
        shown, hidden = first_readable(ordered, readable_below("glob", location, self._readable, context))
        is_cut = len(shown) + hidden < len(ordered) or files.more
        lines = [presentable(str(location.path / path)) for path in shown] or ["No files found"]
        notes = hidden_note(hidden)
        if is_cut:
            notes.append(f"(Only the {len(shown)} newest files are shown; use a narrower path or pattern.)")
        output = "\n".join([*lines, "", *notes] if notes else lines)
        return ToolResult(location.relative, output, {"count": len(shown), "truncated": is_cut})


def make(kit: ToolKit) -> GlobTool:
    """Return the tool."""
    return GlobTool(search=kit.search, readable=kit.readable)
