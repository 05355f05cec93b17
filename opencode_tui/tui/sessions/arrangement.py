"""The order of many sessions in a list: trees of forks and subagent sessions, by day, all as rows of a table.

Only the sessions of trees with more than one are made: a project may have 100,000 sessions.
"""

import os
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from operator import neg
from typing import NamedTuple

from opencode_tui.schema.session.session_table import ARCHIVED, CHILD, FORK, PINNED, SessionTable
from opencode_tui.text.quantity import short_path
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.session_tree import TreeSigns, build_tree


class Arranged(NamedTuple):
    """Rows of a table from top to bottom, where each group begins with its name, and the tree lines before some."""

    rows: "array[int]"
    groups: list[tuple[int, str]]
    branches: dict[int, str]


class _Ordered(NamedTuple):
    """Rows from top to bottom, when each one's tree was last used, and the lines before some."""

    rows: "array[int]"
    used: "array[int]"
    branches: dict[int, str]


class _Tree(NamedTuple):
    """The rows of a tree with the lines before them, and when one of them was last updated, in ms since 1970."""

    rows: list[tuple[int, str]]
    used: int


def in_one_folder(
    table: SessionTable, rows: Sequence[int], signs: TreeSigns, now: int, *, is_archived: bool
) -> Arranged:
    """Return the rows that are archived, or the others, as trees by the day on which they were last used, pinned ones first.

    `rows` are in the order of their IDs, `now` is in ms since 1970.
    """
    trees, pinned = _arrange(table, _chosen(table, rows, is_archived=is_archived), signs)
    groups = [*([(0, "Pinned")] if pinned else []), *_days(trees.used, pinned, now)]
    return Arranged(trees.rows, groups, trees.branches)


def by_folder(table: SessionTable, rows: Sequence[int], signs: TreeSigns, _now: int, *, is_archived: bool) -> Arranged:
    """Return what `in_one_folder` does, by the folders of the sessions in place of days, the folder that was used last first."""
    folders: dict[str, list[int]] = {}
    for row in rows:
        folders.setdefault(table.directory_at(row), []).append(row)
    updated, home = table.updated, os.path.expanduser("~")
    found = Arranged(array("I"), [], {})
    for path in sorted(folders, key=lambda one: max(map(updated.__getitem__, folders[one])), reverse=True):
        trees, _ = _arrange(table, _chosen(table, folders[path], is_archived=is_archived), signs)
        if trees.rows:
            found.groups.append((len(found.rows), screen_line(short_path(path, home))))
            found.rows.extend(trees.rows)
            found.branches.update(trees.branches)
    return found


def _arrange(table: SessionTable, rows: Sequence[int], signs: TreeSigns) -> tuple["_Ordered", int]:
    """Return rows as trees: pinned ones first, on each level the latest first; and how many are in the pinned trees."""
    trees, members = _trees(table, rows, signs)
    updated, flags = table.updated, table.flags
    tops = [row for row in rows if row not in members or row in trees] if trees else [*rows]
    tops.sort(key=updated.__getitem__, reverse=True)
    if trees:
        tops.sort(key=lambda row: trees[row].used if row in trees else updated[row], reverse=True)
    pinned = [row for row in tops if flags[row] & PINNED]
    if pinned:
        tops = [*pinned, *(row for row in tops if not flags[row] & PINNED)]
    order, used, branches, pinned_end = array("I"), array("q"), dict[int, str](), 0
    for number, row in enumerate(tops) if trees else ():
        tree = trees.get(row) or _Tree([(row, "")], updated[row])
        for one, branch in tree.rows:
            order.append(one)
            used.append(tree.used)
            if branch:
                branches[one] = branch
        if number + 1 == len(pinned):
            pinned_end = len(order)
    if not trees:
        order, pinned_end = array("I", tops), len(pinned)
        used.extend(map(updated.__getitem__, tops))
    return _Ordered(order, used, branches), pinned_end


def _trees(table: SessionTable, rows: Sequence[int], signs: TreeSigns) -> tuple[dict[int, _Tree], set[int]]:
    """Return the trees of more than one session by the rows of their roots, and all rows in them."""
    flags = table.flags
    origins = {row: table.origin_at(row) for row in rows if flags[row] & (CHILD | FORK)}
    at = _rows_of(table, rows, set(origins.values()))
    members = {row for row, origin in origins.items() if origin in at}
    members |= {at[origins[row]] for row in members}
    trees: dict[int, _Tree] = {}
    number_of = {table.ids[row]: row for row in members}
    for one in build_tree(map(table.__getitem__, sorted(members)), signs):
        root = number_of[one.root.id]
        trees.setdefault(root, _Tree([], one.used)).rows.append((number_of[one.info.id], one.branch))
    return trees, members


def _rows_of(table: SessionTable, rows: Iterable[int], ids: set[str]) -> dict[str, int]:
    """Return the rows of those IDs that are among rows."""
    return {one: row for row in rows if (one := table.ids[row]) in ids} if ids else {}


def _chosen(table: SessionTable, rows: Sequence[int], *, is_archived: bool) -> Sequence[int]:
    """Return the rows of sessions that are archived themselves or with their callers, or the others."""
    flags = table.flags
    if not any(flags[row] & ARCHIVED for row in rows):
        return () if is_archived else rows
    parents = {row: table.parent_at(row) for row in rows if flags[row] & CHILD}
    at = _rows_of(table, rows, set(parents.values()))

    def is_hidden(row: int | None) -> bool:
        seen: set[int] = set()
        while row is not None and row not in seen:
            if flags[row] & ARCHIVED:
                return True
            seen.add(row)
            row = at.get(parents.get(row, ""))
        return False

    return [row for row in rows if is_hidden(row) == is_archived]


def _days(used: "array[int]", start: int, now: int) -> list[tuple[int, str]]:
    """Return where each day, week or month begins among moments in ms since 1970, of which the latest is first."""
    groups: list[tuple[int, str]] = []
    while start < len(used):
        name, begin = _day(used[start], date_of(now))
        if not groups or groups[-1][1] != name:
            groups.append((start, name))
        start = max(start + 1, bisect_right(used, -begin, start, key=neg))
    return groups


def day(moment: int, now: int) -> str:
    """Return Today, Yesterday, Last week or the month; both arguments in ms since 1970."""
    return _day(moment, date_of(now))[0]


def _day(moment: int, today: date) -> tuple[str, int]:
    """Return the name of a moment's group, and when that began, in ms since 1970."""
    then = date_of(moment)
    if then >= today:
        return "Today", _begin(today, moment)
    if then == today - timedelta(days=1):
        return "Yesterday", _begin(then, moment)
    if then > today - timedelta(days=7):
        return "Last week", _begin(today - timedelta(days=6), moment)
    return then.strftime("%B %Y"), _begin(then.replace(day=1), moment)


def _begin(first: date, moment: int) -> int:
    """Return when a day began; the moment itself where no calendar has it, or where the day is later."""
    try:
        datetime.fromtimestamp(moment / 1000)
        return min(moment, round(datetime(first.year, first.month, first.day).timestamp() * 1000))
    except (OverflowError, ValueError, OSError):
        return moment


def date_of(moment: int) -> date:
    """Return the local day of a moment in ms since 1970."""
    try:
        return datetime.fromtimestamp(moment / 1000).date()
    except (OverflowError, ValueError, OSError):  # a record with an invalid time
        return datetime.fromtimestamp(0).date()
