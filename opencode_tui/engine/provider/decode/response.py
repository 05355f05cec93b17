"""Reads responses of providers: server-sent events, a complete response or an error as JSON, and the values in the JSON."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from opencode_tui.engine.provider.decode.delta import MalformedChunk, ProtocolError, WireDelta, WireEnd
from opencode_tui.schema.json_text import JsonError, TooDeepError, as_object, decode_json, load_json
from opencode_tui.schema.record import JsonObject

_MAX_DIGITS = 10
_MOST_TOKENS = 1e12
"""Upper limit of plausible token counts; a larger number is a provider's error."""


def read_json(data: bytes) -> Any:
    """Return the value of a JSON text; keeps unpaired surrogates, replaces invalid UTF-8 by U+FFFD. Raises ValueError."""
    try:
        return decode_json(data)
    except TooDeepError:
        raise
    except JsonError:
        return load_json(data.decode("utf-8", "replace"))


def as_list(value: object) -> list[Any]:
    """Return a JSON list, an empty one for anything else."""
    return cast(list[Any], value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return a text, empty for anything else."""
    return value if isinstance(value, str) else ""


def as_index(value: object) -> int | None:
    """Return an integer, also from a text; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < _MAX_DIGITS:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_count(value: object) -> int:
    """Return a plausible number of tokens (an integer from 0 to the limit); 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_TOKENS:
        return 0
    return int(value)


def uncached(prompt: int, cached: int, written: int = 0) -> tuple[int, int]:
    """Return the tokens of a prompt that are neither read from the cache nor written to it, and those that are written.

    Some servers leave cached tokens out of the prompt (Grok on Azure); some report tokens as both read and written (OpenRouter).
    """
    if cached > prompt:
        return prompt, written
    written = min(written, prompt - cached)
    return prompt - cached - written, written


MAX_EVENT_BYTES = 32 * 1024 * 1024
"""Maximum size of one event in bytes: only a broken or hostile server sends larger ones."""

_BOM = b"\xef\xbb\xbf"


class SseParser:
    """Collects bytes and returns the data of each complete event."""

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
            elif line.startswith((b"data", b"error")):
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
        elif name == b"error":  # llama.cpp and what builds on it report errors in a field of this name
            text = value.strip()
            quoted = text if text.startswith(b"{") else msgspec.json.encode(text.decode("utf-8", "replace"))
            self._add(b'{"error":%s}' % quoted)

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


class WebPageError(ProtocolError):
    """The response is a web page, as proxies and login pages send in place of a provider's response."""


_MAX_BYTES = 4 * 1024 * 1024
_TITLE_WITHIN = 8_192
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)


class ResponseBody:
    """Returns a body's events; buffers its beginning until the first event shows that it is a stream."""

    def __init__(self) -> None:
        self._sse = SseParser()
        self._may_be_whole = True
        self._kept: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of the events that end in this chunk. Raises ProtocolError when one is too large."""
        events = self._sse.feed(chunk)
        if self._may_be_whole:
            self._observe(chunk, bool(events))
        return events

    def end(self) -> list[bytes]:
        """Return the data of an event whose closing empty line is missing at the end of the body."""
        return self._sse.end()

    def objects(self) -> list[JsonObject]:
        """Return the body's JSON object, or those of its list; none for an empty body. Raises ProtocolError for anything else."""
        text = b"".join(self._kept).strip() if self._may_be_whole else b""
        if not text or text.startswith((b":", b"event:", b"data:", b"error:", b"retry:", b"id:")):
            return []
        if text.startswith((b"{", b"[")):
            try:
                value = read_json(text)
            except ValueError:
                return []
            return [as_object(one) for one in (as_list(value) or [value])]
        plain = text.decode("utf-8", "replace")
        raise WebPageError(describe_text(plain)) if is_web_page(plain) else ProtocolError(describe_text(plain))

    def _observe(self, chunk: bytes, has_events: bool) -> None:
        if has_events:
            self._may_be_whole = False
            self._kept = []
        elif self._size < _MAX_BYTES:
            self._kept.append(chunk)
            self._size += len(chunk)


def is_web_page(text: str) -> bool:
    """Return whether a text is a web page."""
    return "<html" in text[:2000].lower() or text[:200].lower().lstrip().startswith("<!doctype")


def describe_text(text: str) -> str:
    """Return a short description of a text: the title of a web page, else its beginning."""
    if is_web_page(text):
        title = _TITLE.search(text[:_TITLE_WITHIN])
        return f"a web page ({' '.join(title.group(1).split())[:100]})" if title else "a web page"
    return " ".join(text.split())[:300]


_DONE = b"[DONE]"
"""The data of the event that ends a stream of OpenAI's formats; gateways add it to other formats too."""


class StreamDecoder(ABC):
    """Decodes the bytes of one response to deltas: the events of a stream, or a whole body of a server that does not stream."""

    ends_with_done: bool = False
    """Whether `[DONE]` marks the end of a response; otherwise it means nothing."""

    def __init__(self) -> None:
        self._body = ResponseBody()

    @abstractmethod
    def read_event(self, event: JsonObject, deltas: list[WireDelta]) -> None:
        """Append the deltas of one event."""

    @abstractmethod
    def read_whole(self, body: JsonObject, deltas: list[WireDelta]) -> None:
        """Append the deltas of a complete response, or of the object that came in its place."""

    def feed(self, chunk: bytes) -> list[WireDelta]:
        """Return the deltas that these bytes complete. Raises ProtocolError when they cannot be a stream."""
        return self._read(self._body.feed(chunk))

    def end(self) -> list[WireDelta]:
        """Return the deltas that the end of the body completes. Raises ProtocolError when it was not a response."""
        deltas = self._read(self._body.end())
        if not deltas:
            for body in self._body.objects():
                self.read_whole(body, deltas)
        return deltas

    def _read(self, events: Sequence[bytes]) -> list[WireDelta]:
        """Return the deltas of events; what is not JSON is a malformed chunk."""
        deltas: list[WireDelta] = []
        for data in events:
            try:
                event = read_json(data)
            except ValueError:
                if data.strip() != _DONE:
                    deltas.append(MalformedChunk(data[:200].decode("utf-8", "replace")))
                elif self.ends_with_done:
                    deltas.append(WireEnd())
                continue
            self.read_event(as_object(event), deltas)
        return deltas
