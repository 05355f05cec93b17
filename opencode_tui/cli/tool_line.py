"""A tool call for a terminal: one line, then a diff, the end of a failed command's output, an error, or a todo list."""

import os
from collections.abc import Sequence

from msgspec import Struct

from opencode_tui.cli.diff_view import render_diff
from opencode_tui.cli.style import Style, Token
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from opencode_tui.schema.tools import row_of
from opencode_tui.text import tool as words
from opencode_tui.text.cells import clip, pad, width, wrap
from opencode_tui.text.safe_text import make_safe, output_line
from opencode_tui.text.tool import (
    Fact,
    ResultRow,
    argument_of,
    facts_of,
    failure_facts,
    failure_text,
    fit_line,
    is_bad_exit,
    name_of,
    refusal_text,
    result_rows,
    separated,
    time_facts,
)

_NAME_WIDTH = 6
_SUBJECT_AT = 9
_GAP = 2
_LONG_SUBJECT = 200
_MAX_NAME = 24
_SEPARATOR = " "
_DIFF_LINES = 12
_ROWS = 12
_ERROR_LINES = 6
_OUTPUT_LINES = 3
_BODY_AT = 9
_TODO_SIGNS: dict[str, tuple[str, Token]] = {
    "completed": ("✓", "success"),
    "in_progress": ("●", "accent"),
    "cancelled": ("■", "muted"),
}


class _Look(Struct, frozen=True):
    sign: str
    sign_token: Token
    name_tokens: tuple[Token, ...]
    subject_tokens: tuple[Token, ...] = ()


_DONE = _Look("✓", "success", ("muted",))
_BAD_EXIT = _Look("✗", "warning", ("muted",))
_FAILED = _Look("✗", "error", ("error", "bold"))
_STOPPED = _Look("■", "muted", ("muted",), ("muted",))
_UNFINISHED = _Look("○", "muted", ("muted",), ("muted",))


def tool_lines(part: ToolPart, style: Style) -> list[str]:
    """Return the line of a call and its body, safe and no wider than the terminal."""
    look, facts = _appearance(part)
    is_explained = look is not _STOPPED or (
        isinstance(part.state, ToolStateError) and part.state.stop_reason == "denied"
    )
    body = _body(part, style) if is_explained else []
    return [_line(part, look, facts, style), *body]


def activity_of(part: ToolPart) -> str:
    """Return the activity of a running call, as `Running pytest -q`; safe."""
    return words.activity_of(part, os.getcwd())


def describe_call(part: ToolPart) -> str:
    """Return the call as `Bash: pytest -q`; safe."""
    return f"{name_of(part.tool)}: {_subject(part)}"


def _appearance(part: ToolPart) -> tuple[_Look, list[Fact]]:
    state = part.state
    if isinstance(state, ToolStateCompleted):
        facts = [*facts_of(part.tool, state), *time_facts(state.time)]
        return _BAD_EXIT if is_bad_exit(state) else _DONE, facts
    if isinstance(state, ToolStateError):
        return _STOPPED if state.stop_reason else _FAILED, failure_facts(state)
    return _UNFINISHED, [Fact("unfinished", short="unfinished")]


def _line(part: ToolPart, look: _Look, facts: Sequence[Fact], style: Style) -> str:
    columns = style.width()
    name = clip(name_of(part.tool), min(_MAX_NAME, (columns or 100) // 2), style.words("…"))
    room = None if columns is None else columns - max(_SUBJECT_AT, width(name) + 3)
    shown, subject = _arrange(part, facts, room, style)
    line = f"{style.paint(style.words(look.sign), look.sign_token)} {style.paint(pad(name, _NAME_WIDTH), *look.name_tokens)}"
    if subject or shown:
        line += f" {style.paint(subject, *look.subject_tokens)}"
    if not shown:
        return line.rstrip()
    gap = _GAP if room is None else max(_GAP, room - width(subject) - _width(shown))
    return line + " " * gap + _join(shown, style)


def _arrange(part: ToolPart, facts: Sequence[Fact], room: int | None, style: Style) -> tuple[Sequence[Fact], str]:
    subject, mark = style.words(_subject(part)), style.words("…")
    if room is None:
        return facts, clip(subject, _LONG_SUBJECT, mark)
    return fit_line(facts, subject, room, is_path=row_of(part.tool).is_by_path, mark=mark, separator=_SEPARATOR)


def _width(facts: Sequence[Fact]) -> int:
    return sum(len(before) + width(fact.text) for before, fact in separated(facts, _SEPARATOR))


def _join(facts: Sequence[Fact], style: Style) -> str:
    parts = separated(facts, _SEPARATOR)
    return "".join(before + style.paint(style.words(fact.text), fact.token) for before, fact in parts)


def _subject(part: ToolPart) -> str:
    """Return the main argument of a call; paths in the current folder are relative to it."""
    return argument_of(part, os.getcwd())


def _body(part: ToolPart, style: Style) -> list[str]:
    """Return the body lines, safe and no wider than the terminal; most calls have none."""
    state = part.state
    if isinstance(state, ToolStateError):
        return _guarded(_error_lines(failure_text(part, state, os.getcwd()), style), "error", style)
    if not isinstance(state, ToolStateCompleted):
        return []
    if is_bad_exit(state):
        why = _error_lines(refusal_text(state), style)
        return _guarded([*_last_lines(str(state.metadata.get("output") or ""), style), *why], "warning", style)
    row = row_of(part.tool)
    if row.result in ("diff", "patch"):
        return render_diff(str(state.metadata.get("diff") or ""), style, limit=_DIFF_LINES)
    return _row_lines(result_rows(part.tool, state.metadata), style) if row.result in ("todos", "rows") else []


def _error_lines(text: str, style: Style) -> list[str]:
    room = _room(style)
    lines = [make_safe(line.expandtabs(4)) for line in text.strip().splitlines()]
    if room is not None:
        lines = [piece for line in lines for piece in wrap(line, room)]
    if len(lines) > _ERROR_LINES:
        lines = [*lines[: _ERROR_LINES - 1], style.words(f"… {len(lines) - _ERROR_LINES + 1} lines")]
    return lines


def _last_lines(output: str, style: Style) -> list[str]:
    lines = [output_line(line) for line in output.strip("\r\n").replace("\r\n", "\n").split("\n")]
    shown = lines if any(lines) else []
    if len(shown) > _OUTPUT_LINES + 1:  # omitting a single line would save nothing
        shown = [style.words(f"… {len(lines) - _OUTPUT_LINES} lines"), *lines[-_OUTPUT_LINES:]]
    return [clip(line, _room(style) or 200, style.words("›")) for line in shown]


def _row_lines(rows: Sequence[ResultRow], style: Style) -> list[str]:
    lines: list[str] = []
    for row in rows[:_ROWS]:
        sign, token = _TODO_SIGNS.get(row.status, ("○", "muted"))
        mark = f"{style.paint(style.words(sign), token)} " if row.status else ""
        words = f"{row.text}  {row.detail}" if row.detail else row.text
        content = clip(make_safe(words), (_room(style) or 200) - 2, style.words("…"))
        text = style.paint(content, "bold") if row.status == "in_progress" else style.paint(content, "muted")
        lines.append(f"{' ' * _BODY_AT}{mark}{text}")
    if len(rows) > _ROWS:
        lines.append(style.paint(" " * _BODY_AT + style.words(f"… {len(rows) - _ROWS} more"), "muted"))
    return lines


def _guarded(lines: list[str], token: Token, style: Style) -> list[str]:
    guide = style.paint(style.words("│"), token)
    return [f"{' ' * (_BODY_AT - 2)}{guide} {line}".rstrip() for line in lines]


def _room(style: Style) -> int | None:
    columns = style.width()
    return None if columns is None else columns - _BODY_AT
