"""The work of `session revert|unrevert|diff`."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from opencode_tui.cli.diff_view import render_diff
from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.session_choice import choose_session
from opencode_tui.cli.style import Style, Token, style_of
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.client.client import Client
from opencode_tui.engine.tool.edit.diff import compare
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.undo import RevertPreview, RevertReport, UndoFiles, UndoOnly, UndoScope
from opencode_tui.text.cells import pad, width
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import make_safe
from opencode_tui.text.undo import Fate, UndoneFile, beside_commands, unchanged_files, undone_files

_SIGNS = {"added": "A", "deleted": "D", "modified": "M"}


def revert_session(
    session_id: str,
    message_id: str | None,
    part_id: str | None,
    *,
    only: UndoOnly | None = None,
    dry_run: bool,
    style: str,
) -> int:
    """Undo, or preview that; return 1 if a file could not be written."""
    if part_id is not None and message_id is None:
        raise ConfigError("--part needs --message ID")

    async def work(client: Client) -> tuple[RevertPreview | RevertReport, Path, str]:
        info = await choose_session(client, session_id)
        if dry_run:
            return await client.undo.preview(info.id, message_id, part_id, only=only), client.directory, info.id
        return await client.undo.revert(info.id, message_id, part_id, only=only), client.directory, info.id

    done, folder, found = with_client(work, doing="Looking at what would be undone" if dry_run else "Undoing")
    after = f"to redo, until you send a new message: opencode-tui session unrevert {found}"
    words = ("would undo", "") if dry_run else ("undid", after)
    return _report(done, done.scope, folder, words=words, style=style)


def unrevert_session(session_id: str, *, dry_run: bool, style: str) -> int:
    """Redo, or preview that; return 1 if a file could not be written."""

    async def work(client: Client) -> tuple[RevertPreview | RevertReport, Path]:
        info = await choose_session(client, session_id)
        if dry_run:
            return await client.undo.preview_unrevert(info.id), client.directory
        return await client.undo.unrevert(info.id), client.directory

    done, folder = with_client(work, doing="Looking at what would be redone" if dry_run else "Redoing")
    words = "would redo what was undone" if dry_run else "redid what was undone"
    return _report(done, None, folder, words=(words, ""), style=style)


def show_diff(session_id: str, message_id: str | None, *, style: str) -> None:
    """Print the file changes of a session, or of one turn."""

    async def work(client: Client) -> list[FileDiff]:
        info = await choose_session(client, session_id)
        if message_id is not None:
            await client.messages.get(info.id, message_id)
        return await all_changes(client, info.id, message_id)

    changes = with_client(work, doing="Reading the changes")
    if style == "json":
        print_json([change.to_dict() for change in changes])
    elif not changes:
        say("no file changes")
    else:
        look = style_of(sys.stdout, os.environ)
        sys.stdout.write("\n\n".join(render_change(change, look) for change in changes) + "\n")


async def all_changes(client: Client, session_id: str, message_id: str | None = None) -> list[FileDiff]:
    """Return the changes of a session, or of one turn, by file: those of ignored files without their content."""
    changes = await client.sessions.diff(session_id, message_id)
    return sorted([*changes, *await client.sessions.ignored_changes(session_id, message_id)], key=lambda one: one.file)


def _report(files: UndoFiles, scope: UndoScope | None, folder: Path, *, words: tuple[str, str], style: str) -> int:
    if style == "json":
        print_json(files.to_dict())
        return 1 if files.failed else 0
    look = style_of(sys.stdout, os.environ)
    sys.stdout.write("\n".join(describe_undo(files, scope, folder, words[0], look)) + "\n")
    if files.failed:
        say(f"{plural(len(files.failed), 'file')} could not be written; fix the disk space or permissions, then retry")
        return 1
    if words[1]:
        say(words[1])
    return 0


def describe_undo(files: UndoFiles, scope: UndoScope | None, folder: Path, words: str, style: Style) -> list[str]:
    """Return what an undo does: `words` and its scope, then a line for each file."""
    head = words if scope is None else f"{words} {scope_line(scope)}"
    if scope is not None and scope.only == "conversation":
        head += "; files stay as they are"
    elif scope is not None and scope.only == "files":
        head = f"{words} the file changes of {scope_line(scope)}"
    if unchanged := unchanged_files(files):
        head = f"{head}, {unchanged}"
    beside = beside_commands(files)
    lines = [style.paint(head[0].upper() + head[1:], "bold"), *file_lines(files, folder, style)]
    return [*lines, style.paint(style.words(beside), "warning")] if beside else lines


def render_change(change: FileDiff, style: Style) -> str:
    """Return the change of a file: its name with the counts, and the diff."""
    counts = [(f"+{change.additions}", "added")] if change.additions else []
    counts += [(f"−{change.deletions}", "removed")] if change.deletions else []
    shown = " ".join(style.paint(style.words(text), "added" if kind == "added" else "removed") for text, kind in counts)
    facts = style.paint(style.words(make_safe(change.note)), "muted") if change.note else ""
    sign = style.paint(_SIGNS[change.status or "modified"], "muted")
    head = "  ".join(filter(None, (f"{sign} {style.paint(make_safe(change.file), 'bold')}", shown, facts)))
    text = compare(change.file, change.before, change.after).text
    return "\n".join([head, *render_diff(text, style, limit=sys.maxsize - 1)])


_LISTED = 20
"""Limit of listed files that undo does not cover: they can include whole folders of ignored files."""

_FATES: dict[Fate, tuple[str, Token]] = {
    "restored": (" ", "success"),
    "deleted": (" ", "success"),
    "kept": ("!", "warning"),
    "failed": ("!", "error"),
    "stays as it is": ("!", "warning"),
}

_FATE_CELLS = max(map(len, _FATES))


def scope_line(scope: UndoScope) -> str:
    """Return `3 messages (1 prompt)`, or the parts that are removed from the last response."""
    parts = plural(len(scope.parts), "part")
    if scope.part_id is not None and not scope.messages:
        return f"{parts} of the last response"
    messages = f"{plural(len(scope.messages), 'message')} ({plural(scope.requests, 'prompt')})"
    return messages if scope.part_id is None else f"{messages} and {parts} of the response before"


def file_lines(files: UndoFiles, folder: Path, style: Style) -> list[str]:
    """Return a line for each file: its outcome, changed lines, and why it is kept."""
    rows = undone_files(files, folder, now=system_clock())
    uncovered = [row for row in rows if row.fate == "stays as it is"]
    rows = [row for row in rows if row not in uncovered[_LISTED:]]
    room = min(max((width(row.path) for row in rows), default=0), 60)
    lines = [_line(row, room, style) for row in rows]
    left = len(uncovered) - _LISTED
    if left > 0:
        more = f"  … {plural(left, 'more file')} that undo leaves as they are; see --format json"
        lines.append(style.paint(style.words(more), "muted"))
    return lines


def _line(row: UndoneFile, room: int, style: Style) -> str:
    sign, token = _FATES[row.fate]
    counts = style.words(" ".join(_counts(row)))
    why = style.paint(style.words(row.note), "muted") if row.note else ""
    fate = style.paint(pad(row.fate, _FATE_CELLS), token)
    return f"{style.paint(sign, token)} {fate} {pad(row.path, room)}  {pad(counts, 9, is_right=True)}  {why}".rstrip()


def _counts(row: UndoneFile) -> Sequence[str]:
    return [f"{sign}{count}" for sign, count in (("+", row.additions), ("−", row.deletions)) if count]
