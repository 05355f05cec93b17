"""Server-sent events: bytes in whatever pieces they arrive, to the data of whole events.

Event names are not read: both wire formats repeat them inside the data. Source: WHATWG HTML, section 9.2.
"""

from opencode_tui.engine.provider.wire.delta import ProtocolError

MAX_EVENT_BYTES = 32 * 1024 * 1024
"""Bytes of one event after which the answer is refused: no provider sends such events, only a broken or hostile one."""

_BOM = b"\xef\xbb\xbf"


class SseParser:
    """Collects bytes and gives back the data of each event that became whole."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max = max_event_bytes
        self._line: list[bytes] = []
        self._line_size = 0
        self._data: list[bytes] = []
        self._data_size = 0
        self._skips_newline = False
        self._is_first = True

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of the events that end in this chunk. Raises ProtocolError when one is too large."""
        if b"\r" in chunk or self._skips_newline:
            chunk = self._with_plain_newlines(chunk)
        lines = chunk.split(b"\n")
        rest = lines.pop()
        events: list[bytes] = []
        for line in lines:
            if self._line:
                line = self._complete_line(line)
            if self._is_first:
                line = self._without_mark(line)
            if line.startswith(b"data: "):
                self._add(line[6:])
            elif not line:
                self._dispatch(events)
            elif line.startswith(b"data"):
                self._add_loosely(line)
        if rest:
            self._keep(rest)
        return events

    def end(self) -> list[bytes]:
        """Return the data of an event whose closing empty line is missing at the end of the stream."""
        events = self.feed(b"\n")
        self._dispatch(events)
        return events

    def _dispatch(self, events: list[bytes]) -> None:
        if self._data:
            events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
            self._data = []
            self._data_size = 0

    def _add(self, value: bytes) -> None:
        self._data.append(value)
        self._data_size += len(value)
        self._check_size()

    def _add_loosely(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._add(value.removeprefix(b" "))

    def _keep(self, rest: bytes) -> None:
        self._line.append(rest)
        self._line_size += len(rest)
        self._check_size()

    def _complete_line(self, line: bytes) -> bytes:
        self._line.append(line)
        whole = b"".join(self._line)
        self._line = []
        self._line_size = 0
        return whole

    def _check_size(self) -> None:
        if self._line_size + self._data_size > self._max:
            raise ProtocolError(f"one event is larger than {self._max // (1024 * 1024)} MB")

    def _without_mark(self, line: bytes) -> bytes:
        self._is_first = False
        return line.removeprefix(_BOM)

    def _with_plain_newlines(self, chunk: bytes) -> bytes:
        if self._skips_newline and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._skips_newline = False
        self._skips_newline = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
