"""Changes and deletes single parts for the user, while nothing works on the session."""

from opencode_tui.engine.session.lock import SessionLock
from opencode_tui.engine.session.store import SessionStore
from opencode_tui.schema.error import NoSuchMessageError
from opencode_tui.schema.part import AnyPart


class PartEdits:
    """Holds the session's lock for each edit. Raises BusyError while a run works there."""

    def __init__(self, *, store: SessionStore, lock: SessionLock) -> None:
        self._store = store
        self._lock = lock

    async def update(self, part: AnyPart) -> AnyPart:
        """Replace the part of the same id, and publish it. Raises NoSuchMessageError."""
        async with self._lock.hold(part.session_id):
            await self._find(part.session_id, part.message_id, part.id)
            await self._store.update_part(part)
            await self._store.sync()
        return part

    async def remove(self, session_id: str, message_id: str, part_id: str) -> None:
        """Delete a part, and publish that. Raises NoSuchMessageError."""
        async with self._lock.hold(session_id):
            await self._find(session_id, message_id, part_id)
            await self._store.remove_part(session_id, message_id, part_id)

    async def _find(self, session_id: str, message_id: str, part_id: str) -> None:
        await self._store.open(session_id)
        if not any(part.id == part_id for part in self._store.parts(session_id, message_id)):
            raise NoSuchMessageError(f"message {message_id} of session {session_id} has no part {part_id}")
