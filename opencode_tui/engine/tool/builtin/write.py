"""The write tool: one whole file. Source: docs/internals/tools.md#write."""

from functools import partial
from pathlib import Path

from opencode_tui.engine.tool.edit.file_editor import FileEditor, Rewrite
from opencode_tui.engine.tool.edit.fold import carry_characters
from opencode_tui.engine.tool.edit.placeholder import refuse_placeholders
from opencode_tui.engine.tool.files.files import TextFile
from opencode_tui.engine.tool.files.text_format import TextFormat, presentable
from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.error import ToolError


class WriteParameters(Parameters):
    """The file and its new content."""

    file_path: str
    content: str


class WriteTool:
    """Creates or replaces a file."""

    name = "write"
    parameters = WriteParameters

    def __init__(self, *, editor: FileEditor) -> None:
        self.description = read_description(self.name)
        self._editor = editor

    async def run(self, arguments: WriteParameters, context: ToolContext) -> ToolResult:
        """Write the file; raises ToolError when an existing one was not read in this session."""
        done = await self._editor.edit(arguments.file_path, context, partial(rewrite_whole, arguments.content))
        return ToolResult(
            done.location.relative,
            f"Wrote {done.location.relative} ({'replaced' if done.existed else 'new file'}).{done.note}",
            {**done.metadata, "filepath": str(done.location.path), "exists": done.existed},
        )


def rewrite_whole(content: str, path: Path, old: TextFile | None) -> Rewrite:
    """Return the whole new text of a file; it keeps the encoding, mark and line ends of the old one.

    A content that itself has CRLF line ends asks for them. What the old encoding cannot hold makes the file UTF-8. Bytes that are
    no text were read as U+FFFD: where these stay, so do the bytes. Raises ToolError for a content that leaves out code.
    """
    if old is None:
        return Rewrite(content, TextFormat())
    refuse_placeholders(path, content, old.text)
    text = content if "\r\n" in content and old.format.newline != "\r" else old.format.end_lines(content)
    if old.format.errors != "strict" and "\ufffd" in text:
        text = carry_characters(old.text, presentable(old.text), text).text
    try:
        old.format.encode(text)
    except ToolError:
        form = TextFormat(newline=old.format.newline)
        return Rewrite(
            text, form, f"\nNote: {path.name} was {old.format.encoding}; it is UTF-8 now, because the text needs it."
        )
    return Rewrite(text, old.format)


def make(kit: ToolKit) -> WriteTool:
    """Return the tool."""
    return WriteTool(editor=kit.editing.editor)
