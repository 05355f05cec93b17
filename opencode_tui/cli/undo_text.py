"""What an undo does or did, as lines for the user. Source: design, visual, section 8 and the picture of the preview."""

from collections.abc import Sequence
from pathlib import Path

from opencode_tui.cli.style import Style, Token
from opencode_tui.schema.undo import UndoFiles, UndoScope
from opencode_tui.text.cells import pad, width
from opencode_tui.text.quantity import plural
from opencode_tui.text.undo import Fate, UndoneFile, undone_files

_LISTED = 20
"""Files that undo does not cover are listed up to this many: whole folders of ignored files can be among them."""

_FATES: dict[Fate, tuple[str, Token]] = {
    "restored": (" ", "success"),
    "deleted": (" ", "success"),
    "kept": ("!", "warning"),
    "failed": ("!", "error"),
    "not covered": ("!", "warning"),
}


def scope_line(scope: UndoScope) -> str:
    """Return `3 messages, 1 of yours`, or what is removed of the message that stays."""
    parts = plural(len(scope.parts), "part")
    if scope.part_id is not None and not scope.messages:
        return f"{parts} of the last answer"
    messages = f"{plural(len(scope.messages), 'message')}, {scope.requests} of yours"
    return messages if scope.part_id is None else f"{messages}, and {parts} of the answer before"


def file_lines(files: UndoFiles, folder: Path, style: Style) -> list[str]:
    """Return a line a file: what becomes of it, its changed lines, why it is left alone."""
    rows = undone_files(files, folder)
    uncovered = [row for row in rows if row.fate == "not covered"]
    rows = [row for row in rows if row not in uncovered[_LISTED:]]
    room = min(max((width(row.path) for row in rows), default=0), 60)
    lines = [_line(row, room, style) for row in rows]
    left = len(uncovered) - _LISTED
    if left > 0:
        more = f"  … {plural(left, 'file')} more that undo does not cover; --format json"
        lines.append(style.paint(style.words(more), "muted"))
    return lines


def _line(row: UndoneFile, room: int, style: Style) -> str:
    sign, token = _FATES[row.fate]
    counts = style.words(" ".join(_counts(row)))
    why = style.paint(style.words(row.note), "muted") if row.note else ""
    fate = style.paint(pad(row.fate, 11), token)
    return f"{style.paint(sign, token)} {fate} {pad(row.path, room)}  {pad(counts, 9, is_right=True)}  {why}".rstrip()


def _counts(row: UndoneFile) -> Sequence[str]:
    return [f"{sign}{count}" for sign, count in (("+", row.additions), ("−", row.deletions)) if count]
