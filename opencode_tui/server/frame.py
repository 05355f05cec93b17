"""Events as bytes of an event stream, encoded once for all who listen.

A frame is `data: ` + one line of JSON + two line feeds: real clients split on `\\n\\n` and know neither CRLF nor event names.
Source: reference, `http.md` 1 and 4.
"""

import json
from collections.abc import Sequence
from functools import cached_property

from opencode_tui.schema.event import BusLagged, PartGrowth, PartProgress, StructuralEvent
from opencode_tui.schema.part import AnyPart
from opencode_tui.server.answer import record_bytes, value_bytes

_TYPE = "type"
_PART_UPDATED = b'{"type":"message.part.updated","properties":{"part":'


class Frame:
    """A structural event of one folder (empty: of the whole process), and the part that it closes, if it does."""

    def __init__(self, directory: str, event: bytes, *, closes: str | None = None) -> None:
        self.directory = directory
        self.closes = closes
        self.event = event

    @cached_property
    def for_folder(self) -> bytes:
        """The frame for a listener of `/event`."""
        return _frame(self.event)

    @cached_property
    def for_all(self) -> bytes:
        """The frame for a listener of `/global/event`."""
        return _frame(_wrapped(self.directory, self.event))

    @property
    def size(self) -> int:
        """Bytes of the event."""
        return len(self.event)


class GrowthFrame(Frame):
    """A part as it is now, and what was appended since the last frame of it; several that wait become one (`after`)."""

    def __init__(self, directory: str, part_id: str, part: bytes, deltas: Sequence[str]) -> None:
        self.part_id = part_id
        self._part = part
        self._deltas = tuple(deltas)
        super().__init__(directory, self._encode())

    def after(self, earlier: "GrowthFrame") -> "GrowthFrame":
        """Return one frame that stands for both."""
        return GrowthFrame(self.directory, self.part_id, self._part, (*earlier._deltas, *self._deltas))

    def _encode(self) -> bytes:
        delta = b',"delta":' + json.dumps("".join(self._deltas)).encode() if self._deltas else b""
        return _PART_UPDATED + self._part + delta + b"}}"


def encode_structural(event: StructuralEvent | BusLagged) -> bytes:
    """Return `{type, properties}` of an event."""
    if isinstance(event, BusLagged):
        return value_bytes({"type": "bus.lagged", "properties": {}})
    kind = json.dumps(event.type).encode()
    body = record_bytes(event.changed(**{_TYPE: None})) if False else _properties(event)
    return b'{"type":' + kind + b',"properties":' + body + b"}"


def encode_part(event: PartGrowth | PartProgress) -> bytes:
    """Return the part of a growing event as JSON."""
    part: AnyPart = event.live.record()
    return record_bytes(part)
