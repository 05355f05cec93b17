"""Sends session events to the bus under the folder whose instance works on the session."""

from opencode_tui.bus import Bus
from opencode_tui.schema.event.event import (
    Event,
    MessageUpdated,
    PartUpdated,
    SessionCreated,
    SessionDeleted,
    SessionUpdated,
)


class Publisher:
    """Publishes the events of sessions. Events of sessions without a bound folder go to the whole process."""

    def __init__(self, *, bus: Bus) -> None:
        self._bus = bus
        self._directories: dict[str, str] = {}

    def bind(self, session_id: str, directory: str) -> None:
        """Publish the events of this session under the instance of `directory` from now on."""
        self._directories[session_id] = directory

    def directory_of(self, session_id: str) -> str:
        """Return the folder that a session is bound to, empty without one."""
        return self._directories.get(session_id, "")

    def publish(self, event: Event) -> None:
        """Publish; returns at once."""
        self._bus.publish(event, directory=self._directories.get(_session_of(event), ""))


def _session_of(event: Event) -> str:
    match event:
        case SessionCreated() | SessionUpdated() | SessionDeleted():
            return event.info.id
        case MessageUpdated():
            return event.info.session_id
        case PartUpdated():
            return event.part.session_id
        case _:
            return getattr(event, "session_id", None) or ""
