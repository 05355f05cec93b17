"""Work that a cancel must not cut in half."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def finish(work: Coroutine[Any, Any, T], *, stop: threading.Event | None = None) -> T:
    """Return what `work` gives; a cancel sets the stop flag and is delivered only after the work has ended.

    Without a flag: for steps of a few milliseconds.
    """
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
            if stop is not None:
                stop.set()
    if cancelled is not None:
        raise cancelled from task.exception()
    return task.result()
