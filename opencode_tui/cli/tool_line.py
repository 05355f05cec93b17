"""A tool call in one line: state, name, subject, facts at the right edge. Source: design, visual, sections 2 and 6."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

from opencode_tui.cli.cells import clip, clip_front, pad, width
from opencode_tui.cli.style import Style, Token
from opencode_tui.cli.tool_body import tool_body
from opencode_tui.cli.tool_facts import Fact, facts_of, is_bad_exit
from opencode_tui.schema.part import ToolPart
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.tool_state import ToolStateCompleted, ToolStateError, ToolStateUnion
from opencode_tui.schema.value import immutable
from opencode_tui.tui.safe_text import make_safe

_NAMES = {
    "apply_patch": "Patch",
    "multiedit": "Edit",
    "webfetch": "Fetch",
    "todowrite": "Todo",
    "todoread": "Todo",
    "question": "Ask",
}
_KNOWN = frozenset({"read", "write", "edit", "bash", "grep", "glob", "list", "task", "skill", "recall"})
_VERBS = {
    "read": "Reading",
    "write": "Writing",
    "edit": "Editing",
    "multiedit": "Editing",
    "bash": "Running",
    "grep": "Searching for",
    "glob": "Looking for",
    "list": "Listing",
    "webfetch": "Fetching",
}
_BY_PATH = frozenset({"read", "write", "edit", "multiedit", "list"})
_SUBJECTS = ("filePath", "command", "pattern", "path", "url", "description", "name")
_INTERRUPTED = "Tool execution aborted"
"""The text of an interrupted call. Source: reference, section 10."""

_NAME_WIDTH = 6
_SUBJECT_AT = 9
_GAP = 2
_MIN_SUBJECT = 16
_LONG_SUBJECT = 200
_MAX_NAME = 24


@immutable
class _Look:
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
    """Return the line of a call and what stands below it, safe and no wider than the terminal."""
    look, facts = _appearance(part)
    body = [] if look is _STOPPED else tool_body(part, style)
    return [_line(part, look, facts, style), *body]


def activity_of(part: ToolPart) -> str:
    """Return what a running call does, as `Running pytest -q`; safe."""
    verb = _VERBS.get(part.tool)
    return f"{verb} {_subject(part)}".rstrip() if verb else f"Running {_name(part.tool)} {_subject(part)}".rstrip()


def described(part: ToolPart) -> str:
    """Return the call as `Bash: pytest -q`; safe."""
    return f"{_name(part.tool)}: {_subject(part)}"


def _appearance(part: ToolPart) -> tuple[_Look, list[Fact]]:
    state = part.state
    if isinstance(state, ToolStateCompleted):
        return _BAD_EXIT if is_bad_exit(state) else _DONE, facts_of(part.tool, state)
    if isinstance(state, ToolStateError):
        if state.error.startswith(_INTERRUPTED):
            return _STOPPED, [Fact("interrupted by you", short="interrupted")]
        return _FAILED, [Fact("failed", "error", short="failed")]
    return _UNFINISHED, [Fact("unfinished", short="unfinished")]


def _line(part: ToolPart, look: _Look, facts: Sequence[Fact], style: Style) -> str:
    columns = style.width()
    name = clip(_name(part.tool), min(_MAX_NAME, (columns or 100) // 2), style.words("…"))
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
    """Return the facts that fit beside the subject, and the subject cut to what they leave.

    Words of counts go first, then the time, then the counts.
    """
    subject, mark = style.words(_subject(part)), style.words("…")
    if room is None:
        return facts, clip(subject, _LONG_SUBJECT, mark)
    wanted = min(width(subject), _MIN_SUBJECT)
    shown = next((some for some in _shorter_and_shorter(facts) if room - _taken(some) >= wanted), ())
    cut = clip_front if part.tool in _BY_PATH else clip
    return shown, cut(subject, max(1, room - _taken(shown)), mark)


def _shorter_and_shorter(facts: Sequence[Fact]) -> Iterator[Sequence[Fact]]:
    yield facts
    short = [fact if fact.is_time else replace(fact, text=fact.short) for fact in facts if fact.is_time or fact.short]
    yield short
    yield [fact for fact in short if not fact.is_time]


def _taken(facts: Sequence[Fact]) -> int:
    return _width(facts) + _GAP if facts else 0


def _width(facts: Sequence[Fact]) -> int:
    return sum(len(before) + width(fact.text) for before, fact in _separated(facts))


def _join(facts: Sequence[Fact], style: Style) -> str:
    return "".join(before + style.paint(style.words(fact.text), fact.token) for before, fact in _separated(facts))


def _separated(facts: Sequence[Fact]) -> Iterator[tuple[str, Fact]]:
    """Yield each fact with what stands before it: the time keeps its distance."""
    for number, fact in enumerate(facts):
        yield "" if not number else "  " if fact.is_time else " ", fact


def _name(tool: str) -> str:
    return _NAMES.get(tool) or (tool.capitalize() if tool in _KNOWN else make_safe(tool))


def _subject(part: ToolPart) -> str:
    """Return what the call is about, in one safe line: a path, a command, a pattern."""
    state = part.state
    title = getattr(state, "title", None) or ""
    if part.tool in _BY_PATH:
        return make_safe(title or _relative(str(state.input.get("filePath") or state.input.get("path") or ".")))
    if part.tool == "apply_patch":
        return _patched(state)
    if part.tool == "task":
        agent = str(state.input.get("subagent_type") or "")
        text = str(state.input.get("description") or "")
        return make_safe(f"{agent}: {text}" if agent else text)
    if part.tool in ("grep", "glob"):
        path = state.input.get("path")
        return make_safe(str(state.input.get("pattern") or "")) + (
            make_safe(f" in {_relative(str(path))}") if path else ""
        )
    given = (state.input.get(key) for key in _SUBJECTS)
    return _first_line(next((text for text in given if isinstance(text, str) and text.strip()), ""))


def _patched(state: ToolStateUnion) -> str:
    if not isinstance(state, ToolStateCompleted):
        return ""
    files: list[object] = state.metadata.get("files") or []
    names = [str(cast(JsonObject, file).get("relativePath", "")) for file in files if isinstance(file, dict)]
    return make_safe(", ".join(names) or state.title)


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return make_safe(lines[0].expandtabs(1)) + (" …" if len(lines) > 1 else "") if lines else ""


def _relative(path: str) -> str:
    """Return a path below the current folder relative to it, any other as it is."""
    here = os.getcwd()
    return os.path.relpath(path, here) if path == here or path.startswith(here.rstrip("/") + "/") else path
