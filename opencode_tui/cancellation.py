"""Work that a cancelled caller must not cut in half, and blocking work that ends soon after its caller is cancelled."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def run_to_completion(work: Awaitable[T], *, stop: threading.Event | None = None) -> T:
    """Return the result of `work`. A cancel sets `stop` and is raised only after the work has ended, however often it comes.

    The cause of the CancelledError is then the error of the work, if it failed. A cancel waits for work that has no `stop`, so such
    work takes milliseconds only, or must not be given up at all.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
            if stop is not None:
                stop.set()
    if cancelled is not None:
        raise cancelled from task.exception()
    return task.result()


async def to_cancellable_thread(work: Callable[[threading.Event], T]) -> T:
    """Return the result of `work` in a thread. A cancel sets the event, which the work checks every few milliseconds.

    The cancel does not wait for the thread: what it blocks on may never answer.
    """
    stop = threading.Event()
    try:
        return await asyncio.to_thread(work, stop)
    finally:
        stop.set()
