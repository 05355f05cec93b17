"""The sessions that lists show: those of the folder, of other projects and of the trash once the user asked for them."""

import os
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Literal

from opencode_tui.schema.api.trash import TrashedSession
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.tui.sessions.tree import SessionRow, TrashRow, rows_by_folder, session_rows, trash_rows
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.theme.glyphs import Glyphs

View = Literal["active", "archived", "trash"]
"""Which sessions a list shows."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Sessions that were deleted or archived together in this run."""

    kind: Literal["deleted", "archived"]
    infos: Sequence[SessionInfo]


class KnownSessions:
    """Sessions of the folder follow its events; all others are as they were when they were loaded."""

    def __init__(self, control: SessionController) -> None:
        self.moved: list[Moved] = []
        """What can be undone for the rest of the run, the last one at the end."""
        self.last_restored = ""
        """The ID of the session that was brought back last."""
        self._control = control
        self._everywhere: Sequence[SessionInfo] = ()
        self._trash: Sequence[TrashedSession] = ()
        self._project_id = ""

    async def load_everywhere(self) -> None:
        """Load the sessions of all projects. Raises OpencodeError."""
        self._everywhere = await self._control.client.sessions.everywhere()

    def drop_everywhere(self) -> None:
        """Keep the sessions of the folder only."""
        self._everywhere = ()

    async def load_trash(self) -> None:
        """Load the deleted sessions. Raises OpencodeError."""
        client = self._control.client
        self._trash = await client.trash.list()
        self._project_id = self._project_id or (await client.project.current()).id

    def drop_moved(self, session_ids: Container[str]) -> None:
        """Record that these sessions cannot be brought back by an undo any more."""
        self.moved = [one for one in self.moved if all(info.id not in session_ids for info in one.infos)]

    def replace(self, session_id: str, info: SessionInfo | None) -> None:
        """Apply a change of a session, whose events may not arrive here; None for a deleted one."""
        others = [one for one in self._everywhere if one.id != session_id]
        self._everywhere = others if info is None or len(others) == len(self._everywhere) else [*others, info]

    def get(self, session_id: str) -> SessionInfo | None:
        """Return a session; None for one that is not known."""
        found = next((one for one in self._everywhere if one.id == session_id), None)
        return self._control.folder.sessions.get(session_id, found)

    def is_here(self, info: SessionInfo) -> bool:
        """Return whether a session is one of the folder's project."""
        return info.id in self._control.folder.sessions

    def rows(self, glyphs: Glyphs, *, is_everywhere: bool = False, is_archived: bool = False) -> Sequence[SessionRow]:
        """Return the sessions of the folder, or those of all projects by folder."""
        folder, now = self._control.folder, self._control.now()
        if not is_everywhere:
            return session_rows(folder, now, glyphs, archived=is_archived)
        infos = {info.id: info for info in (*self._everywhere, *folder.sessions.values())}
        return rows_by_folder(folder, now, glyphs, infos.values(), home=os.path.expanduser("~"), archived=is_archived)

    def trash_rows(self, *, is_everywhere: bool) -> Sequence[TrashRow]:
        """Return the deleted sessions of the project, or of all of them."""
        shown = [one for one in self._trash if is_everywhere or one.project_id == self._project_id]
        return trash_rows(shown, self._control.now())
