"""A tool call as the protocol describes it: its kind, title, files, content; pure."""

import os
from collections.abc import Sequence
from typing import cast

from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    ImageContentBlock,
    TerminalToolCallContent,
    TextContentBlock,
    ToolCallLocation,
    ToolKind,
)

from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from opencode_tui.schema.tools import row_of
from opencode_tui.text.file_references import references_of_call
from opencode_tui.text.tool import argument_of, failure_text

Content = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent

_SENT_ELSEWHERE = ("output", "preview", "diff", "filediff", "files", "todos", "diagnostics")
"""Metadata that the content, the output or the plan already has."""

SHOWN_OUTPUT = 8_000
"""Characters at the end of a running command's output that are sent while it runs."""


def kind_of(tool: str) -> ToolKind:
    """Return the kind of a tool."""
    return row_of(tool).kind


def title_of(part: ToolPart, root: str) -> str:
    """Return a call in one line, as `bash: pytest -q`; only the tool while its input is not complete."""
    argument = "" if part.state.status == "pending" else argument_of(part, root)
    return f"{part.tool}: {argument}" if argument else part.tool


def locations_of(part: ToolPart, root: str) -> list[ToolCallLocation]:
    """Return the files that a call reads or changes, absolute, with the first line that it concerns."""
    row = row_of(part.tool)
    if part.state.status == "pending" or not (row.is_by_path or row.argument == "patch"):
        return []
    found = [
        ToolCallLocation(path=absolute(one.path, root), line=one.line or None) for one in references_of_call(part, "")
    ]
    path = part.state.input.get("path")
    if not found and isinstance(path, str) and path:
        found = [ToolCallLocation(path=absolute(path, root))]
    return found


def absolute(path: str, root: str) -> str:
    """Return a path of a call absolute; relative ones are below the folder of the session."""
    return os.path.normpath(os.path.join(root, os.path.expanduser(path)))


def text_content(text: str) -> ContentToolCallContent:
    """Return a text as the content of a call."""
    return ContentToolCallContent(type="content", content=TextContentBlock(type="text", text=text))


def running_content(part: ToolPart) -> Sequence[Content]:
    """Return the end of what a running command has printed so far."""
    metadata: JsonObject = getattr(part.state, "metadata", None) or {}
    output = metadata.get("output")
    return [text_content(output[-SHOWN_OUTPUT:])] if isinstance(output, str) and output else []


def completed_content(part: ToolPart, state: ToolStateCompleted, root: str) -> list[Content]:
    """Return the output of a call, its images, and a diff for each file that it changed."""
    content: list[Content] = [text_content(state.output)] if state.output else []
    for attachment in state.attachments or []:
        if image := image_block(str(attachment.get("mime") or ""), str(attachment.get("url") or "")):
            content.append(ContentToolCallContent(type="content", content=image))
    return [*content, *_diffs(part, state.metadata, root)]


def image_block(mime: str, url: str) -> ImageContentBlock | None:
    """Return an image of a data URL; None for any other attachment."""
    head, comma, data = url.partition(";base64,")
    if not comma or not head.startswith("data:image/"):
        return None
    return ImageContentBlock(type="image", mime_type=mime or head.removeprefix("data:"), data=data)


def failed_content(part: ToolPart, state: ToolStateError, root: str) -> list[Content]:
    """Return why a call failed."""
    return [text_content(failure_text(part, state, root))]


def raw_output(state: ToolStateCompleted) -> JsonObject:
    """Return the output and the facts of a call that are not in its content."""
    metadata = {name: value for name, value in state.metadata.items() if name not in _SENT_ELSEWHERE}
    return {"output": state.output, "metadata": metadata}


def proposed_diffs(part: ToolPart, metadata: JsonObject, root: str) -> list[FileEditToolCallContent]:
    """Return what an edit would change, for a permission request: from its input, or from the files of a patch."""
    row, given = row_of(part.tool), part.state.input
    if row.result == "patch":
        return _patch_diffs(metadata)
    path = given.get("filePath")
    if not isinstance(path, str) or not row.shows_changes:
        return []
    edits = given.get("edits")
    listed = cast("list[object]", edits) if isinstance(edits, list) else [given]
    rows = [cast(JsonObject, one) for one in listed if isinstance(one, dict)]
    pairs: list[tuple[object, object]] = [(one.get("oldString"), one.get("newString")) for one in rows]
    if row.result == "file":
        pairs = [(None, given.get("content"))]
    return [_diff(absolute(path, root), old, new) for old, new in pairs if isinstance(new, str)]


def _diffs(part: ToolPart, metadata: JsonObject, root: str) -> list[FileEditToolCallContent]:
    """Return the changes of a completed edit; those of texts that were too large to be kept come from its input."""
    row = row_of(part.tool)
    if not row.shows_changes:
        return []
    if row.result == "patch":
        return _patch_diffs(metadata)
    change = metadata.get("filediff")
    if not isinstance(change, dict):
        return []
    facts = cast(JsonObject, change)
    before, after, path = (facts.get(name) for name in ("before", "after", "file"))
    if not isinstance(path, str) or not (before or after):
        return proposed_diffs(part, metadata, root)
    is_new = metadata.get("exists") is False
    return [_diff(absolute(path, root), None if is_new else before, after)]


def _patch_diffs(metadata: JsonObject) -> list[FileEditToolCallContent]:
    files = metadata.get("files")
    listed = cast("list[object]", files) if isinstance(files, list) else []
    rows = [cast(JsonObject, one) for one in listed if isinstance(one, dict)]
    return [
        _diff(
            str(one.get("movePath") or one.get("filePath") or ""),
            None if one.get("type") == "add" else one.get("before"),
            one.get("after"),
        )
        for one in rows
    ]


def _diff(path: str, old: object, new: object) -> FileEditToolCallContent:
    return FileEditToolCallContent(
        type="diff", path=path, old_text=old if isinstance(old, str) else None, new_text=str(new or "")
    )
