"""`opencode-tui session list|tree`: the sessions of the project, read without an engine."""

from collections.abc import Sequence
from functools import cache

from opencode_tui.cli.engine_access import with_sessions
from opencode_tui.cli.session_choice import session_title, session_titles
from opencode_tui.cli.table import print_columns, print_table
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.client.project_sessions import ProjectSessions
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.session.listed import listed
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.session_table import ARCHIVED, CHANGED, SessionTable
from opencode_tui.text.quantity import age
from opencode_tui.text.session_tree import build_tree

_DAY_MS = 86_400_000
_READING = "Reading the sessions"
_NONE_YET = 'no sessions in this project; start one with: opencode-tui run "explain this folder"'


def list_sessions(*, limit: int | None, is_archived: bool, style: str) -> None:
    """Print the sessions, the last used first."""

    async def records(sessions: ProjectSessions) -> Sequence[SessionInfo]:
        if limit is not None:
            return await sessions.recent(limit, is_archived=is_archived)
        chosen = [info for info in await sessions.all() if (info.time.archived is not None) == is_archived]
        return sorted(chosen, key=lambda info: info.time.updated, reverse=True)

    async def lines(sessions: ProjectSessions) -> SessionTable:
        if limit is not None:
            return SessionTable.of(map(listed, await records(sessions)))
        return await sessions.listed()

    if style == "json":
        print_json([info.to_dict() for info in with_sessions(records, doing=_READING)])
        return
    table = with_sessions(lines, doing=_READING)
    rows = [row for row, flags in enumerate(table.flags) if bool(flags & ARCHIVED) == is_archived]
    rows.sort(key=table.updated.__getitem__, reverse=True)
    if not rows:
        say("no archived sessions in this project" if is_archived else _NONE_YET)
        return
    columns = [
        table.ids.picked(rows),
        session_titles(table.titles.picked(rows)),
        _ages([table.updated[row] for row in rows], system_clock()),
        *zip(*(_changes(table, row) for row in rows), strict=True),
    ]
    heads = ["ID", "TITLE", "USED", "+", "−"]
    shown = len(heads) if any(columns[3]) else 3
    print_columns(heads[:shown], columns[:shown])


def show_tree() -> None:
    """Print the sessions as a tree."""
    tree_rows = build_tree(with_sessions(lambda sessions: sessions.listed(), doing=_READING))
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


def _changes(table: SessionTable, row: int) -> tuple[str, str]:
    additions, deletions = table.changes_at(row) if table.flags[row] & CHANGED else (0, 0)
    return (f"+{additions}", f"−{deletions}") if additions or deletions else ("", "")


def _ages(moments: Sequence[int], now: int) -> list[str]:
    """Return how long ago moments in ms since 1970 were."""

    @cache
    def of_days(days: int) -> str:  # most of 100,000 sessions are older than a day
        return age(now - days * _DAY_MS, now)

    return [of_days(days) if (days := (now - one) // _DAY_MS) > 0 else age(one, now) for one in moments]
