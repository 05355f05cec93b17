"""`opencode-tui session`: manage the sessions of this project."""

from typing import TYPE_CHECKING

import click

from opencode_tui.cli.completion_values import complete_models, complete_sessions

if TYPE_CHECKING:
    from opencode_tui.schema.session.undo import UndoOnly

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
    from opencode_tui.cli.commands.session.lists import list_sessions as work

    work(limit=limit, is_archived=is_archived, style=style)


@session.command(short_help="Print the conversation of a session.")
@click.argument("session_id", metavar="ID", shell_complete=complete_sessions)
@click.option("-n", "--max-count", "limit", type=click.IntRange(min=1), metavar="N", help="Only the latest N messages.")
def show(session_id: str, limit: int | None) -> None:
    """Print the conversation of a session."""
    from opencode_tui.cli.commands.session.conversation import show_session as work

    work(session_id, limit=limit)


@session.command(short_help="Show sessions as a tree.")
def tree() -> None:
    """Show sessions as a tree."""
    from opencode_tui.cli.commands.session.lists import show_tree as work

    work()


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
    from opencode_tui.cli.commands.session.trash import rename_session as work

    work(session_id, title, dry_run=dry_run)


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
    session_id: str, message_id: str | None, part_id: str | None, only: "UndoOnly | None", dry_run: bool, style: str
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
