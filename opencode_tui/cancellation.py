"""Runs work to its end although the caller is canceled, and blocking work that stops soon after its caller is canceled.

`run_to_completion` keeps the caller until the end, `run_on` only for a moment. The one way to let work
outlive its caller's cancellation.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def run_to_completion(work: Awaitable[T], *, stop: threading.Event | None = None) -> T:
    """Return the result of `work`. Every cancellation sets `stop`; it is raised only after the work has ended.

    The cause of the CancelledError is the error of the work, if it failed. Cancellation waits for work without `stop`, so such work
    must take only milliseconds or must not be abandoned.
    """
    return await _run(asyncio.ensure_future(work), stop=stop, patience_s=None, left=None)


async def run_on(
    work: Awaitable[T], *, patience_s: float, left: "Callable[[asyncio.Future[T]], object] | None" = None
) -> T:
    """Return the result of `work`. A canceled caller waits for its end too, at most `patience_s` seconds; then the work goes on.

    `left` gets work that goes on; what it raises is for `left` to log.
    """
    return await _run(asyncio.ensure_future(work), stop=None, patience_s=patience_s, left=left)


_going_on: "set[asyncio.Future[Any]]" = set()
"""Work whose caller has left: a loop keeps no reference to its tasks."""


async def _run(
    task: "asyncio.Future[T]",
    *,
    stop: threading.Event | None,
    patience_s: float | None,
    left: "Callable[[asyncio.Future[T]], object] | None",
) -> T:
    canceled: asyncio.CancelledError | None = None
    limit_s: float | None = None  # there is one after a cancellation
    while not task.done():
        try:
            await asyncio.wait({task}, timeout=limit_s)
        except asyncio.CancelledError as error:
            canceled, limit_s = canceled or error, patience_s
            if stop is not None:
                stop.set()
        else:
            if limit_s is not None:
                break
    if canceled is None:
        return task.result()
    if task.done():
        raise canceled from task.exception()
    _leave(task)
    if left is not None:
        left(task)
    raise canceled


def _leave(task: "asyncio.Future[Any]") -> None:
    _going_on.add(task)
    task.add_done_callback(_going_on.discard)
    task.add_done_callback(consume_error)


def consume_error(work: "asyncio.Future[Any]") -> None:
    """Read the error of work that nothing may wait for, which asyncio would log otherwise; a callback for the end of a future."""
    if not work.cancelled():
        work.exception()


async def to_cancellable_thread(work: Callable[[threading.Event], T]) -> T:
    """Return the result of `work` in a thread. Cancellation sets the event, which the work checks every few milliseconds.

    Cancellation does not wait for the thread, which may block forever.
    """
    stop = threading.Event()
    try:
        return await asyncio.to_thread(work, stop)
    finally:
        stop.set()
