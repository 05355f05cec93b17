"""Background work for one folder's sessions, such as titles and precomputed summaries.

A task never delays a turn; a failure is logged and affects nothing else.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine

from opencode_tui.schema.error import OpencodeError

logger = logging.getLogger(__name__)


class Background:
    """The background tasks of one folder's instance."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._endless: set[asyncio.Task[None]] = set()
        self._last_acts: list[Callable[[], Awaitable[None]]] = []

    def start(self, work: Coroutine[None, None, None], *, name: str) -> asyncio.Task[None]:
        """Start a task; `name` identifies it in the log."""
        task = asyncio.create_task(_guarded(work, name), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def start_endless(self, work: Callable[[], Coroutine[None, None, None]], *, name: str) -> None:
        """Start a task that ends only with `close`; `wait_until_idle` does not wait for it."""

        async def guarded() -> None:
            await _guarded(work(), name)

        self._endless.add(asyncio.create_task(guarded(), name=name))

    def at_close(self, act: Callable[[], Awaitable[None]]) -> None:
        """Call a function in `close`."""
        self._last_acts.append(act)

    async def wait_until_idle(self) -> None:
        """Return when no task is running."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Cancel all tasks; returns when they have ended. May be called again."""
        for task in (*self._tasks, *self._endless):
            task.cancel()
        await self.wait_until_idle()
        await asyncio.gather(*self._endless, return_exceptions=True)
        while self._last_acts:
            await self._last_acts.pop(0)()


async def _guarded(work: Coroutine[None, None, None], name: str) -> None:
    try:
        await work
    except OpencodeError as error:
        logger.warning("%s failed: %s", name, error)
    except Exception:
        logger.exception("%s failed", name)
