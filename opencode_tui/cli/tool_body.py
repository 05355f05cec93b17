"""What stands below a tool line: the diff of an edit, the end of a failed command's output, an error, a todo list."""

import re

from opencode_tui.cli.cells import clip, wrap
from opencode_tui.cli.diff_view import render_diff
from opencode_tui.cli.style import Style, Token
from opencode_tui.cli.tool_facts import is_bad_exit
from opencode_tui.schema.part import ToolPart
from opencode_tui.schema.tool_state import ToolStateCompleted, ToolStateError
from opencode_tui.tui.safe_text import make_safe
from opencode_tui.tui.tool_facts import todos_of
from opencode_tui.tui.tool_words import error_of

_DIFF_LINES = 12
_TODO_LINES = 12
_ERROR_LINES = 6
_OUTPUT_LINES = 3
_BODY_AT = 9
_SEQUENCES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_EDITS = ("edit", "multiedit", "apply_patch")
_TODO_SIGNS: dict[str, tuple[str, Token]] = {
    "completed": ("✓", "success"),
    "in_progress": ("●", "accent"),
    "cancelled": ("■", "muted"),
}


def tool_body(part: ToolPart, style: Style) -> list[str]:
    """Return the lines, safe and no wider than the terminal; most calls have none."""
    state = part.state
    if isinstance(state, ToolStateError):
        return _guarded(_error_lines(error_of(state), style), "error", style)
    if not isinstance(state, ToolStateCompleted):
        return []
    if is_bad_exit(state):
        return _guarded(_last_lines(str(state.metadata.get("output") or ""), style), "warning", style)
    if part.tool in _EDITS:
        return render_diff(str(state.metadata.get("diff") or ""), style, limit=_DIFF_LINES)
    return _todo_lines(state, style) if part.tool == "todowrite" else []


def clean_output(text: str) -> list[str]:
    """Return a command's output as lines that are safe to show: no sequences, of a line drawn anew only its last form."""
    lines = _SEQUENCES.sub("", text).replace("\r\n", "\n").split("\n")
    return [make_safe(line.rstrip("\r").rpartition("\r")[2].expandtabs(4).rstrip()) for line in lines]


def _error_lines(text: str, style: Style) -> list[str]:
    room = _room(style)
    lines = [make_safe(line.expandtabs(4)) for line in text.strip().splitlines()] or ["failed, without a reason"]
    if room is not None:
        lines = [piece for line in lines for piece in wrap(line, room)]
    if len(lines) > _ERROR_LINES:
        lines = [*lines[: _ERROR_LINES - 1], style.words(f"… {len(lines) - _ERROR_LINES + 1} lines")]
    return lines


def _last_lines(output: str, style: Style) -> list[str]:
    lines = clean_output(output.strip("\r\n"))
    shown = lines if any(lines) else []
    if len(shown) > _OUTPUT_LINES + 1:  # a line that counts one line would take its place
        shown = [style.words(f"… {len(lines) - _OUTPUT_LINES} lines"), *lines[-_OUTPUT_LINES:]]
    return [clip(line, _room(style) or 200, style.words("›")) for line in shown]


def _todo_lines(state: ToolStateCompleted, style: Style) -> list[str]:
    items = todos_of(state.metadata)
    lines: list[str] = []
    for item in items[:_TODO_LINES]:
        status = str(item.get("status"))
        sign, token = _TODO_SIGNS.get(status, ("○", "muted"))
        content = clip(make_safe(str(item.get("content", ""))), (_room(style) or 200) - 2, style.words("…"))
        text = style.paint(content, "bold") if status == "in_progress" else style.paint(content, "muted")
        lines.append(f"{' ' * _BODY_AT}{style.paint(style.words(sign), token)} {text}")
    if len(items) > _TODO_LINES:
        lines.append(style.paint(" " * _BODY_AT + style.words(f"… {len(items) - _TODO_LINES} more"), "muted"))
    return lines


def _guarded(lines: list[str], token: Token, style: Style) -> list[str]:
    guide = style.paint(style.words("│"), token)
    return [f"{' ' * (_BODY_AT - 2)}{guide} {line}".rstrip() for line in lines]


def _room(style: Style) -> int | None:
    columns = style.width()
    return None if columns is None else columns - _BODY_AT
