"""What each session is doing right now: idle, busy, or waiting to retry. Kept in memory only."""

from collections.abc import Callable

from opencode_tui.schema.event import Event, SessionIdle, SessionStatusChanged
from opencode_tui.schema.status import AnyStatus, BusyStatus, IdleStatus


class SessionStatuses:
    """The present status of all sessions; every change is published."""

    def __init__(self, *, publish: Callable[[Event], None]) -> None:
        self._publish = publish
        self._busy: dict[str, AnyStatus] = {}

    def get(self, session_id: str) -> AnyStatus:
        """Return the status of one session."""
        return self._busy.get(session_id) or IdleStatus()

    def all(self) -> dict[str, AnyStatus]:
        """Return the sessions that are not idle."""
        return dict(self._busy)

    def set(self, session_id: str, status: AnyStatus) -> None:
        """Change the status and tell; idle is followed by `session.idle`."""
        if isinstance(status, IdleStatus):
            self._busy.pop(session_id, None)
        else:
            self._busy[session_id] = status
        self._publish(SessionStatusChanged.trusted(session_id=session_id, status=status))
        if isinstance(status, IdleStatus):
            self._publish(SessionIdle(session_id=session_id))

    def busy(self, session_id: str) -> None:
        """Mark the session as worked on."""
        self.set(session_id, BusyStatus())
