"""One part of a message as HTML: text, reasoning, a call with what it changed, an attachment."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.part import (
    AgentPart,
    AnyPart,
    CompactionPart,
    FilePart,
    ReasoningPart,
    RetryPart,
    SubtaskPart,
    TextPart,
    ToolPart,
)
from opencode_tui.schema.session.tool_state import (
    ToolStateCompleted,
    ToolStateError,
    ToolStateRunning,
)
from opencode_tui.schema.tools import ToolRow, row_of
from opencode_tui.text.diff_rows import DiffRow, read_diff
from opencode_tui.text.export.markup import Budget, attribute, code_html, code_lines, escape, markdown_html
from opencode_tui.text.quantity import brief_duration
from opencode_tui.text.tool import ResultRow, argument_of, facts_of, failure_text, is_bad_exit, name_of, result_rows

_PICTURE = re.compile(r"data:image/(?:png|jpe?g|gif|webp|avif|bmp);base64,[A-Za-z0-9+/=\s]+")
_MARKS = {"completed": "✓", "in_progress": "◐", "cancelled": "✕"}
_MAX_ROWS = 2_000
_NUMBERED = re.compile(r"(?m)^\s*\d+[:|] ?")


def part_html(part: AnyPart, *, is_user: bool, root: str, budget: Budget) -> str:
    """Return a part as HTML, empty for one that readers do not need. `root`: paths below it are relative to it."""
    try:
        return _part(part, is_user=is_user, root=root, budget=budget)
    except (
        TypeError,
        ValueError,
        KeyError,
        IndexError,
        AttributeError,
        RecursionError,
    ):  # foreign data of another shape
        return f"<p class=x>A part of kind {escape(part.type)} cannot be shown.</p>"


def _part(part: AnyPart, *, is_user: bool, root: str, budget: Budget) -> str:
    match part:
        case TextPart() if part.text.strip() and not part.synthetic:
            return f"<div class=t>{escape(part.text.strip())}</div>" if is_user else markdown_html(part.text, budget)
        case ReasoningPart() if part.text.strip():
            return f"<details class=r><summary>Thinking</summary>{markdown_html(part.text, budget)}</details>"
        case FilePart():
            return _attachment(part.mime, part.url, part.filename or "")
        case ToolPart():
            return _tool(part, root, budget)
        case AgentPart():
            return f"<span class=h>@{escape(part.name)}</span>"
        case SubtaskPart():
            return f"<p class=n>Task for {escape(part.agent)}: {escape(part.description)}</p>"
        case RetryPart():
            return f"<p class=n>Tried again ({part.attempt}): {escape(part.error.data.message)}</p>"
        case CompactionPart():
            return "<p class=n>Older messages were replaced by a summary.</p>"
        case _:
            return ""


def _attachment(mime: str, url: str, name: str) -> str:
    if _PICTURE.fullmatch(url):
        return f'<img src="{attribute(url)}" alt="{attribute(name or mime)}">'
    return f"<span class=h>{escape(name or mime)}</span>"


def _tool(part: ToolPart, root: str, budget: Budget) -> str:
    state = part.state
    body = "".join(_body(part, budget))
    status, facts = _status(part, root)
    head = f"<b>{escape(name_of(part.tool))}</b> <span>{escape(argument_of(part, root))}</span>{facts}"
    pictures = ""
    if isinstance(state, ToolStateCompleted):
        pictures = "".join(
            _attachment(str(one.get("mime", "")), str(one.get("url", "")), str(one.get("filename") or ""))
            for one in state.attachments or []
        )
    if not body:
        return f"<p class='d {status}'>{head}</p>{pictures}"
    is_open = " open" if status == "e" else ""
    return f"<details class='d {status}'{is_open}><summary>{head}</summary>{body}</details>{pictures}"


def _status(part: ToolPart, root: str) -> tuple[str, str]:
    """Return the class of a call's state and its facts as HTML."""
    match part.state:
        case ToolStateCompleted():
            words = [fact.text for fact in facts_of(part.tool, part.state)]
            seconds = part.state.time.worked(part.state.time.start) / 1000
            if seconds >= 1:
                words.append(brief_duration(seconds))
            return "e" if is_bad_exit(part.state) else "o", f" <em>{escape(' · '.join(words))}</em>" if words else ""
        case ToolStateError():
            return "e", f" <em>{escape(failure_text(part, part.state, root)[:200])}</em>"
        case _:
            return "u", " <em>running …</em>"


def _body(part: ToolPart, budget: Budget) -> Iterator[str]:
    """Yield what a call was given and what came of it."""
    state = part.state
    given = state.input
    metadata = (None if state.status == "pending" else state.metadata) or {}
    diffs = list(_diffs(part.tool, metadata))
    for name, diff in diffs:
        yield _diff(diff, name, budget)
    row = row_of(part.tool)
    match row.result:
        case "command":
            yield f"<pre class=p>{code_html('$ ' + str(given.get('command', '')), budget, language='console')}</pre>"
        case "file" if not diffs and isinstance(given.get("content"), str):
            yield f"<pre>{code_html(given['content'], budget, path=str(given.get('filePath', '')))}</pre>"
        case "todos":
            yield _rows(result_rows(part.tool, metadata) or result_rows(part.tool, given))
        case "rows":
            yield from _given(row, given, budget)
            yield _rows(result_rows(part.tool, metadata))
        case "agent":
            yield f"<div class=t>{escape(str(given.get('prompt', '')))}</div>"
        case "patch" if not diffs:
            yield f"<pre>{code_html(str(given.get('patchText', '')), budget, language='diff')}</pre>"
        case _:
            yield from _given(row, given, budget)
    yield from _result(part, budget, is_shown=bool(diffs) or row.result in ("todos", "kept_todos", "rows"))


def _given(row: ToolRow, given: JsonObject, budget: Budget) -> Iterator[str]:
    """Yield the arguments of a call, unless the one that it is about says all that matters of them."""
    if given and not row.is_summed_up:
        yield f"<pre>{code_html(json.dumps(given, indent=2, ensure_ascii=False), budget, language='json')}</pre>"


def _result(part: ToolPart, budget: Budget, *, is_shown: bool) -> Iterator[str]:
    """Yield the output of a call, unless what it is about `is_shown` already; of a failed one the error."""
    state = part.state
    match state:
        case ToolStateError():
            yield f"<pre class=x>{escape(state.error)}</pre>"
        case ToolStateCompleted() if state.output.strip() and not is_shown:
            result = row_of(part.tool).result
            if result == "agent":
                yield markdown_html(state.output, budget)
            elif result == "text":
                yield f"<pre>{_file_text(state.output, str(state.input.get('filePath', '')), budget)}</pre>"
            else:
                yield f"<pre>{escape(state.output.strip(chr(10)))}</pre>"
        case ToolStateRunning():
            output = (state.metadata or {}).get("output")
            if isinstance(output, str) and output.strip():
                yield f"<pre>{escape(output)}</pre>"
        case _:
            pass


def _file_text(output: str, path: str, budget: Budget) -> str:
    """Return what a read returned, in colors, with its line numbers."""
    start, end = output.find("<content>\n"), output.rfind("\n</content>")
    text = output[start + 10 : end] if 0 <= start < end else output
    lines = text.split("\n")
    numbers = [match[0] if (match := _NUMBERED.match(line)) else "" for line in lines]
    if not any(numbers):
        return escape(text)
    colored = code_lines([line[len(number) :] for line, number in zip(lines, numbers, strict=True)], budget, path)
    return "\n".join(escape(number) + line for number, line in zip(numbers, colored, strict=True))


def _diffs(tool: str, metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each change that a call reports."""
    if row_of(tool).result == "patch" and isinstance(metadata.get("files"), list):
        for one in cast("list[Any]", metadata["files"]):
            if isinstance(one, dict):
                entry = cast("JsonObject", one)
                diff = entry.get("diff") or entry.get("patch")
                if isinstance(diff, str) and diff:
                    path = entry.get("relativePath") or entry.get("filePath") or entry.get("file") or ""
                    yield str(path), diff
        return
    diff = metadata.get("diff")
    if isinstance(diff, str) and diff:
        filediff = metadata.get("filediff")
        path = cast("JsonObject", filediff).get("file", "") if isinstance(filediff, dict) else ""
        yield str(path), diff


def _diff(diff: str, path: str, budget: Budget) -> str:
    rows = read_diff(diff)
    shown = rows[:_MAX_ROWS]
    texts = code_lines([row.text for row in shown], budget, path)
    digits = len(str(max((row.number for row in shown if row.kind != "gap"), default=0)))
    lines = [_row(row, text, digits) for row, text in zip(shown, texts, strict=True)]
    more = f"<s class=g>… {len(rows) - _MAX_ROWS} more lines</s>" if len(rows) > _MAX_ROWS else ""
    return f"<pre class=v>{''.join(lines)}{more}</pre>"


def _row(row: DiffRow, text: str, digits: int) -> str:
    match row.kind:
        case "file":
            return f"<s class=g>{escape(row.text)}</s>"
        case "gap":
            return f"<s class=g>{'⋯'.rjust(digits)}</s>"
        case "+":
            return f"<s class=a>{row.number:>{digits}} + {text}</s>"
        case "-":
            return f"<s class=m>{row.number:>{digits}} - {text}</s>"
        case _:
            return f"<s>{row.number:>{digits}}   {text}</s>"


def _rows(rows: Sequence[ResultRow]) -> str:
    lines = (
        (f"{_MARKS.get(row.status, '○')} " if row.status else "") + row.text + (f"  {row.detail}" if row.detail else "")
        for row in rows
    )
    return f"<pre>{escape(chr(10).join(lines))}</pre>" if rows else ""
