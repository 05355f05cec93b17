"""Blocking work in a thread that ends soon after its caller is cancelled."""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def run_stoppable(work: Callable[[threading.Event], T]) -> T:
    """Return what `work` gives in a thread; on cancel its event is set, and it must look at it every few milliseconds."""
    stop = threading.Event()
    try:
        return await asyncio.to_thread(work, stop)
    finally:
        stop.set()
