"""A tool call in one line: state, name, subject, facts at the right edge. Source: design, visual, sections 2 and 6."""

import os
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.cli.cells import clip, clip_front, pad, width
from opencode_tui.cli.style import Style, Token
from opencode_tui.cli.tool_body import tool_body
from opencode_tui.cli.tool_facts import Fact, facts_of, is_bad_exit
from opencode_tui.schema.part import ToolPart
from opencode_tui.schema.tool_state import ToolStateCompleted, ToolStateError
from opencode_tui.tui.tool_words import BY_PATH, REFUSED, argument_of, name_of
from opencode_tui.tui.tool_words import activity_of as activity_words

_NAME_WIDTH = 6
_SUBJECT_AT = 9
_GAP = 2
_MIN_SUBJECT = 16
_LONG_SUBJECT = 200
_MAX_NAME = 24


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
    """Return the line of a call and what stands below it, safe and no wider than the terminal."""
    look, facts = _appearance(part)
    body = [] if look is _STOPPED else tool_body(part, style)
    return [_line(part, look, facts, style), *body]


def activity_of(part: ToolPart) -> str:
    """Return what a running call does, as `Running pytest -q`; safe."""
    return activity_words(part, os.getcwd())


def described(part: ToolPart) -> str:
    """Return the call as `Bash: pytest -q`; safe."""
    return f"{name_of(part.tool)}: {_subject(part)}"


def _appearance(part: ToolPart) -> tuple[_Look, list[Fact]]:
    state = part.state
    if isinstance(state, ToolStateCompleted):
        return _BAD_EXIT if is_bad_exit(state) else _DONE, facts_of(part.tool, state)
    if isinstance(state, ToolStateError):
        if state.stop_reason == "interrupted":
            return _STOPPED, [Fact("interrupted by you", short="interrupted")]
        told = REFUSED.get(state.stop_reason or "", "failed")
        return _FAILED, [Fact(told, "error", short=told.split()[0])]
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
    """Return the facts that fit beside the subject, and the subject cut to what they leave.

    Words of counts go first, then the time, then the counts.
    """
    subject, mark = style.words(_subject(part)), style.words("…")
    if room is None:
        return facts, clip(subject, _LONG_SUBJECT, mark)
    wanted = min(width(subject), _MIN_SUBJECT)
    shown = next((some for some in _shorter_and_shorter(facts) if room - _taken(some) >= wanted), ())
    cut = clip_front if part.tool in BY_PATH else clip
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


def _subject(part: ToolPart) -> str:
    """Return what the call is about; paths below the current folder are told from there."""
    return argument_of(part, os.getcwd())
