"""Requests to the screens, for a client that fetches them one by one instead of following the events.

They are kept from the first fetch on, the newest of them, each for one fetch; `tui.*` events are sent as well. Source: `tuiControl`
of OpenCode's API.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any

from msgspec import Struct

from opencode_tui.server.answer import value_bytes

KEPT = 100
"""Most requests that wait for a fetch; the oldest is dropped for another."""


class ScreenRequest(Struct, frozen=True):
    """A request to the screens: its path under `/tui`, and its body (None without one)."""

    path: str
    body: Any


class ScreenRequests:
    """The queue of one server."""

    def __init__(self) -> None:
        self._waiting: deque[ScreenRequest] = deque(maxlen=KEPT)
        self._changed = asyncio.Condition()
        self._is_fetched = False
        self._is_closed = False

    async def add(self, request: ScreenRequest) -> None:
        """Queue a request if any client fetches them."""
        if self._is_fetched:
            self._waiting.append(request)
            async with self._changed:
                self._changed.notify()

    def next(self) -> Coroutine[Any, Any, bytes]:
        """Return a wait for the next request, which returns `{path, body}`, or null when the server ends."""
        self._is_fetched = True
        return self._wait()

    async def close(self) -> None:
        """End all waiting fetches."""
        self._is_closed = True
        async with self._changed:
            self._changed.notify_all()

    async def _wait(self) -> bytes:
        async with self._changed:
            await self._changed.wait_for(lambda: self._waiting or self._is_closed)
            if not self._waiting:
                return value_bytes(None)
            request = self._waiting.popleft()
            return value_bytes({"path": request.path, "body": request.body})
