"""`opencode-tui session list|tree`: the sessions of the project, read without an engine."""

from collections.abc import Sequence
from operator import attrgetter

from opencode_tui.cli.engine_access import with_sessions
from opencode_tui.cli.session_choice import session_title
from opencode_tui.cli.table import print_table
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.client.project_sessions import ProjectSessions
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.session.listed import ListedSession, listed
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.text.quantity import age
from opencode_tui.text.session_tree import build_tree

_READING = "Reading the sessions"
_NONE_YET = 'no sessions in this project; start one with: opencode-tui run "explain this folder"'


def list_sessions(*, limit: int | None, is_archived: bool, style: str) -> None:
    """Print the sessions, the last used first."""

    async def records(sessions: ProjectSessions) -> Sequence[SessionInfo]:
        if limit is not None:
            return await sessions.recent(limit, is_archived=is_archived)
        chosen = [info for info in await sessions.all() if (info.time.archived is not None) == is_archived]
        return sorted(chosen, key=lambda info: info.time.updated, reverse=True)

    async def shown(sessions: ProjectSessions) -> Sequence[ListedSession]:
        if limit is not None:
            return [*map(listed, await records(sessions))]
        chosen = [info for info in await sessions.listed() if info.is_archived == is_archived]
        return sorted(chosen, key=attrgetter("updated"), reverse=True)

    if style == "json":
        print_json([info.to_dict() for info in with_sessions(records, doing=_READING)])
        return
    infos, now = with_sessions(shown, doing=_READING), system_clock()
    if not infos:
        say("no archived sessions in this project" if is_archived else _NONE_YET)
        return
    heads = ["ID", "TITLE", "USED", "+", "−"]
    count = len(heads) if any(info.additions or info.deletions for info in infos) else 3
    rows = [[info.id, session_title(info), age(info.updated, now), *_changes(info)][:count] for info in infos]
    print_table(heads[:count], rows)


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


def _changes(info: ListedSession) -> tuple[str, str]:
    return (f"+{info.additions}", f"−{info.deletions}") if info.additions or info.deletions else ("", "")
