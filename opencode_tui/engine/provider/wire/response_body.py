"""The body of an answer: the events of a stream, or else a whole answer or an error as JSON, or something that no model said."""

import re

from opencode_tui.engine.provider.wire.delta import ProtocolError
from opencode_tui.engine.provider.wire.json_value import as_list, as_object, read_json
from opencode_tui.engine.provider.wire.sse import SseParser
from opencode_tui.schema.record import JsonObject

_MAX_BYTES = 4 * 1024 * 1024
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)


class ResponseBody:
    """Gives back a body's events; keeps its beginning until the first one shows that it is a stream."""

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

    def whole(self) -> JsonObject | None:
        """Return the JSON object that the body is, None when there is no body. Raises ProtocolError for anything else."""
        text = b"".join(self._kept).strip() if self._may_be_whole else b""
        if not text or text.startswith((b":", b"event:", b"data:", b"retry:", b"id:")):
            return None
        if text.startswith((b"{", b"[")):
            try:
                value = read_json(text)
            except ValueError:
                return None
            return as_object(next(iter(as_list(value)), value))
        raise ProtocolError(describe_text(text.decode("utf-8", "replace")))

    def _observe(self, chunk: bytes, has_events: bool) -> None:
        if has_events:
            self._may_be_whole = False
            self._kept = []
        elif self._size < _MAX_BYTES:
            self._kept.append(chunk)
            self._size += len(chunk)


def describe_text(text: str) -> str:
    """Return one short line that says what a text is: a web page by its title, else its beginning."""
    if "<html" in text[:2000].lower() or text[:200].lower().lstrip().startswith("<!doctype"):
        title = _TITLE.search(text)
        return f"a web page ({' '.join(title.group(1).split())[:100]})" if title else "a web page"
    return " ".join(text.split())[:300]
