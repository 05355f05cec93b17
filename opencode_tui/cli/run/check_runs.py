"""The runs of a session's check, from its events."""

from typing import TYPE_CHECKING

from opencode_tui.schema.event.event import SessionUpdated
from opencode_tui.schema.session.session import UNTIL_KEY

if TYPE_CHECKING:
    from opencode_tui.schema.session.until import CheckRun, Until


class CheckRuns:
    """Returns each run of one session's check once."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._last = ""

    def new(self, event: SessionUpdated) -> "tuple[Until, CheckRun] | None":
        """Return the check and its last run if that is a new one."""
        if event.info.id != self._session_id or UNTIL_KEY not in (event.info.metadata or {}):
            return None
        from opencode_tui.schema.session.until import until_of  # few sessions have a check

        until = until_of(event.info)
        if until is None or until.last is None or until.last.message_id == self._last:
            return None
        self._last = until.last.message_id
        return until, until.last
