"""What an undo does or did, as lines for a person. Source: design, visual, section 8 and the picture of the preview."""

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from opencode_tui.cli.cells import pad, width
from opencode_tui.cli.style import Style, Token
from opencode_tui.schema.undo import UndoFile, UndoFiles, UndoScope
from opencode_tui.tui.quantity import plural
from opencode_tui.tui.safe_text import make_safe

_LISTED = 20
"""Files that undo does not cover are listed up to this many: whole folders of ignored files can be among them."""


class _Row(Struct, frozen=True):
    mark: str
    verb: str
    token: Token
    file: UndoFile


def scope_line(scope: UndoScope) -> str:
    """Return `3 messages, 1 of yours`, or what goes of the message that stays."""
    parts = plural(len(scope.parts), "part")
    if scope.part_id is not None and not scope.messages:
        return f"{parts} of the last answer"
    messages = f"{plural(len(scope.messages), 'message')}, {scope.requests} of yours"
    return messages if scope.part_id is None else f"{messages}, and {parts} of the answer before"


def file_lines(files: UndoFiles, folder: Path, style: Style) -> list[str]:
    """Return a line a file: what becomes of it, the change that is taken back, why it is left alone."""
    rows = list(_rows(files))
    names = [make_safe(_name(row.file.path, folder)) for row in rows]
    room = min(max(map(width, names), default=0), 60)
    lines = [_line(row, name, room, style) for row, name in zip(rows, names, strict=True)]
    left = len(files.unprotected) - _LISTED
    if left > 0:
        lines.append(
            style.paint(
                style.words(f"  … {plural(left, 'file')} more that undo does not cover; --format json"), "muted"
            )
        )
    return lines


def _rows(files: UndoFiles) -> Iterator[_Row]:
    groups: Sequence[tuple[str, str, Token, Sequence[UndoFile]]] = (
        (" ", "restored", "success", files.restored),
        (" ", "removed", "success", files.deleted),
        ("!", "kept", "warning", files.kept),
        ("!", "failed", "error", files.failed),
        ("!", "not covered", "warning", files.unprotected[:_LISTED]),
    )
    for mark, verb, token, found in groups:
        yield from (_Row(mark, verb, token, file) for file in found)


def _line(row: _Row, name: str, room: int, style: Style) -> str:
    file = row.file
    mark = style.paint(row.mark, row.token)
    verb = style.paint(pad(row.verb, 11), row.token)
    counts = style.words(" ".join(_counts(file)))
    facts = ", ".join(filter(None, (file.note, _reason(file))))
    why = style.paint(style.words(make_safe(facts)), "muted") if facts else ""
    return f"{mark} {verb} {pad(name, room)}  {pad(counts, 9, is_right=True)}  {why}".rstrip()


def _counts(file: UndoFile) -> Iterator[str]:
    if file.additions:
        yield f"+{file.additions}"
    if file.deletions:
        yield f"−{file.deletions}"


def _reason(file: UndoFile) -> str:
    if file.changed_at is None:
        return file.reason or ""
    return f"{file.reason}, at {datetime.fromtimestamp(file.changed_at / 1000).strftime('%H:%M')}"


def _name(path: str, folder: Path) -> str:
    """Return a path relative to the folder where it is short that way."""
    relative = os.path.relpath(path, folder)
    return path if relative.startswith(f"..{os.sep}..") else relative
