"""Selection of the events that are sent now and of the growth that is merged first, without I/O.

The first 8 updates of a part are sent at once, then at most 30 a second, fewer with very many listeners; text that waits is sent
as a delta before the part's closing update; of a running tool's progress only the newest is sent. Structural events are sent at
once, in their order. Source: docs/internals/http.md#event-stream.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from opencode_tui.schema.event.event import (
    BusLagged,
    Envelope,
    PartGrowth,
    PartProgress,
    PartRemoved,
    PartUpdated,
    StructuralEvent,
)
from opencode_tui.server.answer import record_bytes
from opencode_tui.server.frame import Frame, GrowthFrame, encode_event

AT_ONCE = 8
"""Updates of a part that are sent at once."""

INTERVAL_S = 1 / 30
"""Seconds between two later ones."""

SHARED = 600
"""Updates of a part per second for all listeners together, so that many listeners do not slow down a fast stream."""


@dataclass(slots=True)
class _Growing:
    """A growing part; `waiting` is its latest unsent event."""

    sent: int = 0
    last: float = 0.0
    deltas: list[str] = field(default_factory=list[str])
    waiting: PartGrowth | PartProgress | None = None
    directory: str = ""
    guests: frozenset[str] = frozenset()

    def due(self, interval: float) -> float:
        """Return the time from which the next update may be sent, with `interval` seconds between two."""
        return 0.0 if self.sent < AT_ONCE else self.last + interval


class PartMerger:
    """The growing parts of one server. `now` returns seconds of a monotonic clock."""

    def __init__(self, *, now: Callable[[], float]) -> None:
        self._now = now
        self._growing: dict[str, _Growing] = {}
        self._interval = INTERVAL_S

    def set_listeners(self, listeners: int) -> None:
        """Set the number of listeners, which determines the interval between two updates."""
        self._interval = max(INTERVAL_S, listeners / SHARED)

    def apply(self, envelope: Envelope) -> list[Frame]:
        """Apply one event of the bus and return the frames to send now, in order."""
        match envelope.event:
            case PartGrowth() | PartProgress() as event:
                return self._grow(envelope, event)
            case BusLagged():
                return []
            case event:
                return [*self._close(event), self._structural(envelope, event)]

    def due(self) -> list[Frame]:
        """Return the growth that is due."""
        now = self._now()
        return [
            self._send(part)
            for part in self._growing.values()
            if part.waiting is not None and part.due(self._interval) <= now
        ]

    def next_due(self) -> float | None:
        """Return when unsent growth may be sent, None without any."""
        return min(
            (part.due(self._interval) for part in self._growing.values() if part.waiting is not None), default=None
        )

    def clear(self) -> None:
        """Drop unsent growth when there are no listeners; a later listener reads the parts first."""
        self._growing.clear()

    def _grow(self, envelope: Envelope, event: PartGrowth | PartProgress) -> list[Frame]:
        part = self._growing.setdefault(event.part_id, _Growing())
        part.waiting, part.directory, part.guests = event, envelope.directory, envelope.guests
        if isinstance(event, PartGrowth):
            part.deltas.append(event.delta)
        return [self._send(part)] if part.due(self._interval) <= self._now() else []

    def _close(self, event: StructuralEvent) -> list[Frame]:
        """Return the unsent text of the part that this event closes."""
        if not isinstance(event, PartUpdated | PartRemoved):
            return []
        part = self._growing.pop(_part_id(event), None)
        if part is None or not part.deltas or isinstance(event, PartRemoved):
            return []
        return [self._send(part)]

    def _send(self, part: _Growing) -> Frame:
        event = part.waiting
        assert event is not None
        delta = "".join(part.deltas) if isinstance(event, PartGrowth) else None
        frame = GrowthFrame(part.directory, event.part_id, record_bytes(event.record()), delta, part.guests)
        part.sent, part.last, part.waiting = part.sent + 1, self._now(), None
        part.deltas = []
        return frame

    def _structural(self, envelope: Envelope, event: StructuralEvent) -> Frame:
        closes = _part_id(event) if isinstance(event, PartUpdated | PartRemoved) else None
        return Frame(envelope.directory, partial(encode_event, event), closes=closes, guests=envelope.guests)


def _part_id(event: PartUpdated | PartRemoved) -> str:
    return event.part.id if isinstance(event, PartUpdated) else event.part_id
