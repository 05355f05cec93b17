"""`opencode-tui session rename`, `delete`, `trash`, `archive` and `unarchive`."""

import sys
from collections.abc import Sequence

import click

from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.progress_line import progress_line
from opencode_tui.cli.session_choice import choose_session, session_title
from opencode_tui.cli.table import print_table
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.client.client import Client
from opencode_tui.schema.api.request import UpdateSession
from opencode_tui.schema.api.trash import TrashedSession
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.text.quantity import age, byte_words, plural

_DAY_MS = 24 * 3600 * 1000


def rename_session(session_id: str, title: str, *, dry_run: bool) -> None:
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


def delete_session(session_id: str, *, dry_run: bool, is_sure: bool) -> int:
    """Move a session to the trash after a preview and a confirmation; without a terminal only with --yes."""

    async def preview(client: Client) -> tuple[list[SessionInfo], int]:
        info = await choose_session(client, session_id)
        doomed = [info, *await _descendants(client, info.id)]
        ids = {one.id for one in doomed}
        return doomed, sum(one.fork_of in ids for one in await client.sessions.listed() if one.id not in ids)

    doomed, forks = with_client(preview, doing="Reading the sessions")
    now = system_clock()
    for info in doomed:
        verb = "would delete" if dry_run else "deleting" if is_sure else "to delete"
        say(f'{verb} {info.id}  "{session_title(info)}", used {age(info.time.updated, now)} ago')
    if forks:
        say(f"{plural(forks, 'fork')} of it {'is' if forks == 1 else 'are'} kept")
    if dry_run:
        return 0
    if not is_sure and not _confirm(f"Move {plural(len(doomed), 'session')} to the trash?"):
        say("nothing deleted")
        return 1

    async def work(client: Client) -> None:
        await client.sessions.remove(session_id)

    with_client(work, doing="Moving it to the trash")
    say(
        f"moved {plural(len(doomed), 'session')} to the trash, your files are not touched;"
        f" restore with: opencode-tui session trash restore {session_id}"
    )
    return 0


def list_trash(*, is_everywhere: bool, style: str) -> None:
    """Print the deleted sessions."""
    entries = with_client(lambda client: _entries(client, is_everywhere=is_everywhere), doing="Reading the trash")
    if style == "json":
        print_json([entry.to_dict() for entry in entries])
        return
    if not entries:
        say("the trash is empty" if is_everywhere else "no deleted sessions of this project (--all: of all projects)")
        return
    now = system_clock()
    heads = ["ID", "TITLE", "DELETED", "SIZE", "FOLDER"]
    rows = [
        [entry.session_id, _title(entry), age(entry.deleted, now), byte_words(entry.bytes), entry.directory]
        for entry in entries
    ]
    print_table(heads if is_everywhere else heads[:-1], rows)


def restore_deleted(session_ids: Sequence[str]) -> None:
    """Restore deleted sessions."""

    async def work(client: Client) -> None:
        for session_id in session_ids:
            with progress_line("Restoring it"):
                info = await client.trash.restore(session_id)
            say(f'restored {info.id}  "{session_title(info)}" in {info.directory}')

    with_client(work)


def empty_trash(*, is_everywhere: bool, days: int | None, dry_run: bool, is_sure: bool) -> int:
    """Remove deleted sessions permanently after a preview and a confirmation; without a terminal only with --yes."""
    now = system_clock()
    newest = now if days is None else now - days * _DAY_MS
    entries = with_client(lambda client: _entries(client, is_everywhere=is_everywhere), doing="Reading the trash")
    chosen = [entry for entry in entries if entry.deleted <= newest]
    for entry in chosen:
        verb = "would remove" if dry_run else "removing" if is_sure else "to remove"
        say(f'{verb} {entry.session_id}  "{_title(entry)}", deleted {age(entry.deleted, now)} ago')
    if not chosen:
        say("nothing to remove")
        return 0
    size = byte_words(sum(entry.bytes for entry in chosen))
    if dry_run:
        return 0
    if not is_sure and not _confirm(f"Remove {_counted(chosen)} ({size}) permanently?"):
        say("nothing removed")
        return 1
    names = [entry.name for entry in chosen]
    removed = with_client(lambda client: client.trash.empty(names), doing="Removing")
    say(f"removed {_counted(removed)} permanently, {size}")
    return 0


def archive_sessions(session_ids: Sequence[str], *, is_archived: bool, dry_run: bool) -> None:
    """Archive sessions, or put them back into the lists."""
    verb = "archive" if is_archived else "unarchive"

    async def work(client: Client) -> None:
        for info in [await choose_session(client, session_id) for session_id in session_ids]:
            if not dry_run:
                archived = system_clock() if is_archived else 0
                await client.sessions.update(info.id, UpdateSession(archived=archived))
            say(f'{f"would {verb}" if dry_run else f"{verb}d"} {info.id}  "{session_title(info)}"')

    with_client(work)


async def _entries(client: Client, *, is_everywhere: bool) -> Sequence[TrashedSession]:
    entries = await client.trash.list()
    if is_everywhere:
        return entries
    project = await client.project.current()
    return [entry for entry in entries if entry.project_id == project.id]


async def _descendants(client: Client, session_id: str) -> list[SessionInfo]:
    found: list[SessionInfo] = []
    for child in await client.sessions.children(session_id):
        found += [child, *await _descendants(client, child.id)]
    return found


def _confirm(question: str) -> bool:
    """Ask for confirmation. Raises ConfigError without a terminal."""
    if not (sys.stdin is not None and sys.stdin.isatty()):  # pyright: ignore[reportUnnecessaryComparison] - None when closed
        raise ConfigError("not a terminal: pass --yes to delete")
    return click.confirm(question, default=False, err=True)


def _title(entry: TrashedSession) -> str:
    return " ".join(entry.title.split()) or "(no title)"


def _counted(entries: Sequence[TrashedSession]) -> str:
    return plural(len(entries), "session")
