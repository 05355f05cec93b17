"""Sessions as rows: the tree of forks and subagent sessions, grouped by day, each with its state; deleted sessions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from opencode_tui.schema.api.trash import TrashedSession
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.text.quantity import short_path
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.session_tree import TreeSigns, build_tree
from opencode_tui.tui.state.folder import FolderState
from opencode_tui.tui.state.session_state import State, is_pinned, name_of, state_of
from opencode_tui.tui.theme.glyphs import Glyphs


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session; `branch` is the tree line before it, `kind` is empty, `fork` or the agent's name. Texts are safe."""

    info: SessionInfo
    branch: str
    kind: str
    title: str
    state: State
    group: str
    """The day of the root of its tree, `Pinned`, or the folder of a session of another project."""

    @property
    def id(self) -> str:
        """The ID of the session."""
        return self.info.id

    @property
    def is_pinned(self) -> bool:
        """Whether the user pinned the session."""
        return is_pinned(self.info)


@dataclass(frozen=True, slots=True)
class TrashRow:
    """One deleted session; `group` is the day on which it was deleted. Texts are safe."""

    entry: TrashedSession
    title: str
    group: str

    @property
    def id(self) -> str:
        """The name of the entry in the trash."""
        return self.entry.name


def trash_rows(entries: Iterable[TrashedSession], now: int) -> list[TrashRow]:
    """Return deleted sessions in their order."""
    return [
        TrashRow(one, screen_line(" ".join(one.title.split())) or "(no title)", day(one.deleted, now))
        for one in entries
    ]


def session_rows(
    folder: FolderState,
    now: int,
    glyphs: Glyphs,
    infos: Iterable[SessionInfo] | None = None,
    *,
    archived: bool = False,
) -> list[SessionRow]:
    """Return the sessions that are not archived, or those that are, pinned ones first, on each level the latest first.

    `infos` are those of the folder's project by default. Agent sessions are archived with the session that called them.
    """
    infos = _chosen(list(folder.sessions.values() if infos is None else infos), archived=archived)
    signs = TreeSigns(f"{glyphs.branch}{glyphs.twig}", f"{glyphs.last_branch}{glyphs.twig}", f"{glyphs.step_rail} ")
    tree = build_tree(infos, signs, root_order=lambda info, used: (is_pinned(info), used))
    return [
        SessionRow(
            one.info,
            one.branch,
            *name_of(one.info),
            state_of(one.info, folder),
            "Pinned" if is_pinned(one.root) else day(one.used, now),
        )
        for one in tree
    ]


def rows_by_folder(
    folder: FolderState, now: int, glyphs: Glyphs, infos: Iterable[SessionInfo], *, home: str, archived: bool = False
) -> list[SessionRow]:
    """Return the sessions of all projects, grouped by folder, the last used folder first."""
    folders: dict[str, list[SessionInfo]] = {}
    for info in sorted(infos, key=lambda info: info.time.updated, reverse=True):
        folders.setdefault(info.directory, []).append(info)
    return [
        replace(row, group=screen_line(short_path(directory, home)))
        for directory, members in folders.items()
        for row in session_rows(folder, now, glyphs, members, archived=archived)
    ]


def _chosen(infos: Sequence[SessionInfo], *, archived: bool) -> list[SessionInfo]:
    """Return the sessions that are archived themselves or with their callers, or the others."""
    by_id = {info.id: info for info in infos}

    def is_archived(info: SessionInfo | None) -> bool:
        seen: set[str] = set()
        while info is not None and info.id not in seen:
            if info.time.archived is not None:
                return True
            seen.add(info.id)
            info = by_id.get(info.parent_id or "")
        return False

    return [info for info in infos if is_archived(info) == archived]


def day(moment: int, now: int) -> str:
    """Return Today, Yesterday, Last week or the month; both arguments in ms since 1970."""
    today, then = datetime.fromtimestamp(now / 1000).date(), _date(moment)
    if then >= today:
        return "Today"
    if then == today - timedelta(days=1):
        return "Yesterday"
    return "Last week" if then > today - timedelta(days=7) else then.strftime("%B %Y")


def _date(moment: int) -> date:
    try:
        return datetime.fromtimestamp(moment / 1000).date()
    except (OverflowError, ValueError, OSError):  # a record with an invalid time
        return datetime.fromtimestamp(0).date()
