"""One client's queue of frames: bounded, with merged growth, and disconnected when the client is too slow.

A disconnected client connects again and reads everything again; it cannot delay the engine or other listeners.
"""

import asyncio
from collections import deque
from collections.abc import Iterator

from opencode_tui.server.frame import Frame, GrowthFrame

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
        if self._end.is_set() or (self._directory is not None and frame.directory not in ("", self._directory)):
            return
        if isinstance(frame, GrowthFrame):
            self._enqueue_growth(frame)
        else:
            self._enqueue_structural(frame)
        self._news.set()

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
