"""Reading of the engine's events once, and their distribution to all listeners.

Order: a listener gets `server.connected` first, then every event in the order of the bus, with growth merged (`PartMerger`). When
the hub itself has lost events, all listeners are cut off: they reconnect and read everything again. Nothing is replayed.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager

from opencode_tui.client.client import EventReader
from opencode_tui.schema.event.event import BusLagged, Envelope
from opencode_tui.server.frame import Frame, GrowthFrame, own_event
from opencode_tui.server.part_merger import PartMerger

# One client's queue of frames: bounded, with merged growth, and disconnected when the client is too slow. A disconnected client
# connects again and reads everything again; it cannot delay the engine or other listeners.

QUEUE_LIMIT = 16 * 1024 * 1024
"""Most bytes of structural events in the queue of one client."""

PIECE = 256 * 1024
"""Bytes that are sent at a time: queued frames are shared by all listeners, frames being sent are copies."""


class Listener:
    """Frames of one folder, or of all (`directory` None) in the form of `/global/event`. Only one task may read."""

    def __init__(self, directory: str | None) -> None:
        self._directory = directory
        self._queue: deque[Frame | str] = deque()
        self._growing: dict[str, GrowthFrame] = {}
        self._waiting_bytes = 0
        self._news = asyncio.Event()
        self._end = asyncio.Event()

    def enqueue(self, frame: Frame) -> None:
        """Queue a frame. Queued growth of the same part is merged; a full queue disconnects the listener."""
        if self._end.is_set() or not self._wants(frame):
            return
        if isinstance(frame, GrowthFrame):
            self._enqueue_growth(frame)
        else:
            self._enqueue_structural(frame)
        self._news.set()

    def _wants(self, frame: Frame) -> bool:
        directory = self._directory
        return directory is None or frame.directory in ("", directory) or directory in frame.guests

    def close(self) -> None:
        """End after the queued frames."""
        self._end.set()
        self._news.set()

    def cut_off(self) -> None:
        """End without the queued frames."""
        self._queue.clear()
        self._growing.clear()
        self._waiting_bytes = 0
        self.close()

    async def read(self) -> bytes:
        """Wait for frames and return the first of them, about `PIECE` bytes; empty at the end."""
        while not self._queue and not self._end.is_set():
            self._news.clear()
            await self._news.wait()
        return b"".join(self._pop_piece())

    async def ended(self) -> None:
        """Wait until it is closed or disconnected."""
        await self._end.wait()

    def _enqueue_growth(self, frame: GrowthFrame) -> None:
        earlier = self._growing.get(frame.part_id)
        if earlier is None:
            self._queue.append(frame.part_id)
        self._growing[frame.part_id] = frame if earlier is None else frame.after(earlier)

    def _enqueue_structural(self, frame: Frame) -> None:
        if frame.closes is not None and (growth := self._growing.pop(frame.closes, None)) is not None:
            self._queue[self._queue.index(frame.closes)] = growth
            self._waiting_bytes += len(growth.event)
        self._waiting_bytes += len(frame.event)
        self._queue.append(frame)
        if self._waiting_bytes > QUEUE_LIMIT and len(self._queue) > 1:
            self.cut_off()

    def _pop_piece(self) -> Iterator[bytes]:
        size = 0
        while self._queue and size < PIECE:
            frame = self._pop_first()
            data = frame.for_all if self._directory is None else frame.for_folder
            size += len(data)
            yield data

    def _pop_first(self) -> Frame:
        entry = self._queue.popleft()
        if isinstance(entry, str):
            return self._growing.pop(entry)
        self._waiting_bytes -= len(entry.event)
        return entry


logger = logging.getLogger(__name__)

HEARTBEAT_S = 10.0
"""Seconds between two heartbeats. Source: docs/internals/http.md#event-stream."""


class EventHub:
    """The events of one server; `run` is its task. `now` returns seconds of a monotonic clock.

    `counted` is called when the number of listeners has changed.
    """

    def __init__(self, *, now: Callable[[], float], counted: Callable[[], None] | None = None) -> None:
        self._now = now
        self._counted = counted or _do_nothing
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
        self._counted()
        if self._is_closed:
            listener.close()
        try:
            yield listener
        finally:
            self._listeners.remove(listener)
            self._merger.set_listeners(len(self._listeners))
            self._counted()
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


def _do_nothing() -> None:
    pass


def _own(kind: str) -> Frame:
    event = own_event(kind)
    return Frame("", lambda: event)
