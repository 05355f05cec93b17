"""A permission question as lines: question, object, why, keys.

Source: design, visual, section 2 and the picture `permission-bash`.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.cli.cells import pad, width, wrap
from opencode_tui.cli.diff_view import render_diff
from opencode_tui.cli.permission_reason import Verdict, explain
from opencode_tui.cli.style import Style
from opencode_tui.cli.tool_line import described
from opencode_tui.schema.part import ToolPart
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.tui.permission_words import once_of, subject_of, title_of
from opencode_tui.tui.safe_text import make_safe

_DIFF_LINES = 40


class Question(Struct, frozen=True):
    """What is asked, what the rules say of it, where it is worked, and the call that needs it, as far as it is known."""

    request: PermissionRequest
    verdicts: Sequence[Verdict]
    directory: Path
    call: ToolPart | None = None


def render_question(question: Question, style: Style) -> str:
    """Return the lines, safe, each with its line feed."""
    request = question.request
    lines = [
        f"{style.paint('!', 'warning')} {style.paint(make_safe(title_of(request)), 'bold')}",
        *_object(question, style),
    ]
    lines += render_diff(str(request.metadata.get("diff") or ""), style, limit=_DIFF_LINES)
    if len(question.verdicts) > 1 and request.permission == "bash":
        lines += _verdicts(question.verdicts, style)
    for sentence in _why(question):
        lines += [style.paint(f"  {line}", "muted") for line in wrap(make_safe(sentence), (style.columns() or 80) - 2)]
    return "\n".join([*lines, *render_keys(request, style)]) + "\n"


def _object(question: Question, style: Style) -> list[str]:
    room = (style.columns() or 80) - 4
    pieces = [
        piece
        for line in subject_of(question.request, question.call).strip("\n").split("\n")
        for piece in wrap(make_safe(line.expandtabs(4)), room)
    ]
    return [style.paint(f"    {piece}", "bold") for piece in pieces]


def _verdicts(verdicts: Sequence[Verdict], style: Style) -> list[str]:
    names = [make_safe(verdict.pattern) for verdict in verdicts]
    widest = max(width(name) for name in names)
    lines: list[str] = []
    for verdict, name in zip(verdicts, names, strict=True):
        sign, token, word = ("✓", "success", "allowed") if verdict.is_allowed else ("!", "warning", "asks   ")
        reason = style.paint(make_safe(verdict.reason), "muted")
        lines.append(
            f"  {style.paint(style.words(sign), token)} {pad(name, widest)}  {style.paint(word, token)}  {reason}"
        )
    return lines


def _why(question: Question) -> list[str]:
    sentences = [" ".join(explain(question.request, question.verdicts, question.directory))]
    if question.call is not None and question.request.permission not in ("bash", "edit"):
        sentences.append(f"Needed by {described(question.call)}")
    return sentences


def render_keys(request: PermissionRequest, style: Style) -> list[str]:
    """Return the keys that answer a question, with what each does."""
    yes, no = ("y", once_of(request)), ("n", "reject, with a word to the agent")
    patterns = [make_safe(pattern) for pattern in request.always]
    keys = [yes, ("a", f"always, for {', '.join(patterns)}"), no] if patterns else [yes, no]
    if not patterns or width("   ".join(f"{key} {text}" for key, text in keys)) <= (style.columns() or 80) - 2:
        return [_key_row(keys, style)]
    room = (style.columns() or 80) - 6
    listed = [style.paint(f"      {piece}", "muted") for pattern in patterns for piece in wrap(pattern, room)]
    return [_key_row([yes], style), _key_row([("a", "always, for")], style), *listed, _key_row([no], style)]


def _key_row(keys: Sequence[tuple[str, str]], style: Style) -> str:
    return "  " + "   ".join(f"{style.paint(key, 'accent', 'bold')} {text}" for key, text in keys)
