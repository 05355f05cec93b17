"""One line for a tool call: state, name, subject, facts. Source: design, visual, section 6."""

import shutil
from collections.abc import Callable
from typing import Any

from opencode_tui.cli.style import Token, glyph, style
from opencode_tui.cli.terminal import make_safe
from opencode_tui.schema.part import ToolPart
from opencode_tui.schema.tool_state import ToolStateCompleted, ToolStateError, ToolStateRunning

_NAMES = {
    "read": "Read",
    "write": "Write",
    "edit": "Edit",
    "multiedit": "Edit",
    "apply_patch": "Patch",
    "bash": "Bash",
    "grep": "Grep",
    "glob": "Glob",
    "list": "List",
    "webfetch": "Fetch",
    "task": "Task",
    "todowrite": "Todo",
    "todoread": "Todo",
    "skill": "Skill",
    "question": "Ask",
    "recall": "Recall",
}
_SUBJECTS = ("filePath", "command", "pattern", "path", "url", "description", "name")
_NAME_WIDTH = 6


Paint = Callable[[str, Token], str]
"""Gives a text its colour: `style` for stderr, `plain` for what goes to a file or a pipe."""


def plain(text: str, _token: Token) -> str:
    """Return the text as it is."""
    return text


def tool_line(part: ToolPart, *, running: bool = False, paint: Paint = style) -> str:
    """Return the line, safe and no wider than the terminal; a failed call has its reason below it."""
    state = part.state
    name = _NAMES.get(part.tool, make_safe(part.tool)).ljust(_NAME_WIDTH)
    facts = "" if running else _facts(part)
    subject = _fit(_subject(part), facts)
    if running or isinstance(state, ToolStateRunning):
        return f"{paint(name, 'bold')} {subject}"
    if isinstance(state, ToolStateError):
        reason = make_safe(state.error.strip().splitlines()[0] if state.error.strip() else "failed")
        return f"{paint(glyph('✗', 'x'), 'error')} {paint(name, 'error')} {subject}\n    {paint(reason, 'muted')}"
    bad_exit = isinstance(state, ToolStateCompleted) and bool(state.metadata.get("exit"))
    sign = paint(glyph("✗", "x"), "warning") if bad_exit else paint(glyph("✓", "v"), "success")
    return f"{sign} {paint(name, 'muted')} {subject}{paint('  ' + facts, 'muted') if facts else ''}"


def _subject(part: ToolPart) -> str:
    given = part.state.input
    for key in _SUBJECTS:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            return make_safe(value.strip().splitlines()[0])
    title = getattr(part.state, "title", None)
    return make_safe(title) if title else ""


def _facts(part: ToolPart) -> str:
    state = part.state
    if not isinstance(state, ToolStateCompleted):
        return ""
    data: dict[str, Any] = state.metadata
    facts: list[str] = []
    change = data.get("filediff")
    if isinstance(change, dict):
        facts.append(f"+{change.get('additions', 0)} −{change.get('deletions', 0)}")  # pyright: ignore[reportUnknownMemberType] - JSON
    for key, word in (("exit", "exit"), ("matches", ""), ("count", "")):
        value = data.get(key)
        if isinstance(value, int) and (value or key != "exit"):
            facts.append(f"{word} {value}".strip() if word else f"{value} {'matches' if key == 'matches' else 'files'}")
    seconds = ((state.time.end or state.time.start) - state.time.start) / 1000
    if seconds >= 1:
        facts.append(f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s")
    return "  ".join(facts)


def _fit(subject: str, facts: str) -> str:
    room = max(20, shutil.get_terminal_size((100, 24)).columns - _NAME_WIDTH - len(facts) - 8)
    return subject if len(subject) <= room else subject[: room - 1] + "…"
