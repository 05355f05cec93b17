"""Blocking work in a thread that ends soon after its caller is cancelled, and work that a cancel must not cut in half."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def run_stoppable(work: Callable[[threading.Event], T]) -> T:
    """Return what `work` gives in a thread; on cancel its event is set, and it must look at it every few milliseconds."""
    stop = threading.Event()
    try:
        return await asyncio.to_thread(work, stop)
    finally:
        stop.set()


async def finish(work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` gives; a cancel is delivered only after it has ended. For steps of a few milliseconds."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled from task.exception()
    return task.result()
