"""What the sessions of a project cost, each by itself; for lists that a person reads."""

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
        """Return the USD by session; those that cost nothing are left out. Raises StorageError.

        Titles and spare summaries are included, the sessions of a session's agents and what a fork took over are not.
        """
        infos = await self._store.sessions(self._project_id)
        shown = await asyncio.to_thread(self._index.read, infos)
        sums = {info.id: shown.get(info.id, Decimal(0)) + hidden_cost(info) for info in infos}
        return {session_id: float(cost) for session_id, cost in sums.items() if cost}
