"""Identifiers: a prefix, 48 bits of time and counter in hex, 14 random base62 characters.

The hex digits are the low 48 bits of `unix_ms * 4096 + counter`, so they wrap every 2**36 ms (about 795 days); code that sorts ids
must handle ids that span a wrap. Source: docs/internals/session.md#ids.
"""

import os
import re
import threading
import time
from collections.abc import Callable, Iterable
from typing import Literal

Prefix = Literal["ses", "msg", "prt", "per", "que", "usr", "pty", "tool"]
Clock = Callable[[], int]
"""Returns the present time in milliseconds since 1970."""

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
"""The characters of an id's last part."""
_TICKS_PER_MS = 4096
_FIELD = 1 << 48
_MASK = _FIELD - 1
_MAX_LEAD = 60_000 * _TICKS_PER_MS
_SHAPE = re.compile(r"[a-z]{3,4}_[0-9A-Za-z]{1,60}")
_TIME_FIELD = re.compile(r"^[a-z]{3,4}_([0-9a-f]{12})")


def system_clock() -> int:
    """Return the present time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def is_identifier(text: str, prefix: Prefix) -> bool:
    """Return whether `text` has the shape of an id with this prefix; such a text is safe as a file name."""
    return text.startswith(prefix + "_") and _SHAPE.fullmatch(text) is not None


def time_field(identifier: str) -> int | None:
    """Return the 48-bit field of an id, or None when its name has none (old or foreign ids)."""
    match = _TIME_FIELD.match(identifier)
    return int(match.group(1), 16) if match else None


def spans_wrap(identifiers: Iterable[str]) -> bool:
    """Return whether ascending names are on both sides of a wrap of the 48 bits, so that their order is not that of time.

    Also true for names without a time field: then only the records have the order.
    """
    fields = [time_field(name) for name in identifiers]
    known = [field for field in fields if field is not None]
    if len(known) != len(fields):
        return True
    return bool(known) and max(known) - min(known) > _FIELD // 2


class Identifier:
    """Makes ids that strictly increase within one process; thread-safe."""

    def __init__(self, clock: Clock = system_clock) -> None:
        self.clock = clock
        self._last = 0
        self._lock = threading.Lock()

    def ascending(self, prefix: Prefix) -> str:
        """Return a new id that sorts after every earlier ascending one (messages, parts, requests)."""
        return _render(prefix, self._next() & _MASK)

    def descending(self, prefix: Prefix) -> str:
        """Return a new id that sorts before every earlier descending one (sessions)."""
        return _render(prefix, ~self._next() & _MASK)

    def observe(self, identifier: str) -> None:
        """Advance the generator past an id from a client, so that later ids sort after it.

        An id more than 60 s ahead of the clock is ignored, because the client's clock is wrong.
        """
        field = time_field(identifier)
        if field is None:
            return
        with self._lock:
            now = self.clock() * _TICKS_PER_MS
            value = (now & ~_MASK) | field
            if value - now > _FIELD // 2:
                value -= _FIELD
            elif now - value > _FIELD // 2:
                value += _FIELD
            if self._last < value <= now + _MAX_LEAD:
                self._last = value

    def _next(self) -> int:
        with self._lock:
            self._last = max(self.clock() * _TICKS_PER_MS, self._last) + 1
            return self._last


def _render(prefix: Prefix, field: int) -> str:
    tail = "".join(BASE62[byte % 62] for byte in os.urandom(14))
    return f"{prefix}_{field:012x}{tail}"
