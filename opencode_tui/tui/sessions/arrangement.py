"""The order of sessions in a list: trees of forks and subagent sessions, by day or by folder."""

import os
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from operator import attrgetter
from typing import NamedTuple

from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.text.quantity import short_path
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.session_tree import TreeRow, TreeSigns, build_tree


class Placed(NamedTuple):
    """A session in its place, with the tree line before it and the name of its group."""

    info: ListedSession
    branch: str
    group: str


def in_one_folder(infos: Iterable[ListedSession], signs: TreeSigns, now: int, *, is_archived: bool) -> list[Placed]:
    """Return the sessions that are archived, or the others, as trees by the day on which they were last used, pinned ones first.

    `now` is in ms since 1970.
    """
    today, names = date_of(now), dict[date, str]()

    def group(tree: TreeRow) -> str:
        if tree.root.is_pinned:
            return "Pinned"
        then = date_of(tree.used)
        if then not in names:
            names[then] = _day(then, today)
        return names[then]

    return [Placed(one.info, one.branch, group(one)) for one in _trees(_chosen(infos, is_archived=is_archived), signs)]


def by_folder(infos: Iterable[ListedSession], signs: TreeSigns, _now: int, *, is_archived: bool) -> list[Placed]:
    """Return what `in_one_folder` does, by the folders of the sessions in place of days, the folder that was used last first."""
    folders: dict[str, list[ListedSession]] = {}
    for info in infos:
        folders.setdefault(info.directory, []).append(info)
    home = os.path.expanduser("~")
    placed: list[Placed] = []
    for path in sorted(folders, key=lambda one: max(map(attrgetter("updated"), folders[one])), reverse=True):
        name = screen_line(short_path(path, home))
        trees = _trees(_chosen(folders[path], is_archived=is_archived), signs)
        placed += [Placed(one.info, one.branch, name) for one in trees]
    return placed


def _trees(infos: Iterable[ListedSession], signs: TreeSigns) -> list[TreeRow]:
    """Return sessions as trees: pinned ones first, then the last used."""
    rows = build_tree(infos, signs)
    rows.sort(key=attrgetter("used"), reverse=True)
    return [*(one for one in rows if one.root.is_pinned), *(one for one in rows if not one.root.is_pinned)]


def _chosen(infos: Iterable[ListedSession], *, is_archived: bool) -> Sequence[ListedSession]:
    """Return the sessions that are archived themselves or with their callers, or the others."""
    by_id = {info.id: info for info in infos}

    def is_hidden(info: ListedSession | None) -> bool:
        seen: set[str] = set()
        while info is not None and info.id not in seen:
            if info.is_archived:
                return True
            seen.add(info.id)
            info = by_id.get(info.parent_id)
        return False

    return [info for info in by_id.values() if is_hidden(info) == is_archived]


def day(moment: int, now: int) -> str:
    """Return Today, Yesterday, Last week or the month; both arguments in ms since 1970."""
    return _day(date_of(moment), date_of(now))


def _day(then: date, today: date) -> str:
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
