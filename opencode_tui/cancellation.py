"""Runs work to its end although the caller is canceled, and blocking work that stops soon after its caller is canceled.

The one way to let work outlive its caller's cancellation.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def run_to_completion(work: Awaitable[T], *, stop: threading.Event | None = None) -> T:
    """Return the result of `work`. Every cancellation sets `stop`; it is raised only after the work has ended.

    The cause of the CancelledError is the error of the work, if it failed. Cancellation waits for work without `stop`, so such work
    must take only milliseconds or must not be abandoned.
    """
    task = asyncio.ensure_future(work)
    canceled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            canceled = canceled or error
            if stop is not None:
                stop.set()
    if canceled is not None:
        raise canceled from task.exception()
    return task.result()


async def to_cancellable_thread(work: Callable[[threading.Event], T]) -> T:
    """Return the result of `work` in a thread. Cancellation sets the event, which the work checks every few milliseconds.

    Cancellation does not wait for the thread, which may block forever.
    """
    stop = threading.Event()
    try:
        return await asyncio.to_thread(work, stop)
    finally:
        stop.set()
