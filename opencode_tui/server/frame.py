"""Events as bytes of an event stream, encoded once for all listeners.

A frame is `data: ` + one line of JSON + two line feeds: real clients split on `\\n\\n` and support neither CRLF nor event names.
Source: docs/internals/http.md#event-stream.
"""

import json
from collections.abc import Callable
from functools import cached_property, partial

import msgspec

from opencode_tui.schema.event.event import StructuralEvent, to_wire
from opencode_tui.schema.file_path import write_path
from opencode_tui.schema.record import plain
from opencode_tui.server.answer import value_bytes

_PART_UPDATED = b'{"type":"message.part.updated","properties":{"part":'


class Frame:
    """An event of one folder (empty: of the whole process); `closes` is the part whose growth it ends, if any.

    `guests` are other folders whose listeners get it.
    """

    def __init__(
        self,
        directory: str,
        encode: Callable[[], bytes],
        *,
        closes: str | None = None,
        guests: frozenset[str] = frozenset(),
    ) -> None:
        self.directory = directory
        self.guests = guests
        self.closes = closes
        self._encode = encode

    @classmethod
    def of(cls, directory: str, event: StructuralEvent) -> "Frame":
        """Return the frame of an event that closes no part."""
        return cls(directory, partial(encode_event, event))

    @cached_property
    def event(self) -> bytes:
        """The event as one line of JSON."""
        return self._encode()

    @cached_property
    def for_folder(self) -> bytes:
        """The frame for a listener of `/event`."""
        return _frame(self.event)

    @cached_property
    def for_all(self) -> bytes:
        """The frame for a listener of `/global/event`."""
        return _frame(_wrapped(self.directory, self.event))


class GrowthFrame(Frame):
    """The current part (JSON), and the text appended since its last frame; None for parts that do not grow by text."""

    def __init__(
        self, directory: str, part_id: str, part: bytes, delta: str | None, guests: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(directory, self._encode_growth, guests=guests)
        self.part_id = part_id
        self._part = part
        self._delta = delta

    def after(self, earlier: "GrowthFrame") -> "GrowthFrame":
        """Return one frame for both."""
        delta = None if self._delta is None else (earlier._delta or "") + self._delta
        return GrowthFrame(self.directory, self.part_id, self._part, delta, self.guests)

    def _encode_growth(self) -> bytes:
        delta = b"" if self._delta is None else b',"delta":' + json.dumps(self._delta).encode()
        return _PART_UPDATED + self._part + delta + b"}}"


def encode_event(event: StructuralEvent) -> bytes:
    """Return `{type, properties}` of an event."""
    try:
        fields = event.wire_fields()
        del fields["type"]
        properties = msgspec.json.encode(fields, enc_hook=plain)
    except UnicodeEncodeError:
        return value_bytes(to_wire(event))
    return b'{"type":"%b","properties":%b}' % (event.type.encode(), properties)


def own_event(kind: str) -> bytes:
    """Return an event of the stream itself, without properties."""
    return value_bytes({"type": kind, "properties": {}})


def _frame(line: bytes) -> bytes:
    return b"data: %b\n\n" % line


def _wrapped(directory: str, event: bytes) -> bytes:
    """Return the event with the folder that it belongs to; events of the stream and of the process have none."""
    named = b'"directory":%b,' % json.dumps(write_path(directory)).encode() if directory else b""
    return b'{%b"payload":%b}' % (named, event)
