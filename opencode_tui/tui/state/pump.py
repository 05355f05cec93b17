"""The one reader of the engine's events: hands each on, many at a time, and asks for one redraw afterwards."""

import asyncio
import time
from collections.abc import Callable

from opencode_tui.client.client import Client, EventReader
from opencode_tui.schema.event.event import Event

SLICE_S = 0.008
"""Seconds of events after which everything else gets a turn."""


class Pump:
    """Reads from the moment it is made; `run` goes on until it is cancelled."""

    def __init__(self, client: Client, *, take: Callable[[Event], None], settle: Callable[[], None]) -> None:
        self._events: EventReader = client.events()
        self._take = take
        self._settle = settle

    async def run(self) -> None:
        """Hand on events in order; `settle` is called when those that waited are through."""
        with self._events as events:
            async for envelope in events:
                self._take(envelope.event)
                self._drain(events)
                self._settle()
                await asyncio.sleep(0)

    def _drain(self, events: EventReader) -> None:
        end = time.monotonic() + SLICE_S
        while time.monotonic() < end and (envelope := events.poll()) is not None:
            self._take(envelope.event)
