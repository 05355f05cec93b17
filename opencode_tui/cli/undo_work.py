"""What `session revert`, `session unrevert` and `session diff` do."""

import os
import sys

from opencode_tui.cli.diff_view import render_diff
from opencode_tui.cli.door import with_client
from opencode_tui.cli.session_choice import choose_session
from opencode_tui.cli.style import Style, style_of
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.cli.undo_text import file_lines, scope_line
from opencode_tui.client.client import Client
from opencode_tui.engine.tool.text_diff import compare
from opencode_tui.schema.diff import FileDiff
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.undo import UndoFiles, UndoScope
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import make_safe

_SIGNS = {"added": "A", "deleted": "D", "modified": "M"}


def revert_session(session_id: str, message_id: str | None, part_id: str | None, *, dry_run: bool, style: str) -> int:
    """Undo, or say what would be undone; 1 when the disk refused a file."""
    if part_id is not None and message_id is None:
        raise ConfigError("--part needs its message; add --message ID")

    async def work(client: Client) -> int:
        info = await choose_session(client, session_id)
        if dry_run:
            preview = await client.undo.preview(info.id, message_id, part_id)
            return _tell(preview, preview.scope, client, words=("would undo", ""), style=style)
        report = await client.undo.revert(info.id, message_id, part_id)
        after = f"until you go on there, bring it back with: opencode-tui session unrevert {info.id}"
        return _tell(report, report.scope, client, words=("undid", after), style=style)

    return with_client(work)


def unrevert_session(session_id: str, *, dry_run: bool, style: str) -> int:
    """Bring back what was undone, or say what would come back; 1 when the disk refused a file."""

    async def work(client: Client) -> int:
        info = await choose_session(client, session_id)
        if dry_run:
            preview = await client.undo.preview_unrevert(info.id)
            return _tell(preview, None, client, words=("would bring back what was undone", ""), style=style)
        report = await client.undo.unrevert(info.id)
        return _tell(report, None, client, words=("brought back what was undone", ""), style=style)

    return with_client(work)


def show_diff(session_id: str, message_id: str | None, *, style: str) -> None:
    """Print what a session, or one turn of it, changed in files."""

    async def work(client: Client) -> list[FileDiff]:
        info = await choose_session(client, session_id)
        if message_id is not None:
            await client.messages.get(info.id, message_id)
        return list(await client.sessions.diff(info.id, message_id))

    changes = with_client(work)
    if style == "json":
        print_json([change.to_dict() for change in changes])
    elif not changes:
        say("no file was changed")
    else:
        look = style_of(sys.stdout, os.environ)
        sys.stdout.write("\n\n".join(_file(change, look) for change in changes) + "\n")


def _tell(files: UndoFiles, scope: UndoScope | None, client: Client, *, words: tuple[str, str], style: str) -> int:
    if style == "json":
        print_json(files.to_dict())
        return 1 if files.failed else 0
    look = style_of(sys.stdout, os.environ)
    head = words[0] if scope is None else f"{words[0]} {scope_line(scope)}"
    lines = [look.paint(head[0].upper() + head[1:], "bold"), *file_lines(files, client.directory, look)]
    sys.stdout.write("\n".join(lines) + "\n")
    if files.failed:
        say(f"{plural(len(files.failed), 'file')} could not be written; make room or access, then run it again")
        return 1
    if words[1]:
        say(words[1])
    return 0


def _file(change: FileDiff, style: Style) -> str:
    counts = [(f"+{change.additions}", "added")] if change.additions else []
    counts += [(f"−{change.deletions}", "removed")] if change.deletions else []
    shown = " ".join(style.paint(style.words(text), "added" if kind == "added" else "removed") for text, kind in counts)
    facts = style.paint(style.words(make_safe(change.note)), "muted") if change.note else ""
    sign = style.paint(_SIGNS[change.status or "modified"], "muted")
    head = "  ".join(filter(None, (f"{sign} {style.paint(make_safe(change.file), 'bold')}", shown, facts)))
    text = compare(change.file, change.before, change.after).text
    return "\n".join([head, *render_diff(text, style, limit=sys.maxsize - 1)])
