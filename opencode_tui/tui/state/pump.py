"""Reads the events of the engine, without keeping other tasks from running."""

import asyncio
import time
from collections.abc import Callable

from opencode_tui.client.client import Client, EventReader
from opencode_tui.schema.event.event import Event

SLICE_S = 0.008
"""Seconds of reading events before other tasks run."""


class Pump:
    """The only reader of the engine's events; subscribes on creation, `run` reads until it is canceled."""

    def __init__(self, client: Client, *, apply: Callable[[Event], None], drained: Callable[[], None]) -> None:
        self._events: EventReader = client.events()
        self._apply = apply
        self._drained = drained

    async def run(self) -> None:
        """Pass events on in order; call `drained` after each batch of waiting events."""
        with self._events as events:
            async for envelope in events:
                self._apply(envelope.event)
                self._drain(events)
                self._drained()
                await asyncio.sleep(0)

    def _drain(self, events: EventReader) -> None:
        end = time.monotonic() + SLICE_S
        while time.monotonic() < end and (envelope := events.poll()) is not None:
            self._apply(envelope.event)
