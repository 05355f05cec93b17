"""A clock without waits: it stands still while anything is left to do, then jumps to the next timer of the event loop.

Only for an app whose client is scripted: over a socket an answer may be on its way while the loop has nothing to do.
"""

import asyncio
import selectors
import time
from collections.abc import Callable
from typing import Any

import pytest
from textual import _time, _wait


def jump_over_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all loops that are started from now on such a clock, which `time.monotonic` and Textual then show too."""
    moment = time.monotonic()
    real_thread = asyncio.to_thread
    threads = 0

    def now() -> float:
        return moment

    class Jumping(selectors.DefaultSelector):
        def select(self, timeout: float | None = None) -> Any:
            nonlocal moment
            if timeout is None or (threads and timeout > 0):
                return super().select()  # a thread wakes the loop when it is done
            found = super().select(0)
            if not found:
                moment += timeout
            return found

    async def to_thread(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
        nonlocal threads
        threads += 1
        try:
            return await real_thread(function, *arguments, **named)
        finally:
            threads -= 1

    monkeypatch.setattr(selectors, "DefaultSelector", Jumping)
    monkeypatch.setattr(asyncio, "to_thread", to_thread)
    monkeypatch.setattr(time, "monotonic", now)
    monkeypatch.setattr(time, "monotonic_ns", lambda: int(now() * 1e9))
    monkeypatch.setattr(_time, "get_time", now)
    monkeypatch.setattr(_wait, "monotonic", now)
