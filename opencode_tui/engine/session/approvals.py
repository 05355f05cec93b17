"""The mode of approvals of a session, in its metadata. An agent's session has that of the session that started it."""

from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.schema.error import NotFoundError
from opencode_tui.schema.permission import APPROVALS, Approvals
from opencode_tui.schema.session.session import APPROVALS_KEY, SessionInfo


class SessionApprovals:
    """Reads and changes the mode of sessions; `default` is that of sessions without one."""

    def __init__(self, *, store: SessionStore, default: Approvals) -> None:
        self._store = store
        self._default: Approvals = default

    async def approvals(self, session_id: str) -> Approvals:
        """Return the mode of a session. Raises NotFoundError."""
        info = await self._store.get(session_id)
        seen = {info.id}
        while info.parent_id is not None and info.parent_id not in seen:
            seen.add(info.parent_id)
            try:
                info = await self._store.get(info.parent_id)
            except NotFoundError:  # the parent was deleted
                break
        found = (info.metadata or {}).get(APPROVALS_KEY)
        return APPROVALS[APPROVALS.index(found)] if found in APPROVALS else self._default

    async def set_approvals(self, session_id: str, mode: Approvals) -> None:
        """Change the mode of a session; calls that ask from now on follow it. Raises NotFoundError, StorageError."""

        def change(info: SessionInfo) -> SessionInfo:
            return info.changed(metadata={**(info.metadata or {}), APPROVALS_KEY: mode})

        await self._store.update(session_id, change, touch=False)
