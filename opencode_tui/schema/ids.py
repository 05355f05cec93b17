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
CLIENT_AHEAD_MS = 60_000
"""Milliseconds that the clock of a client may be ahead for its ids to be kept."""
_TICKS_PER_MS = 4096
_FIELD = 1 << 48
_MASK = _FIELD - 1
_HALF = _FIELD // 2
_AHEAD = 24 * 3_600_000 * _TICKS_PER_MS
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


def session_field(identifier: str) -> int | None:
    """Return the 48-bit field of a session's id as an ascending id would have it, None when its name has none."""
    field = time_field(identifier)
    return None if field is None else ~field & _MASK


def is_made_after(identifier: str, field: int) -> bool:
    """Return whether an id was made after a 48-bit field, by the shorter way round; False for one without a time field."""
    own = time_field(identifier)
    return own is not None and 0 < (own - field) % _FIELD < _HALF


def spans_wrap(identifiers: Iterable[str]) -> bool:
    """Return whether ascending names are on both sides of a wrap of the 48 bits, so that their order is not that of time.

    Also true for names without a time field: then only the records have the order.
    """
    fields = [time_field(name) for name in identifiers]
    known = [field for field in fields if field is not None]
    if len(known) != len(fields):
        return True
    return bool(known) and max(known) - min(known) > _HALF


def is_before(name: str, other: str) -> bool:
    """Return whether an id was made before another one, by the shorter way round; by name where one has no time field."""
    fields = time_field(name), time_field(other)
    if fields[0] is None or fields[1] is None or fields[0] == fields[1]:
        return name < other
    return (fields[1] - fields[0]) % _FIELD < _HALF


def moment(identifier: str, created: int) -> tuple[int, str]:
    """Return the key that sorts records whose ids span a wrap: when an id was made, by the record's own time in ms.

    An id may be ahead of that time, where the clock was corrected. One behind it, or without a time field, counts as made then.
    """
    made, field = created * _TICKS_PER_MS, time_field(identifier)
    ahead = 0 if field is None else (field - made) % _FIELD
    return made + (ahead if ahead < _HALF else 0), identifier


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

    def is_near(self, identifier: str) -> bool:
        """Return whether the next id sorts after this one, or would if it were observed, by moving at most `CLIENT_AHEAD_MS`."""
        field = time_field(identifier)
        if field is None:
            return False
        with self._lock:
            ahead = (field - max(self.clock() * _TICKS_PER_MS, self._last)) % _FIELD
        return ahead <= CLIENT_AHEAD_MS * _TICKS_PER_MS or ahead >= _HALF

    def observe(self, identifiers: Iterable[str]) -> None:
        """Advance the generator past ids, so that later ones sort after them.

        An id that is more than a day ahead counts as one from before the last wrap: without the time of its record it cannot be
        known which of both it is.
        """
        fields = [field for one in identifiers if (field := time_field(one)) is not None]
        with self._lock:
            now = self.clock() * _TICKS_PER_MS
            ahead = max(((field - now) % _FIELD for field in fields if (field - now) % _FIELD <= _AHEAD), default=0)
            if ahead:
                self._last = max(self._last, now + ahead)

    def observe_made(self, records: Iterable[tuple[str, int]]) -> None:
        """Advance the generator past the ids of records, given with their own times in ms.

        They may be far ahead, because a clock was corrected: by up to half of the 48 bits, which is a year. An id that does not
        fit the time of its record, as an imported one, counts as in `observe`.
        """
        made, alone = list[int](), list[str]()
        for name, created in records:
            made.append(moment(name, created)[0])
            off = ((time_field(name) or 0) - created * _TICKS_PER_MS) % _FIELD
            if min(off, _FIELD - off) > _AHEAD:
                alone.append(name)
        self.observe(alone)
        with self._lock:
            most = self.clock() * _TICKS_PER_MS + _HALF
            self._last = max(self._last, max((one for one in made if one < most), default=0))

    def observe_session(self, identifier: str) -> None:
        """Advance the generator past the id of a session, which is a descending one."""
        field = session_field(identifier)
        if field is not None:
            self.observe([_render("ses", field)])

    def _next(self) -> int:
        with self._lock:
            self._last = max(self.clock() * _TICKS_PER_MS, self._last) + 1
            return self._last


def _render(prefix: Prefix, field: int) -> str:
    tail = "".join(BASE62[byte % 62] for byte in os.urandom(14))
    return f"{prefix}_{field:012x}{tail}"
