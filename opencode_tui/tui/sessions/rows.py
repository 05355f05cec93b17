"""Sessions as rows: the tree of forks and subagent sessions, grouped by day, each with its state; deleted sessions."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.text.quantity import QUARTER_MS
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.session_tree import TreeSigns, build_tree
from opencode_tui.tui.state.folder import FolderState
from opencode_tui.tui.state.session_state import State, name_of, state_of, still_state
from opencode_tui.tui.theme.glyphs import Glyphs

if TYPE_CHECKING:
    from opencode_tui.schema.api.trash import TrashedSession


class Row(Struct, frozen=True, gc=False):
    """A session, or a deleted one. Texts are safe."""

    of: "ListedSession | TrashedSession"
    id: str
    """The ID of the session, or the name of the entry in the trash."""
    time: int
    """When it was last updated, or deleted, in ms since 1970."""
    title: str
    group: str = ""
    """The day of `time`, of a fork or subagent session that of its tree; `Pinned`, or the folder of another project."""
    state: State = "idle"
    branch: str = ""
    """The tree line before it."""
    kind: str = ""
    """Empty, `fork` or the agent's name."""

    @property
    def is_pinned(self) -> bool:
        """Whether the user pinned the session."""
        return isinstance(self.of, ListedSession) and self.of.is_pinned

    @property
    def is_shared(self) -> bool:
        """Whether the session is on a share server."""
        return isinstance(self.of, ListedSession) and self.of.is_shared


def row_of(info: ListedSession) -> Row:
    """Return a session outside of a list."""
    return Row(info, info.id, info.updated, name_of(info)[1])


def trash_rows(entries: Iterable["TrashedSession"], now: int) -> list[Row]:
    """Return deleted sessions in their order."""
    return [
        Row(one, one.name, one.deleted, screen_line(" ".join(one.title.split())) or "(no title)", day(one.deleted, now))
        for one in entries
    ]


def session_rows(
    folder: FolderState,
    infos: Iterable[ListedSession],
    now: int,
    glyphs: Glyphs,
    *,
    is_archived: bool = False,
    group: str = "",
) -> list[Row]:
    """Return the sessions that are not archived, or those that are, pinned ones first, on each level the latest first.

    All are in the `group` if there is one. Agent sessions are archived with the session that called them.
    """
    chosen = _chosen(list(infos), is_archived=is_archived)
    signs = TreeSigns(f"{glyphs.branch}{glyphs.twig}", f"{glyphs.last_branch}{glyphs.twig}", f"{glyphs.step_rail} ")
    tree = sorted(build_tree(chosen, signs), key=attrgetter("used"), reverse=True)  # trees stay together
    if any(map(attrgetter("is_pinned"), chosen)):
        tree.sort(key=attrgetter("root.is_pinned"), reverse=True)
    active = {*folder.statuses, *folder.ended, *(one.session_id for one in folder.asking.values())}

    today = date_of(now)

    @cache
    def name_of_day(then: date) -> str:
        return _day_name(then, today)

    @cache
    def day_of(quarter: int) -> str:
        return name_of_day(date_of(quarter * QUARTER_MS))

    rows: list[Row] = []
    for one in tree:
        info = one.info
        kind, title = name_of(info)
        own_group = group or ("Pinned" if one.root.is_pinned else day_of(one.used // QUARTER_MS))
        state = state_of(info, folder) if info.id in active else still_state(info)
        rows.append(Row(info, info.id, info.updated, title, own_group, state, one.branch, kind))
    return rows


def _chosen(infos: Sequence[ListedSession], *, is_archived: bool) -> list[ListedSession]:
    """Return the sessions that are archived themselves or with their callers, or the others."""
    if not is_archived and not any(info.is_archived for info in infos):
        return [*infos]
    by_id = {info.id: info for info in infos}

    def hidden(info: ListedSession | None) -> bool:
        seen: set[str] = set()
        while info is not None and info.id not in seen:
            if info.is_archived:
                return True
            seen.add(info.id)
            info = by_id.get(info.parent_id)
        return False

    return [info for info in infos if hidden(info) == is_archived]


def day(moment: int, now: int) -> str:
    """Return Today, Yesterday, Last week or the month; both arguments in ms since 1970."""
    return _day_name(date_of(moment), date_of(now))


def _day_name(then: date, today: date) -> str:
    if then >= today:
        return "Today"
    if then == today - timedelta(days=1):
        return "Yesterday"
    return "Last week" if then > today - timedelta(days=7) else then.strftime("%B %Y")


def date_of(moment: int) -> date:
    """Return the local day of a moment in ms since 1970."""
    try:
        return datetime.fromtimestamp(moment / 1000).date()
    except (OverflowError, ValueError, OSError):  # a record with an invalid time
        return datetime.fromtimestamp(0).date()
