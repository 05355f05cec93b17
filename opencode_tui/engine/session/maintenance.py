"""Maintenance of a session before a run adds to its conversation, and after the run.

Most turns have nothing to recover, no active undo and no changed file, so the code for these is loaded on demand.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.repair import repair
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.session.session import UNDO_KEY

if TYPE_CHECKING:
    from opencode_tui.engine.session.revert.revert import SessionRevert
    from opencode_tui.engine.session.revert.summary import SessionSummaries


class SessionMaintenance:
    """Recovers, prepares and summarizes sessions of one folder. Each method needs the session's run lock."""

    def __init__(
        self,
        *,
        store: SessionStore,
        clock: Clock,
        recover_files: Callable[[str], Awaitable[None]],
        revert: "Lazy[SessionRevert]",
        summaries: "Lazy[SessionSummaries]",
    ) -> None:
        """`recover_files` records the changes of files by commands of a dead process."""
        self._store = store
        self._clock = clock
        self._recover_files = recover_files
        self._revert = revert
        self._summaries = summaries

    async def recover(self, session_id: str) -> int:
        """Close what a dead process left open, files included, and return the number of repaired messages."""
        repaired = await repair(self._store, session_id, clock=self._clock)
        if repaired:
            await self._recover_files(session_id)
        return repaired

    async def prepare(self, session_id: str) -> None:
        """Recover the session and make an active or started undo final, before anything is added.

        Raises as `SessionRevert.cleanup`.
        """
        await self.recover(session_id)
        info = await self._store.get(session_id)
        if info.revert is not None or UNDO_KEY in (info.metadata or {}):
            await self._revert.get().cleanup(session_id)

    async def summarize(self, session_id: str) -> None:
        """Summarize the changes of files of the last turn and of the session; after a run, while its lock is held."""
        await self._summaries.get().refresh_last(session_id)
