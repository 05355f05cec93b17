"""The bus: synchronous publishing into one bounded queue for each subscriber.

Ordering: a subscriber sees events in the order of publishing, with two exceptions. Growth of a part that is still in its queue is
merged (at the position of the first delta), and progress of a running tool is replaced by the latest. Neither crosses a structural
event of the same part: after `PartUpdated` or `PartRemoved`, growth gets a new entry.

Publishing belongs to the event loop of the engine. Readers may be in another thread: a lock guards each queue, and a waiting reader
is woken once, in its own loop.

Structural events are never dropped silently: a queue over its bound is emptied, and the subscriber gets one `BusLagged` and must
read everything again through its client. Growth and progress do not count towards the bound: there is one entry for each live part.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from opencode_tui.schema.event.event import (
    BusLagged,
    Envelope,
    Event,
    PartGrowth,
    PartProgress,
    PartRemoved,
    PartUpdated,
    ReadPart,
)

QUEUE_BOUND = 10_000
"""Structural events that may be queued for one subscriber before it has lagged."""


@dataclass(slots=True)
class _Growing:
    """Queued growth or progress of one part."""

    origin: Envelope
    session_id: str
    message_id: str
    part_id: str
    record: ReadPart
    deltas: list[str] | None

    def envelope(self) -> Envelope:
        if self.deltas is None:
            event = PartProgress(self.session_id, self.message_id, self.part_id, self.record)
        else:
            delta = self.deltas[0] if len(self.deltas) == 1 else "".join(self.deltas)
            event = PartGrowth(self.session_id, self.message_id, self.part_id, delta, self.record)
        return Envelope(self.origin.directory, event, self.origin.guests)


class Subscription:
    """One reader's queue: an async iterator, and a context manager that unsubscribes.

    Only one task may iterate at a time. `directory` filters on one instance; events of the whole process always arrive.
    """

    def __init__(self, bus: "Bus", directory: str | None, bound: int) -> None:
        self._bus = bus
        self._directory = directory
        self._bound = bound
        self._queue: deque[Envelope | _Growing] = deque()
        self._growing: dict[str, _Growing] = {}
        self._structural = 0
        self._waiter: asyncio.Future[None] | None = None
        self._closed = False
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop receiving; queued events can still be read, then the iteration ends."""
        self._bus.remove(self)
        with self._lock:
            self._closed = True
            self._wake()

    def __aiter__(self) -> AsyncIterator[Envelope]:
        return self

    async def __anext__(self) -> Envelope:
        while True:
            envelope = self.poll()
            if envelope is not None:
                return envelope
            with self._lock:
                if self._queue:
                    continue
                if self._closed:
                    raise StopAsyncIteration
                waiter = self._waiter = asyncio.get_running_loop().create_future()
            try:
                await waiter
            finally:
                self._waiter = None

    def poll(self) -> Envelope | None:
        """Return the next queued event, or None; never blocks."""
        with self._lock:
            if not self._queue:
                return None
            entry = self._queue.popleft()
            if not isinstance(entry, _Growing):
                self._structural -= 1
                return entry
            if self._growing.get(entry.part_id) is entry:
                del self._growing[entry.part_id]
        return entry.envelope()

    def enqueue(self, envelope: Envelope) -> None:
        """Queue an event; called by the bus only."""
        if self._directory is not None and not is_for(self._directory, envelope):
            return
        event = envelope.event
        with self._lock:
            if isinstance(event, PartGrowth | PartProgress):
                self._enqueue_growing(envelope, event)
            else:
                self._enqueue_structural(envelope, event)
            self._wake()

    def _enqueue_growing(self, envelope: Envelope, event: PartGrowth | PartProgress) -> None:
        delta = event.delta if isinstance(event, PartGrowth) else None
        waiting = self._growing.get(event.part_id)
        if waiting is not None:
            waiting.record = event.record
            if delta is not None and waiting.deltas is not None:
                waiting.deltas.append(delta)
            return
        entry = _Growing(
            envelope,
            event.session_id,
            event.message_id,
            event.part_id,
            event.record,
            None if delta is None else [delta],
        )
        self._growing[event.part_id] = entry
        self._queue.append(entry)

    def _enqueue_structural(self, envelope: Envelope, event: Event) -> None:
        if self._structural >= self._bound:
            self._queue.clear()
            self._growing.clear()
            self._queue.append(Envelope("", BusLagged()))
            self._structural = 1
        match event:
            case PartUpdated():
                self._growing.pop(event.part.id, None)
            case PartRemoved():
                self._growing.pop(event.part_id, None)
            case _:
                pass
        self._queue.append(envelope)
        self._structural += 1

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            with suppress(RuntimeError):  # the reader's loop is closed
                waiter.get_loop().call_soon_threadsafe(_resolve, waiter)


def _resolve(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def is_for(directory: str, envelope: Envelope) -> bool:
    """Return whether an event is for the readers of a folder."""
    return envelope.directory in ("", directory) or directory in envelope.guests


class Bus:
    """The bus of an engine. `publish` must be called on its event loop's thread."""

    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []

    def subscribe(self, directory: str | None = None, *, bound: int = QUEUE_BOUND) -> Subscription:
        """Return a reader of all events from now on, or only of those of one instance's folder."""
        subscription = Subscription(self, directory, bound)
        self._subscriptions.append(subscription)
        return subscription

    def publish(self, event: Event, *, directory: str = "", guests: frozenset[str] = frozenset()) -> None:
        """Queue an event for every subscriber; never blocks and never raises. Readers of `guests` get it too."""
        envelope = Envelope(directory, event, guests)
        for subscription in tuple(self._subscriptions):
            subscription.enqueue(envelope)

    def remove(self, subscription: Subscription) -> None:
        """Remove a subscriber; unknown ones are ignored."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
