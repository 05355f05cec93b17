"""The names of the files of the folder, the best matches first."""

import asyncio
import time
from collections.abc import Callable, Sequence

from opencode_tui.client.client import Client
from opencode_tui.schema.ranking import ranked_paths

KEPT_S = 10
"""Seconds for which the list counts as fresh."""

LIMIT = 50
"""Most names that are returned."""


class FileNames:
    """Finds files by parts of their names, in the order of `ranked_paths`."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._names: Sequence[str] = ()
        self._folded: Sequence[str] = ()
        self._top: Sequence[str] = ()
        self._listed: float | None = None
        self._listing = asyncio.Lock()

    async def find(self, query: str) -> Sequence[str]:
        """Return at most fifty matching names, best first; without a query those at the top of the folder."""
        await self._list()
        wanted = query.casefold()
        if not wanted:
            return self._top
        found: Sequence[int] = ()
        for best in ranked_paths(wanted, self._folded, LIMIT):
            found = best
            await asyncio.sleep(0)
        return [self._names[at] for at in found]

    async def _list(self) -> None:
        async with self._listing:
            if self._listed is None or self._clock() - self._listed > KEPT_S:
                self._names = await self._client.files.names()
                await asyncio.to_thread(self._prepare)
                self._listed = self._clock()

    def _prepare(self) -> None:
        self._folded = [name.casefold() for name in self._names]
        upper = [name for name in self._names if "/" not in name.rstrip("/")]
        self._top = list(dict.fromkeys([*upper, *self._names[:LIMIT]]))[:LIMIT]
