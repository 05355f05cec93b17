"""Undo in the sessions of one folder, loaded when it is first needed: most turns end without."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from opencode_tui.engine.session.repair import repair
from opencode_tui.engine.session.store import SessionStore
from opencode_tui.schema.diff import FileDiff
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.session import UNDO_KEY, SessionInfo

if TYPE_CHECKING:
    from opencode_tui.engine.session.revert import SessionRevert
    from opencode_tui.engine.session.summary import SessionSummaries

logger = logging.getLogger(__name__)


class SessionUndo:
    """The way to undo, and to the sums of what sessions did to files."""

    def __init__(
        self,
        *,
        store: SessionStore,
        clock: Clock,
        recover: Callable[[str], Awaitable[None]],
        summaries: "Callable[[], SessionSummaries]",
        revert: "Callable[[SessionSummaries], SessionRevert]",
    ) -> None:
        self._store = store
        self._clock = clock
        self._recover = recover
        self._make_summaries = summaries
        self._make_revert = revert
        self._summaries: SessionSummaries | None = None
        self._revert: SessionRevert | None = None

    @property
    def summaries(self) -> "SessionSummaries":
        """What sums up sessions and turns."""
        if self._summaries is None:
            self._summaries = self._make_summaries()
        return self._summaries

    @property
    def revert(self) -> "SessionRevert":
        """The verbs."""
        if self._revert is None:
            self._revert = self._make_revert(self.summaries)
        return self._revert

    async def recover(self) -> None:
        """Bring to its end what a dead process began to undo in this worktree; what fails is tried again by the next undo."""
        try:
            await self.revert.recover()
        except OpencodeError as error:
            logger.warning("an undo that was cut short waits to be brought to its end: %s", error)

    async def make_ready(self, session_id: str) -> None:
        """Close what a dead process left open, and do what `clean_up` does: before anything is added to the conversation."""
        await self.mend(session_id)
        await self.clean_up(session_id)

    async def mend(self, session_id: str) -> int:
        """Close what a dead process left open, files included, and return how many messages that were. Needs the run lock."""
        mended = await repair(self._store, session_id, clock=self._clock)
        if mended:
            await self._recover(session_id)
        return mended

    async def clean_up(self, session_id: str) -> None:
        """Make an undo that is in force final, before the conversation goes on. Needs the run lock. Raises as `cleanup` does."""
        if has_undo(await self._store.get(session_id)):
            await self.revert.cleanup(session_id)

    async def sum_up(self, session_id: str) -> None:
        """Sum up what the session's last turn changed, and the session; after a run, while its lock is held."""
        await self.summaries.refresh_last(session_id)

    async def diff(self, session_id: str, message_id: str | None = None) -> Sequence[FileDiff]:
        """Return what a session, or the turn of one of its messages, changed in files."""
        if message_id is not None:
            return await self.summaries.turn(session_id, message_id)
        return await self.summaries.session(session_id)


def has_undo(info: SessionInfo) -> bool:
    """Tell whether an undo is in force or was begun: there is something to clean up before the conversation goes on."""
    return info.revert is not None or UNDO_KEY in (info.metadata or {})
