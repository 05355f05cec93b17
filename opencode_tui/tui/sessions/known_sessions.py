"""The sessions that lists show: those of the folder, of other projects and of the trash once the user asked for them."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from opencode_tui.schema.session.listed import ListedSession, listed
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.text.session_tree import TreeSigns
from opencode_tui.tui.sessions.arrangement import by_folder, date_of, in_one_folder
from opencode_tui.tui.sessions.rows import Row, trash_rows
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.state.session_map import SessionMap
from opencode_tui.tui.state.session_state import state_of, still_state
from opencode_tui.tui.theme.look import Glyphs

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
    """Rows, and what they were made of: sessions, how many changes they had, and all else."""

    sessions: SessionMap
    changes: int
    others: Sequence[object]
    rows: Sequence[Row]

    def is_of(self, sessions: SessionMap, others: Sequence[object]) -> bool:
        """Return whether rows of these would be the same."""
        return sessions is self.sessions and sessions.changes == self.changes and others == self.others


class KnownSessions:
    """Sessions of the folder follow its events; all others are as they were when they were loaded."""

    def __init__(self, control: SessionController) -> None:
        self.moved: list[Moved] = []
        """What can be undone for the rest of the run, the last one at the end."""
        self._control = control
        self._elsewhere: dict[str, ListedSession] = {}
        """The sessions of other projects, once they were asked for."""
        self._replaced = 0
        """How often these were changed here."""
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
            before = {*self._control.folder.sessions}
            found = await client.sessions.listed(is_everywhere=True)
            here = before.union(self._control.folder.sessions)
            self._elsewhere = {info.id: info for info in found if info.id not in here}
            self._replaced += 1

    def drop_moved(self, session_id: str) -> None:
        """Record that a session cannot be brought back by an undo any more."""
        self.moved = [one for one in self.moved if all(row.id != session_id for row in one.rows)]

    def replace(self, session_id: str, info: SessionInfo | None) -> None:
        """Apply a change of a session, whose events may not arrive here; None for a deleted one."""
        if session_id not in self._elsewhere:
            return
        self._replaced += 1
        if info is None:
            del self._elsewhere[session_id]
        else:
            self._elsewhere[session_id] = listed(info)

    def is_here(self, session_id: str) -> bool:
        """Return whether a session is one of the folder's project."""
        return session_id in self._control.folder.sessions

    def rows(self, view: View, glyphs: Glyphs, *, is_everywhere: bool) -> Sequence[Row]:
        """Return the sessions of the folder's project, or those of all projects by folder, the last used folder first.

        They are the same object as long as nothing that they show has changed.
        """
        folder, now = self._control.folder, self._control.now()
        if view == "trash":
            deleted = [one for one in self._trash if is_everywhere or one.project_id == self._project_id]
            return trash_rows(deleted, now)
        asking = {one.session_id for one in folder.asking.values()}
        others = (
            glyphs,
            dict(folder.statuses),
            asking,
            dict(folder.ended),
            date_of(now),
            is_everywhere and self._replaced,
        )
        made = self._made.get((view, is_everywhere))
        if made is None or not made.is_of(folder.sessions, others):
            signs = TreeSigns(
                f"{glyphs.branch}{glyphs.twig}", f"{glyphs.last_branch}{glyphs.twig}", f"{glyphs.step_rail} "
            )
            shown: Mapping[str, ListedSession] = (
                {**self._elsewhere, **folder.sessions} if is_everywhere else folder.sessions
            )
            ordered = by_folder if is_everywhere else in_one_folder
            active = {*folder.statuses, *folder.ended, *asking}
            rows = [
                Row(
                    one.info,
                    one.info.id,
                    one.info.updated,
                    one.group,
                    state_of(one.info, folder) if one.info.id in active else still_state(one.info),
                    one.branch,
                )
                for one in ordered(shown.values(), signs, now, is_archived=view == "archived")
            ]
            made = self._made[view, is_everywhere] = _Made(folder.sessions, folder.sessions.changes, others, rows)
        return made.rows
