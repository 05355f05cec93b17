"""The sessions that the lists show: those of the folder, and those of other projects once the user asked for them."""

import os
from collections.abc import Sequence

from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.tui.sessions.tree import SessionRow, rows_by_folder, session_rows
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.theme.glyphs import Glyphs


class KnownSessions:
    """Sessions of the folder follow its events; those of other projects are as they were when they were loaded."""

    def __init__(self, control: SessionController) -> None:
        self._control = control
        self._everywhere: Sequence[SessionInfo] = ()

    async def load_everywhere(self) -> None:
        """Load the sessions of all projects. Raises OpencodeError."""
        self._everywhere = await self._control.client.sessions.everywhere()

    def drop_everywhere(self) -> None:
        """Keep the sessions of the folder only."""
        self._everywhere = ()

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

    def rows(self, glyphs: Glyphs, *, is_everywhere: bool, is_archived: bool = False) -> Sequence[SessionRow]:
        """Return the sessions of the folder, or those of all projects by folder."""
        folder, now = self._control.folder, self._control.now()
        if not is_everywhere:
            return session_rows(folder, now, glyphs, archived=is_archived)
        infos = {info.id: info for info in (*self._everywhere, *folder.sessions.values())}
        return rows_by_folder(folder, now, glyphs, infos.values(), home=os.path.expanduser("~"), archived=is_archived)
