"""Work beside the turns of one folder's sessions: titles, summaries that are prepared. Its owner ends and awaits it.

A task never delays a turn, and its failure is named in the log and harms nothing else.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine

from opencode_tui.schema.error import OpencodeError

logger = logging.getLogger(__name__)


class Background:
    """The tasks of one folder's instance."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._last_acts: list[Callable[[], Awaitable[None]]] = []

    def start(self, work: Coroutine[None, None, None], *, name: str) -> asyncio.Task[None]:
        """Begin some work; `name` says what it is in the log."""
        task = asyncio.create_task(_guarded(work, name), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def at_close(self, act: Callable[[], Awaitable[None]]) -> None:
        """Have something done when everything ends."""
        self._last_acts.append(act)

    async def wait_until_idle(self) -> None:
        """Return when nothing is under way."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """End everything; returns when it has ended."""
        for task in self._tasks:
            task.cancel()
        await self.wait_until_idle()
        for act in self._last_acts:
            await act()


async def _guarded(work: Coroutine[None, None, None], name: str) -> None:
    try:
        await work
    except OpencodeError as error:
        logger.warning("%s failed: %s", name, error)
    except Exception:
        logger.exception("%s failed", name)
