"""Coroutine functions of plugins: a cancel ends them, also those that swallow it.

Such a coroutine would hold up an abort, a time limit and the program's end for ever.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

CANCEL_GRACE_S = 0.1
"""Seconds that a cancelled coroutine of a plugin has to clean up."""

_log = logging.getLogger(__name__)


async def run_coroutine(work: Awaitable[T]) -> T:
    """Return what the work gives, or raise what it raises; when cancelled, end the work within a fifth of a second."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        await _end(task)
        raise
    return task.result()


async def _end(task: "asyncio.Future[T]") -> None:
    task.cancel()
    await asyncio.wait({task}, timeout=CANCEL_GRACE_S)
    if not task.done() and isinstance(task, asyncio.Task):
        _log.warning("a plugin's coroutine took no notice of a cancel and was closed")
        coroutine = task.get_coro()
        if inspect.iscoroutine(coroutine):
            with suppress(RuntimeError):  # it awaits even while it is closed
                coroutine.close()
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_GRACE_S)
    if task.done() and not task.cancelled():
        task.exception()
