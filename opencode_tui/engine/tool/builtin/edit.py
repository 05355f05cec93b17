"""The edit tool: replaces text in one file. Source: docs/internals/tools.md#edit."""

from functools import partial
from pathlib import Path

from opencode_tui.engine.tool.builtin.write import rewrite_whole
from opencode_tui.engine.tool.edit.edit_text import refuse_empty_quote, replace_text
from opencode_tui.engine.tool.edit.file_editor import FileEditor, Rewrite
from opencode_tui.engine.tool.files.files import TextFile
from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.location import similar_paths
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.error import MissingFileError, ToolError


class EditParameters(Parameters):
    """The text to replace and its replacement."""

    file_path: str
    old_string: str
    new_string: str
    replace_all: bool = False


class EditTool:
    """Replaces one occurrence, or all, in a file; with an empty `old_string` it writes a new file, or an empty one."""

    name = "edit"
    parameters = EditParameters

    def __init__(self, *, editor: FileEditor) -> None:
        self.description = read_description(self.name)
        self._editor = editor

    async def run(self, arguments: EditParameters, context: ToolContext) -> ToolResult:
        """Make the replacement; raises ToolError when the text is absent, not unique, or the file unknown to the session."""
        done = await self._editor.edit(arguments.file_path, context, partial(rewrite, arguments))
        return ToolResult(done.location.relative, f"Edited {done.location.relative}.{done.note}", done.metadata)


def rewrite(arguments: EditParameters, path: Path, file: TextFile | None) -> Rewrite:
    """Return the file's new text; raises ToolError."""
    if not arguments.old_string:
        if not arguments.new_string:
            raise ToolError(
                "oldString and newString are both empty, so there is nothing to change", "give the text to write"
            )
        if file is not None:
            refuse_empty_quote(path, file)
        return rewrite_whole(arguments.new_string, path, file)
    if file is None:
        advice = "give an empty oldString to create it"
        raise MissingFileError(f"{path} does not exist", advice=advice, nearest=similar_paths(path))
    text, how = replace_text(path, file, arguments.old_string, arguments.new_string, replace_all=arguments.replace_all)
    return Rewrite(text, file.format, f"\nNote: {how}" if how else "")


def make(kit: ToolKit) -> EditTool:
    """Return the tool."""
    return EditTool(editor=kit.editing.editor)
