"""`opencode-tui session`: manage the sessions of this project."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from operator import attrgetter
from typing import TYPE_CHECKING

import click

from opencode_tui.cli.completion_values import complete_models, complete_sessions
from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.progress_line import progress_line
from opencode_tui.cli.session_choice import choose_session, session_title
from opencode_tui.cli.style import Style, style_of
from opencode_tui.cli.table import print_table
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.cli.tool_line import tool_lines
from opencode_tui.client.client import Client
from opencode_tui.schema.api.request import UpdateSession
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.listed import ListedSession, listed
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.part import (
    AnyPart,
    CompactionPart,
    FilePart,
    ReasoningPart,
    RetryPart,
    SubtaskPart,
    TextPart,
    ToolPart,
)
from opencode_tui.schema.session.session import RevertState, SessionInfo
from opencode_tui.schema.session.stored_error import PROGRAM_ENDED, describe_stored
from opencode_tui.schema.session.undo import UndoOnly
from opencode_tui.text.quantity import age, duration, moment
from opencode_tui.text.safe_text import make_safe
from opencode_tui.text.session_tree import build_tree

if TYPE_CHECKING:
    from opencode_tui.client.local import LocalClient

_STYLE = click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", help="Output format.")


@click.group()
def session() -> None:
    """Manage the sessions of this project."""


@session.command("list", short_help="List sessions, the latest first.")
@click.option("-n", "--max-count", "limit", type=click.IntRange(min=1), metavar="N", help="Only the latest N.")
@click.option("--archived", "is_archived", is_flag=True, help="Only archived sessions.")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def list_sessions(limit: int | None, is_archived: bool, style: str) -> None:
    """List sessions, the latest first, without archived ones."""
    _list_sessions(limit=limit, is_archived=is_archived, style=style)


@session.command(short_help="Print the conversation of a session.")
@click.argument("session_id", metavar="ID", shell_complete=complete_sessions)
@click.option("-n", "--max-count", "limit", type=click.IntRange(min=1), metavar="N", help="Only the latest N messages.")
def show(session_id: str, limit: int | None) -> None:
    """Print the conversation of a session."""
    _show_session(session_id, limit=limit)


@session.command(short_help="Show sessions as a tree.")
def tree() -> None:
    """Show sessions as a tree."""
    _show_tree()


@session.command(short_help="Search the content of all sessions.")
@click.argument("query", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1, 500), default=50, metavar="N", help="At most N matches.")
@click.option("--since", metavar="TIME", help="Only newer matches: 30min, 12h, 3d, 2w, 6m, 1y or a date.")
@click.option("--project", metavar="NAME", help="Only this project: . or a part of its folder's name.")
@click.option("--order", type=click.Choice(["newest", "relevance"]), default="newest", help="Order of the sessions.")
@_STYLE
def search(query: tuple[str, ...], since: str | None, project: str | None, limit: int, order: str, style: str) -> int:
    """Search the content of the sessions of all projects.

    \b
      retry backoff  both words       tool:bash        calls of a tool
      "wait for it"  a phrase         file:src/app.py  calls and changes of a file
      back*          a prefix         role:user        your prompts
      -draft         excludes a word  project:. since:2w

    \b
    Quote queries with special characters:
      opencode-tui session search '"wait for it" -draft'
    """
    from opencode_tui.cli.commands.session.search import search_sessions as work

    filters = [f'{name}:"{value}"' for name, value in (("since", since), ("project", project)) if value]
    return work(" ".join([*query, *filters]), limit=limit, order=order, style=style)


@session.command(short_help="Rename a session.")
@click.argument("session_id", metavar="ID", shell_complete=complete_sessions)
@click.argument("title")
@click.option("--dry-run", is_flag=True, help="Show what would happen without doing it.")
def rename(session_id: str, title: str, dry_run: bool) -> None:
    """Rename a session."""
    _rename_session(session_id, title, dry_run=dry_run)


@session.command(short_help="Fork a session and print its ID.")
@click.argument("session_id", metavar="ID", shell_complete=complete_sessions)
@click.option("--message", "message_id", metavar="ID", help="Fork at this message (default: all).")
@click.option("--worktree", is_flag=True, help="Work in a new git worktree on its own branch.")
@click.option("--dry-run", is_flag=True, help="Show what would happen without doing it.")
def fork(session_id: str, message_id: str | None, worktree: bool, dry_run: bool) -> None:
    """Fork a session and print its ID.

    The original session is unchanged. Both work on the same files, unless --worktree creates a git worktree for the fork,
    with the current files, including uncommitted changes, without ignored files.
    """
    from opencode_tui.cli.commands.session.fork import fork_session as work

    work(session_id, message_id=message_id, worktree=worktree, dry_run=dry_run)


@session.command(short_help="Move a session to the trash.")
@click.argument("session_id", metavar="ID", shell_complete=complete_sessions)
@click.option("--dry-run", is_flag=True, help="Show what would happen without doing it.")
@click.option("-y", "--yes", is_flag=True, help="Skip confirmation.")
def delete(session_id: str, dry_run: bool, yes: bool) -> int:
    """Move a session to the trash, with its subagent sessions.

    Lists what will be deleted and asks for confirmation. `session trash restore` brings it back. Your files are not touched.
    """
    from opencode_tui.cli.commands.session.trash import delete_session as work

    return work(session_id, dry_run=dry_run, is_sure=yes)


@session.group(short_help="List, restore and remove deleted sessions.")
def trash() -> None:
    """List, restore and remove deleted sessions."""


_EVERYWHERE = click.option("--all", "is_everywhere", is_flag=True, help="Deleted sessions of all projects.")


@trash.command("list", short_help="List deleted sessions, the latest first.")
@_EVERYWHERE
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def list_trash(is_everywhere: bool, style: str) -> None:
    """List deleted sessions, the last deleted first."""
    from opencode_tui.cli.commands.session.trash import list_trash as work

    work(is_everywhere=is_everywhere, style=style)


@trash.command("restore", short_help="Restore deleted sessions.")
@click.argument("session_ids", metavar="ID…", nargs=-1, required=True, shell_complete=complete_sessions)
def restore_deleted(session_ids: tuple[str, ...]) -> None:
    """Restore deleted sessions, each with its subagent sessions."""
    from opencode_tui.cli.commands.session.trash import restore_deleted as work

    work(session_ids)


@trash.command("empty", short_help="Remove deleted sessions permanently.")
@_EVERYWHERE
@click.option(
    "--older-than",
    "days",
    type=click.IntRange(min=0),
    metavar="DAYS",
    help="Only those deleted more than DAYS days ago.",
)
@click.option("--dry-run", is_flag=True, help="Show what would happen without doing it.")
@click.option("-y", "--yes", is_flag=True, help="Skip confirmation.")
def empty_trash(is_everywhere: bool, days: int | None, dry_run: bool, yes: bool) -> int:
    """Remove deleted sessions permanently.

    Lists what will be removed and asks for confirmation. Without --all only those of this project.
    """
    from opencode_tui.cli.commands.session.trash import empty_trash as work

    return work(is_everywhere=is_everywhere, days=days, dry_run=dry_run, is_sure=yes)


@session.command(short_help="Take sessions out of the lists.")
@click.argument("session_ids", metavar="ID…", nargs=-1, required=True, shell_complete=complete_sessions)
@click.option("--dry-run", is_flag=True, help="Show what would happen without doing it.")
def archive(session_ids: tuple[str, ...], dry_run: bool) -> None:
    """Archive sessions: lists omit them, `session list --archived` shows them."""
    from opencode_tui.cli.commands.session.trash import archive_sessions as work

    work(session_ids, is_archived=True, dry_run=dry_run)


@session.command(short_help="Put archived sessions back into the lists.")
@click.argument("session_ids", metavar="ID…", nargs=-1, required=True, shell_complete=complete_sessions)
@click.option("--dry-run", is_flag=True, help="Show what would happen without doing it.")
def unarchive(session_ids: tuple[str, ...], dry_run: bool) -> None:
    """Put archived sessions back into the lists."""
    from opencode_tui.cli.commands.session.trash import archive_sessions as work

    work(session_ids, is_archived=False, dry_run=dry_run)


@session.command(short_help="Undo a turn with its changes to files.")
@click.argument("session_id", metavar="ID", shell_complete=complete_sessions)
@click.option("--message", "message_id", metavar="ID", help="Undo from this message on (default: your last turn).")
@click.option("--part", "part_id", metavar="ID", help="Undo from this part of the message on.")
@click.option("--only", type=click.Choice(["conversation", "files"]), help="Undo only the messages or only the files.")
@click.option("--dry-run", is_flag=True, help="Show what would happen without doing it.")
@_STYLE
def revert(
    session_id: str, message_id: str | None, part_id: str | None, only: UndoOnly | None, dry_run: bool, style: str
) -> int:
    """Undo a turn, or everything from a message on, with its changes to files.

    Files changed since are kept. `session unrevert` can redo it until you send a new message.
    """
    from opencode_tui.cli.commands.session.undo import revert_session as work

    return work(session_id, message_id, part_id, only=only, dry_run=dry_run, style=style)


@session.command(short_help="Redo what `session revert` undid.")
@click.argument("session_id", metavar="ID", shell_complete=complete_sessions)
@click.option("--dry-run", is_flag=True, help="Show what would happen without doing it.")
@_STYLE
def unrevert(session_id: str, dry_run: bool, style: str) -> int:
    """Redo what `session revert` undid."""
    from opencode_tui.cli.commands.session.undo import unrevert_session as work

    return work(session_id, dry_run=dry_run, style=style)


@session.command(short_help="Summarize older messages to free context.")
@click.argument("session_id", metavar="ID", shell_complete=complete_sessions)
@click.option(
    "-m", "--model", metavar="PROVIDER/MODEL", shell_complete=complete_models, help="Model that writes the summary."
)
@click.option("--dry-run", is_flag=True, help="Show what would happen without doing it.")
@_STYLE
def compact(session_id: str, model: str | None, dry_run: bool, style: str) -> None:
    """Summarize older messages to free context.

    The messages stay in the session but are no longer sent to the model.
    """
    from opencode_tui.cli.commands.session.context import compact_session as work

    work(session_id, model=model, dry_run=dry_run, style=style)


@session.command(short_help="Show and change what a compaction keeps.")
@click.argument("session_id", metavar="ID", shell_complete=complete_sessions)
@click.option("--add", "added", multiple=True, metavar="TEXT", help="Add an entry (repeatable).")
@click.option(
    "--set", "replaced", multiple=True, type=(str, str), metavar="ENTRY TEXT", help="Replace an entry's text."
)
@click.option("--remove", "removed", multiple=True, metavar="ENTRY", help="Remove an entry (repeatable).")
@click.option("--restore", "restored", multiple=True, metavar="ENTRY", help="Restore an entry that was changed.")
@_STYLE
def ledger(
    session_id: str,
    added: tuple[str, ...],
    replaced: tuple[tuple[str, str], ...],
    removed: tuple[str, ...],
    restored: tuple[str, ...],
    style: str,
) -> None:
    """Show what a compaction keeps word for word, and change it.

    Rules, corrections and rejected calls, todos, files, the branch, the last failing check.
    A change applies from the next request on.
    """
    from opencode_tui.cli.commands.session.context import show_ledger as work
    from opencode_tui.schema.api.context import LedgerChange

    changes = [
        *(LedgerChange(id=one, is_restored=True) for one in restored),
        *(LedgerChange(id=one) for one in removed),
        *(LedgerChange(id=one, text=text) for one, text in replaced),
        *(LedgerChange(text=text) for text in added),
    ]
    work(session_id, changes, style=style)


_PARTS = click.option("--part", "part_ids", multiple=True, metavar="ID", help="Only this call (repeatable).")


@session.command(short_help="Drop old tool output from the context.")
@click.argument("session_id", metavar="ID", shell_complete=complete_sessions)
@_PARTS
@click.option("--dry-run", is_flag=True, help="Show what would happen without doing it.")
@_STYLE
def prune(session_id: str, part_ids: tuple[str, ...], dry_run: bool, style: str) -> None:
    """Drop old tool output from the context.

    Without --part: output older than the latest two turns and 40 k tokens, if that frees 20 k. It stays in the session.
    """
    from opencode_tui.cli.commands.session.context import prune_session as work

    work(session_id, part_ids, dry_run=dry_run, style=style)


@session.command(short_help="Restore pruned tool output.")
@click.argument("session_id", metavar="ID", shell_complete=complete_sessions)
@_PARTS
@click.option("--dry-run", is_flag=True, help="Show what would happen without doing it.")
@_STYLE
def restore(session_id: str, part_ids: tuple[str, ...], dry_run: bool, style: str) -> None:
    """Restore pruned tool output (it won't be auto-pruned again)."""
    from opencode_tui.cli.commands.session.context import restore_session as work

    work(session_id, part_ids, dry_run=dry_run, style=style)


@session.command(short_help="Show the file changes of a session.")
@click.argument("session_id", metavar="ID", shell_complete=complete_sessions)
@click.option("--message", "message_id", metavar="ID", help="Only the changes of this message's turn.")
@_STYLE
def diff(session_id: str, message_id: str | None, style: str) -> None:
    """Show the file changes of a session."""
    from opencode_tui.cli.commands.session.undo import show_diff as work

    work(session_id, message_id, style=style)


_READING = "Reading the sessions"
_NONE_YET = 'no sessions in this project; start one with: opencode-tui run "explain this folder"'


def _list_sessions(*, limit: int | None, is_archived: bool, style: str) -> None:
    """Print the sessions, the last used first."""

    async def records(client: Client) -> Sequence[SessionInfo]:
        if limit is not None:
            return await client.sessions.recent(limit, is_archived)
        chosen = [info for info in await client.sessions.list() if (info.time.archived is not None) == is_archived]
        return sorted(chosen, key=lambda info: info.time.updated, reverse=True)

    async def lines(client: Client) -> Sequence[ListedSession]:
        if limit is not None:
            return [listed(info) for info in await records(client)]
        chosen = [info for info in await client.sessions.listed() if info.is_archived == is_archived]
        return sorted(chosen, key=attrgetter("updated"), reverse=True)

    if style == "json":
        print_json([info.to_dict() for info in with_client(records, doing=_READING)])
    elif not (infos := with_client(lines, doing=_READING)):
        say("no archived sessions in this project" if is_archived else _NONE_YET)
    else:
        now = system_clock()
        rows = [[info.id, session_title(info), age(info.updated, now), *_changes(info)] for info in infos]
        heads = ["ID", "TITLE", "USED", "+", "−"]
        print_table(heads if any(row[3] for row in rows) else heads[:3], rows)


def _show_session(session_id: str, *, limit: int | None) -> None:
    """Print a conversation."""

    async def work(client: "LocalClient") -> tuple[SessionInfo, Iterable[MessageWithParts]]:
        info = await choose_session(client, session_id)
        return info, await (client.stored_messages(info.id) if limit is None else client.messages.list(info.id, limit))

    info, messages = with_client(work)
    # Progress is no line between those of the conversation.
    with nullcontext() if sys.stdout.isatty() else progress_line("Reading the session"):
        for line in render_conversation(info, messages, style_of(sys.stdout, os.environ)):
            sys.stdout.write(line + "\n")


def _show_tree() -> None:
    """Print the sessions as a tree."""
    tree_rows = build_tree(with_client(_all, doing=_READING))
    if not tree_rows:
        say(_NONE_YET)
        return
    now = system_clock()
    rows = [
        [
            row.info.id,
            f"{row.branch}{row.info.kind}{' ' if row.info.kind else ''}{session_title(row.info)}",
            age(row.info.updated, now),
        ]
        for row in tree_rows
    ]
    print_table(["ID", "TITLE", "USED"], rows)


def _rename_session(session_id: str, title: str, *, dry_run: bool) -> None:
    """Change the title, with runs of white space as single spaces."""
    wanted = " ".join(title.split())
    if not wanted:
        raise ConfigError("title must not be empty")

    async def work(client: Client) -> SessionInfo:
        info = await choose_session(client, session_id)
        if not dry_run:
            await client.sessions.update(info.id, UpdateSession(title=wanted))
        return info

    before = with_client(work)
    say(f'{"would rename" if dry_run else "renamed"} {before.id}: "{session_title(before)}" to "{wanted}"')


async def _all(client: Client) -> Sequence[ListedSession]:
    return await client.sessions.listed()


def _changes(info: ListedSession) -> list[str]:
    return [f"+{info.additions}", f"−{info.deletions}"] if info.additions or info.deletions else ["", ""]


_Block = tuple[str, list[str]]
"""A kind (`request`, `prose`, `work`) and its lines: adjacent `work` blocks have no empty line between them."""


def render_conversation(info: SessionInfo, messages: Iterable[MessageWithParts], style: Style) -> Iterator[str]:
    """Yield the lines."""
    title = make_safe(" ".join(info.title.split()))
    facts = style.words(make_safe(f"{info.id} · {info.directory} · {moment(info.time.created)}"))
    yield style.paint(title, "bold")
    yield style.paint(facts, "muted")
    last = ""
    for message in messages:
        for kind, block in _blocks(message, info.revert, style):
            if kind != "work" or last != "work":
                yield ""
            yield from block
            last = kind


def _blocks(message: MessageWithParts, revert: RevertState | None, style: Style) -> Iterator[_Block]:
    info = message.info
    is_boundary = revert is not None and revert.message_id == info.id
    if is_boundary and revert is not None and revert.part_id is None:
        yield "cut", [_cut(info.session_id, style)]
    if isinstance(info, UserMessage):
        yield "request", list(_request(info, message.parts, style))
        return
    for part in message.parts:
        if is_boundary and revert is not None and revert.part_id == part.id:
            yield "cut", [_cut(info.session_id, style)]
        yield from _part(part, style)
    if (error := info.failure) is not None:
        is_stop = error.name == "MessageAbortedError"
        by = (
            "session ended unexpectedly"
            if getattr(error.data, "message", "") == PROGRAM_ENDED
            else "interrupted by you"
        )
        sign, reason = (
            ("■", by)
            if is_stop
            else ("✗", make_safe(" ".join(describe_stored(error, info.provider_id, info.model_id).split())))
        )
        yield "end", [style.paint(style.words(f"{sign} {reason}"), "muted" if is_stop else "error")]


def _cut(session_id: str, style: Style) -> str:
    back = f"redo: opencode-tui session unrevert {session_id}"
    return f"{style.paint(style.words('↶ Undone from here on'), 'warning')}  {style.paint(back, 'muted')}"


def _request(info: UserMessage, parts: Sequence[AnyPart], style: Style) -> Iterator[str]:
    head = make_safe(f"{moment(info.time.created)} · {info.agent} · {info.model}")
    mark = style.paint(">", "accent", "bold")
    lines = [line for part in parts for line in _request_lines(part)]
    for number, line in enumerate(lines or ["(added automatically)"] if parts else [""]):
        facts = style.paint(style.words(f"  {head}"), "muted") if number == 0 else ""
        yield f"{mark} {style.paint(line, 'bold')}{facts}".rstrip()


def _request_lines(part: AnyPart) -> list[str]:
    match part:
        case TextPart() if not part.synthetic:
            return _lines(part.text)
        case FilePart():
            return [f"[{make_safe(part.filename or part.mime)}]"]
        case SubtaskPart():
            return [make_safe(f"{part.agent}: {part.description}")]
        case CompactionPart():
            return ["(compacted here)"]
        case _:
            return []


def _part(part: AnyPart, style: Style) -> Iterator[_Block]:
    match part:
        case TextPart() if not part.synthetic and part.text.strip():
            yield "prose", _lines(part.text)
        case ToolPart():
            yield "work", tool_lines(part, style)
        case ReasoningPart() if part.time.end is not None and part.time.end - part.time.start >= 1000:
            seconds = (part.time.end - part.time.start) / 1000
            yield "work", [style.paint(f"  Thought for {duration(seconds)}", "muted", "italic")]
        case RetryPart():
            reason = make_safe(" ".join(part.error.data.message.split()))
            yield "work", [style.paint(style.words(f"↻ retried after: {reason}"), "muted")]
        case _:
            pass


def _lines(text: str) -> list[str]:
    return make_safe(text.replace("\r\n", "\n").strip("\n"), multiline=True).split("\n")
