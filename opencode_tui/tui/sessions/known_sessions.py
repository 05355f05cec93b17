"""The sessions that lists show: those of the folder, of other projects and of the trash once the user asked for them."""

import os
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Literal

from opencode_tui.schema.session.listed import ListedSession, listed
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.text.quantity import short_path
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.sessions.rows import Row, date_of, session_rows, trash_rows
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.theme.glyphs import Glyphs

if TYPE_CHECKING:
    from opencode_tui.schema.api.trash import TrashedSession

View = Literal["active", "archived", "trash"]
"""Which sessions a list shows."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Sessions that were deleted or archived together in this run; `undo` brings one of them back."""

    rows: Sequence[Row]
    undo: Callable[[Row], Coroutine[object, object, object]]


@dataclass(frozen=True, slots=True)
class _Made:
    """Rows, and what they were made of: records, which are replaced when they change, and all else."""

    infos: Sequence[ListedSession]
    others: Sequence[object]
    rows: Sequence[Row]

    def is_of(self, infos: Sequence[ListedSession], others: Sequence[object]) -> bool:
        """Return whether rows of these would be the same."""
        return len(infos) == len(self.infos) and others == self.others and all(map(is_, infos, self.infos))


class KnownSessions:
    """Sessions of the folder follow its events; all others are as they were when they were loaded."""

    def __init__(self, control: SessionController) -> None:
        self.moved: list[Moved] = []
        """What can be undone for the rest of the run, the last one at the end."""
        self._control = control
        self._everywhere: Sequence[ListedSession] = ()
        self._trash: Sequence[TrashedSession] = ()
        self._project_id = ""
        self._made: dict[tuple[View, bool], _Made] = {}

    async def load(self, *, everywhere: bool, trash: bool) -> None:
        """Load the sessions of all projects, and the deleted sessions, where wanted. Raises OpencodeError."""
        client = self._control.client
        if trash:
            self._trash = await client.trash.list()
            self._project_id = self._project_id or (await client.project.current()).id
        if everywhere:
            self._everywhere = await client.sessions.listed(is_everywhere=True)

    def drop_moved(self, session_id: str) -> None:
        """Record that a session cannot be brought back by an undo any more."""
        self.moved = [one for one in self.moved if all(row.id != session_id for row in one.rows)]

    def replace(self, session_id: str, info: SessionInfo | None) -> None:
        """Apply a change of a session, whose events may not arrive here; None for a deleted one."""
        others = [one for one in self._everywhere if one.id != session_id]
        self._everywhere = others if info is None or len(others) == len(self._everywhere) else [*others, listed(info)]

    def is_here(self, session_id: str) -> bool:
        """Return whether a session is one of the folder's project."""
        return session_id in self._control.folder.sessions

    def rows(self, view: View, glyphs: Glyphs, *, is_everywhere: bool) -> Sequence[Row]:
        """Return the sessions of the folder's project, or those of all projects by folder, the last used folder first.

        They are the same object as long as nothing that they show has changed.
        """
        folder, now = self._control.folder, self._control.now()
        if view == "trash":
            shown = [one for one in self._trash if is_everywhere or one.project_id == self._project_id]
            return trash_rows(shown, now)
        infos = [*self._everywhere, *folder.sessions.values()] if is_everywhere else [*folder.sessions.values()]
        asking = {one.session_id for one in folder.asking.values()}
        others = (glyphs, dict(folder.statuses), asking, dict(folder.ended), date_of(now))
        made = self._made.get((view, is_everywhere))
        if made is None or not made.is_of(infos, others):
            rows = self._rows_of(infos, glyphs, now, is_archived=view == "archived", is_everywhere=is_everywhere)
            made = self._made[view, is_everywhere] = _Made(infos, others, rows)
        return made.rows

    def _rows_of(
        self, infos: Sequence[ListedSession], glyphs: Glyphs, now: int, *, is_archived: bool, is_everywhere: bool
    ) -> Sequence[Row]:
        folder = self._control.folder
        if not is_everywhere:
            return session_rows(folder, infos, now, glyphs, is_archived=is_archived)
        newest = {info.id: info for info in infos}
        folders: dict[str, list[ListedSession]] = {}
        for info in sorted(newest.values(), key=attrgetter("updated"), reverse=True):
            folders.setdefault(info.directory, []).append(info)
        home = os.path.expanduser("~")
        return [
            row
            for path, members in folders.items()
            for row in session_rows(
                folder, members, now, glyphs, is_archived=is_archived, group=screen_line(short_path(path, home))
            )
        ]
