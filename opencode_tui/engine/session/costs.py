"""The costs of a project's sessions, for lists of sessions."""

import asyncio
from decimal import Decimal

from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.schema.session.session import hidden_cost
from opencode_tui.storage.cost_index import CostIndex


class SessionCosts:
    """Reads the costs of one project."""

    def __init__(self, *, store: SessionStore, index: CostIndex, project_id: str) -> None:
        self._store = store
        self._index = index
        self._project_id = project_id

    async def read(self) -> dict[str, float]:
        """Return the USD by session, without those that cost nothing. Raises StorageError.

        Titles and discarded summaries are included; subagent sessions and messages that a fork copied are not.
        """
        infos = await self._store.sessions(self._project_id)
        shown = await asyncio.to_thread(self._index.read, infos)
        sums = {info.id: shown.get(info.id, Decimal(0)) + hidden_cost(info) for info in infos}
        return {session_id: float(cost) for session_id, cost in sums.items() if cost}
