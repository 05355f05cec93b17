"""Reads the events of the engine, without keeping other tasks from running."""

import asyncio
import time
from collections.abc import Callable

from opencode_tui.client.client import EventReader
from opencode_tui.schema.event.event import Event, PartGrowth

SLICE_S = 0.008
"""Seconds of reading events before other tasks run."""

GROWTH_S = 0.025
"""Seconds between two reads while nothing but a text grows: what comes meanwhile is merged, and costs one read."""


class Pump:
    """The only reader of the engine's events, which it closes; `run` reads until it is canceled."""

    def __init__(self, events: EventReader, *, apply: Callable[[Event], None], drained: Callable[[], None]) -> None:
        self._events = events
        self._apply = apply
        self._drained = drained

    async def run(self) -> None:
        """Pass events on in order; call `drained` after each batch of waiting events."""
        with self._events as events:
            async for envelope in events:
                self._apply(envelope.event)
                is_growth = self._drain(events) and isinstance(envelope.event, PartGrowth)
                self._drained()
                await asyncio.sleep(GROWTH_S if is_growth else 0)

    def _drain(self, events: EventReader) -> bool:
        """Apply the waiting events, for some milliseconds; return whether all of them were growth."""
        end, is_growth = time.monotonic() + SLICE_S, True
        while time.monotonic() < end and (envelope := events.poll()) is not None:
            self._apply(envelope.event)
            is_growth = is_growth and isinstance(envelope.event, PartGrowth)
        return is_growth
