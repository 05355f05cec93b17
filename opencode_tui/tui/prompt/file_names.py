"""The names of the files of the folder, the best matches first."""

import asyncio
import heapq
import re
import time
from collections.abc import Callable, Sequence

from opencode_tui.client.client import Client

KEPT_S = 10
"""Seconds for which the list counts as fresh."""

LIMIT = 50
"""Most names that are returned."""

EVERYTHING = 1_000_000
SLICE = 1_000
"""Names searched before other tasks run."""


class FileNames:
    """Finds files by parts of names: contiguous matches first, names before folders, short before long."""

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
        best = await self._best(lambda name: wanted in name, wanted)
        if len(best) < LIMIT:  # only characters in their order: slower, and rarely what is meant
            # without backtracking (atomic groups), so that no file name of a repository takes long
            pattern = re.compile("".join(f"(?>.*?{re.escape(letter)})" for letter in wanted), re.DOTALL)
            best = await self._best(lambda name: pattern.match(name) is not None, wanted)
        return [self._names[at] for _, at in best]

    async def _best(self, fits: Callable[[str], bool], wanted: str) -> list[tuple[tuple[int, int, int], int]]:
        best: list[tuple[tuple[int, int, int], int]] = []
        for start in range(0, len(self._folded), SLICE):
            part = self._folded[start : start + SLICE]
            scored = [(_rank(wanted, name), at) for at, name in enumerate(part, start) if fits(name)]
            best = heapq.nsmallest(LIMIT, [*best, *scored])
            await asyncio.sleep(0)
        return best

    async def _list(self) -> None:
        async with self._listing:
            if self._listed is None or self._clock() - self._listed > KEPT_S:
                self._names = await self._client.files.find("", limit=EVERYTHING)
                await asyncio.to_thread(self._prepare)
                self._listed = self._clock()

    def _prepare(self) -> None:
        self._folded = [name.casefold() for name in self._names]
        upper = [name for name in self._names if "/" not in name.rstrip("/")]
        self._top = list(dict.fromkeys([*upper, *self._names[:LIMIT]]))[:LIMIT]


def _rank(wanted: str, name: str) -> tuple[int, int, int]:
    base = name.rstrip("/").rpartition("/")[2]
    if base.startswith(wanted):
        kind = 0
    elif wanted in base:
        kind = 1
    elif wanted in name:
        kind = 2
    else:
        kind = 3
    return kind, name.count("/"), len(name)
