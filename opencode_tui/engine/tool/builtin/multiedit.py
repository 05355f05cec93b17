"""The multiedit tool: several replacements in one file, either all or none."""

from functools import partial
from pathlib import Path

from msgspec.structs import replace

from opencode_tui.engine.tool.edit.edit_text import refuse_empty_quote, replace_text
from opencode_tui.engine.tool.edit.file_editor import FileEditor, Rewrite
from opencode_tui.engine.tool.files.files import TextFile
from opencode_tui.engine.tool.files.read_guard import Stamp
from opencode_tui.engine.tool.files.text_format import TextFormat
from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.error import MissingFileError, ToolError
from opencode_tui.schema.field import Field


class Replacing(Parameters):
    """One replacement."""

    old_string: str
    new_string: str
    replace_all: bool = False


class MultieditParameters(Parameters):
    """The file and the replacements."""

    file_path: str
    edits: list[Replacing] = Field(min_length=1)


class MultieditTool:
    """Makes the replacements in order and writes the file once."""

    name = "multiedit"
    parameters = MultieditParameters

    def __init__(self, *, editor: FileEditor) -> None:
        self.description = read_description(self.name)
        self._editor = editor

    async def run(self, arguments: MultieditParameters, context: ToolContext) -> ToolResult:
        """Make all replacements; raises ToolError, with the file unchanged, when one does not match."""
        done = await self._editor.edit(arguments.file_path, context, partial(rewrite, arguments.edits))
        count = len(arguments.edits)
        output = (
            f"Edited {done.location.relative} ({count} {'replacement' if count == 1 else 'replacements'}).{done.note}"
        )
        return ToolResult(done.location.relative, output, done.metadata)


def rewrite(edits: list[Replacing], path: Path, file: TextFile | None) -> Rewrite:
    """Return the text after all replacements; an empty old text in the first one creates a missing file."""
    notes: list[str] = []
    if file is None and edits[0].old_string:
        raise MissingFileError(f"{path} does not exist", advice="give the first edit an empty oldString to create it")
    file = file or TextFile(path, "", TextFormat(), Stamp(0, 0, 0))
    for number, edit in enumerate(edits, 1):
        text, how = _replace(path, file, edit, number)
        file = replace(file, text=text)
        notes += [f"\nNote: edit {number}: {how}"] if how else []
    return Rewrite(file.text, file.format, "".join(notes))


def _replace(path: Path, file: TextFile, edit: Replacing, number: int) -> tuple[str, str]:
    try:
        if not edit.old_string:
            refuse_empty_quote(path, file)
            return edit.new_string, ""
        return replace_text(path, file, edit.old_string, edit.new_string, replace_all=edit.replace_all)
    except ToolError as error:
        problem = f"edit {number} (nothing was written): {error.problem}"
        raise ToolError(problem, error.advice, lines=error.below.removeprefix("\n")) from error


def make(kit: ToolKit) -> MultieditTool:
    """Return the tool."""
    return MultieditTool(editor=kit.editing.editor)
