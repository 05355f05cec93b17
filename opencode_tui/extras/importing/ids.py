"""Ids of imported records, derived from the time and the id there, so that a second import gives the same ones."""

import hashlib
from typing import cast

from opencode_tui.schema.api.importing import ImportTool
from opencode_tui.schema.ids import BASE62, Prefix, time_field

_TICKS_PER_MS = 4096
_MASK = (1 << 48) - 1
_HALF = 1 << 47
_SPACE = 62**14


def derive_session_id(tool: ImportTool, source_id: str, created: int) -> str:
    """Return the id of a session of another program; `created` is milliseconds since 1970 and must never change."""
    return _render("ses", ~(created * _TICKS_PER_MS) & _MASK, f"{tool} {source_id}")


class DerivedIds:
    """Derives the ids of one session's messages and parts, each strictly ascending in the order of the calls.

    Call it for the same records in the same order at each import: an id depends on those before where times are equal or go back.
    """

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._last: dict[Prefix, int] = {}

    def message(self, source_id: str, time_ms: int) -> str:
        """Return the id of the next message; `source_id` names it within the session, `time_ms` is when it was created."""
        return self._next("msg", source_id, time_ms)

    def part(self, source_id: str, time_ms: int) -> str:
        """Return the id of the next part; `source_id` names it within the session, for example `{line}.{block}`."""
        return self._next("prt", source_id, time_ms)

    def keeps(self, identifier: str, time_ms: int) -> bool:
        """Return whether an id can stay: it is behind all ids so far. The next ones are then derived behind it.

        `time_ms` is about when it was made. An id without a time of its own cannot stay.
        """
        prefix = cast(Prefix, identifier.partition("_")[0])
        field = time_field(identifier)
        if field is None:
            return False
        near = time_ms * _TICKS_PER_MS  # an id has the lower 48 bits
        value = near + (field - near + _HALF) % (2 * _HALF) - _HALF
        if value <= self._last.get(prefix, 0):
            return False
        self._last[prefix] = value
        return True

    def _next(self, prefix: Prefix, source_id: str, time_ms: int) -> str:
        value = max(time_ms * _TICKS_PER_MS, self._last.get(prefix, 0) + 1)
        self._last[prefix] = value
        return _render(prefix, value & _MASK, f"{self._session_id} {source_id}")


def _render(prefix: Prefix, field: int, text: str) -> str:
    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()) % _SPACE
    tail = ""
    for _ in range(14):
        number, digit = divmod(number, 62)
        tail += BASE62[digit]
    return f"{prefix}_{field:012x}{tail}"
