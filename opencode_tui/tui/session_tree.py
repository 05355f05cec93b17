"""The tree of sessions as rows: forks and subagent sessions, grouped by day, each with its state."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Literal

from opencode_tui.schema.ranking import ranked
from opencode_tui.schema.session.session import PINNED_KEY, RetryStatus, SessionInfo, is_default_title
from opencode_tui.text.quantity import short_path
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.session_tree import origin_of
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.state.folder import FolderState
from opencode_tui.tui.theme.glyphs import Glyphs

State = Literal["running", "asks", "retry", "undone", "done", "failed", "idle"]

HUES: Mapping[State, str] = {
    "running": "accent",
    "asks": "warning",
    "retry": "warning",
    "undone": "muted",
    "done": "success",
    "failed": "error",
    "idle": "muted",
}

_AGENT_TITLE = re.compile(r"^(?P<title>.*) \(@(?P<agent>[^()\s]+) subagent\)$", re.DOTALL)


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
    def is_pinned(self) -> bool:
        """Return whether the user pinned the session."""
        return is_pinned(self.info)


def is_pinned(info: SessionInfo) -> bool:
    """Return whether the user pinned a session."""
    return (info.metadata or {}).get(PINNED_KEY) is True


def listed_rows(
    control: SessionController, glyphs: Glyphs, *, is_everywhere: bool, is_archived: bool = False
) -> Sequence[SessionRow]:
    """Return the sessions of the folder, or those of all projects by folder."""
    folder, now = control.folder, control.now()
    if not is_everywhere:
        return session_rows(folder, now, glyphs, archived=is_archived)
    infos = {info.id: info for info in (*control.everywhere, *folder.sessions.values())}
    return rows_by_folder(folder, now, glyphs, infos.values(), home=os.path.expanduser("~"), archived=is_archived)


def matching_rows(rows: Sequence[SessionRow], typed: str) -> Sequence[SessionRow]:
    """Return the sessions whose titles match a filter, best first; all of them without one."""
    if not typed.strip():
        return rows
    return [rows[at] for at, _ in ranked(typed, [one.title for one in rows])]


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
    known = {info.id for info in infos}
    by_id = sorted(infos, key=lambda info: info.id)  # IDs of sessions descend: of one millisecond the newest is first
    newest = sorted(by_id, key=lambda info: info.time.updated, reverse=True)
    below: dict[str, list[SessionInfo]] = {}
    for info in newest:
        below.setdefault(origin_of(info) if origin_of(info) in known else "", []).append(info)
    grower = _Grower(below, folder, glyphs)
    roots = sorted(below.get("", []), key=lambda info: (is_pinned(info), grower.latest(info)), reverse=True)
    rows: list[SessionRow] = []
    for info in [*roots, *newest]:  # sessions in a cycle of a damaged record are roots
        if info.id not in grower.seen:
            group = "Pinned" if is_pinned(info) else day(grower.latest(info), now)
            rows.extend(grower.grow(info, group, lead="", branch=""))
    return rows


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


class _Grower:
    def __init__(self, below: Mapping[str, Sequence[SessionInfo]], folder: FolderState, glyphs: Glyphs) -> None:
        self.seen: set[str] = set()
        self._below = below
        self._folder = folder
        self._arms = (f"{glyphs.branch}{glyphs.twig}", f"{glyphs.last_branch}{glyphs.twig}")
        self._leads = (f"{glyphs.step_rail} ", "  ")

    def latest(self, info: SessionInfo) -> int:
        """Return when a session or one of its descendants was last updated."""
        newest, rest, seen = info.time.updated, [info.id], {info.id}
        while rest:
            for child in self._below.get(rest.pop(), ()):
                if child.id not in seen:
                    seen.add(child.id)
                    rest.append(child.id)
                    newest = max(newest, child.time.updated)
        return newest

    def grow(self, info: SessionInfo, group: str, *, lead: str, branch: str) -> Iterator[SessionRow]:
        """Yield a session and its descendants."""
        self.seen.add(info.id)
        kind, title = name_of(info)
        yield SessionRow(info, lead + branch, kind, title, state_of(info, self._folder), group)
        if branch:
            lead += self._leads[branch == self._arms[1]]
        children = [child for child in self._below.get(info.id, []) if child.id not in self.seen]
        for child in children:
            if child.id not in self.seen:
                arm = self._arms[child is children[-1]]
                yield from self.grow(child, group, lead=lead, branch=arm)


def name_of(info: SessionInfo) -> tuple[str, str]:
    """Return the kind of a session and its title, both safe."""
    title = "New session" if is_default_title(info.title) else " ".join(info.title.split())
    found = _AGENT_TITLE.match(title)
    if info.parent_id:
        return (screen_line(found["agent"]), screen_line(found["title"])) if found else ("agent", screen_line(title))
    return "fork" if origin_of(info) else "", screen_line(title)


def state_of(info: SessionInfo, folder: FolderState) -> State:
    """Return what a session does, or how its last run in this process ended."""
    if folder.waits(info.id) is not None:
        return "asks"
    if folder.is_busy(info.id):
        return "retry" if isinstance(folder.status(info.id), RetryStatus) else "running"
    if info.revert is not None:
        return "undone"
    return folder.ended.get(info.id) or ("done" if info.parent_id else "idle")


def sign_of(state: State, glyphs: Glyphs) -> str:
    """Return the sign of a state; a blank for an idle session."""
    return {
        "running": glyphs.running,
        "asks": glyphs.asks,
        "retry": glyphs.retried,
        "undone": glyphs.undone,
        "done": glyphs.done,
        "failed": glyphs.failed,
        "idle": " ",
    }[state]


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
