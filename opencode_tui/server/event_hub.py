"""Reading of the engine's events once, and their distribution to all listeners.

Order: a listener gets `server.connected` first, then every event in the order of the bus, with growth merged (`PartMerger`). When
the hub itself has lost events, all listeners are cut off: they come again and read everything anew. Nothing is replayed.
"""

import asyncio
import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from opencode_tui.client.client import EventReader
from opencode_tui.schema.event.event import BusLagged, Envelope
from opencode_tui.server.frame import Frame, own_event
from opencode_tui.server.listener import Listener
from opencode_tui.server.part_merger import PartMerger

logger = logging.getLogger(__name__)

HEARTBEAT_S = 10.0
"""Seconds between two heartbeats. Source: reference, `http.md` 4."""


class EventHub:
    """The events of one server; `run` is its task. `now` returns seconds of a monotonic clock."""

    def __init__(self, *, now: Callable[[], float]) -> None:
        self._now = now
        self._merger = PartMerger(now=now)
        self._listeners: list[Listener] = []
        self._is_closed = False

    @property
    def listeners(self) -> tuple[Listener, ...]:
        """The current listeners."""
        return tuple(self._listeners)

    async def run(self, events: EventReader) -> None:
        """Distribute events until canceled."""
        beat = self._now() + HEARTBEAT_S
        while True:
            envelope = await self._next(events, beat)
            while envelope is not None:
                self._receive(envelope)
                envelope = events.poll()
            self.publish(self._merger.due())
            if self._now() >= beat:
                beat = self._now() + HEARTBEAT_S
                self.publish([_own("server.heartbeat")])

    @contextmanager
    def listen(self, directory: str | None) -> Generator[Listener]:
        """Return a listener of one folder's events, or of all in the form of `/global/event`; leaving ends it."""
        listener = Listener(directory)
        listener.enqueue(_own("server.connected"))
        self._listeners.append(listener)
        self._merger.set_listeners(len(self._listeners))
        if self._is_closed:
            listener.close()
        try:
            yield listener
        finally:
            self._listeners.remove(listener)
            self._merger.set_listeners(len(self._listeners))
            listener.close()

    def close(self) -> None:
        """End all listeners after their queued frames."""
        self._is_closed = True
        for listener in self._listeners:
            listener.close()

    async def _next(self, events: EventReader, beat: float) -> Envelope | None:
        """Wait for the next event; None when a heartbeat or growth is due first."""
        due = self._merger.next_due()
        wait = min(beat, beat if due is None else due) - self._now()
        try:
            async with asyncio.timeout(max(wait, 0)):
                return await anext(events)
        except TimeoutError:
            return None

    def _receive(self, envelope: Envelope) -> None:
        if isinstance(envelope.event, BusLagged):
            self._merger.clear()
            for listener in self._listeners:
                listener.cut_off()
        elif self._listeners:
            self._send_event(envelope)
        else:
            self._merger.clear()

    def _send_event(self, envelope: Envelope) -> None:
        try:
            self.publish(self._merger.apply(envelope))
        except Exception:
            # one event that cannot be written must not end the stream of all others
            logger.exception("an event %s could not be sent", type(envelope.event).__name__)

    def publish(self, frames: Sequence[Frame]) -> None:
        """Enqueue frames for all listeners, in order."""
        for frame in frames:
            for listener in self._listeners:
                listener.enqueue(frame)


def _own(kind: str) -> Frame:
    event = own_event(kind)
    return Frame("", lambda: event)
