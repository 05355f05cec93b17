"""Pure: map the records of a session to those of its fork. Source: SPEC section 3, fork.

An id keeps its prefix and its 12 hex digits, which give the order; its last 14 characters come from a hash of the fork's id
and the old id: the map needs no table, and copying again gives the same ids. Records are mapped as JSON, so that fields that this
version does not know are kept. Ids of sessions of agents (a task's metadata) do not change.
"""

import hashlib
import json
from typing import Any, cast

from msgspec import Struct
from pydantic_core import PydanticSerializationError, to_json

from opencode_tui.schema.ids import BASE62, time_field
from opencode_tui.schema.record import JsonObject

_TAIL = 14
_HEX = 12
_LONGEST_HEAD = 46
"""Characters kept of an id without a time field, so that the new id has at most 60."""
_SPACE = len(BASE62) ** _TAIL


def copied_id(fork_id: str, old_id: str) -> str:
    """Return the fork's id for an id of the source."""
    prefix, _, rest = old_id.partition("_")
    kept = rest[:_HEX] if time_field(old_id) is not None else rest[:_LONGEST_HEAD]
    number = int.from_bytes(hashlib.sha256(f"{fork_id}{old_id}".encode()).digest()) % _SPACE
    tail = ""
    for _ in range(_TAIL):
        number, digit = divmod(number, len(BASE62))
        tail = BASE62[digit] + tail
    return f"{prefix}_{kept}{tail}"


class ForkMap(Struct, frozen=True):
    """Maps records of the source into the fork; `elsewhere` drops references to the files of the source's worktree."""

    fork_id: str
    elsewhere: bool = False

    def id(self, old_id: str) -> str:
        """Return the id in the fork."""
        return copied_id(self.fork_id, old_id)

    def message(self, data: bytes) -> bytes:
        """Return a message's record for the fork; raises ValueError when it is not a JSON object."""
        record = _object(data)
        self._rename(record, "id", "parentID")
        record["sessionID"] = self.fork_id
        return _bytes(record)

    def part(self, data: bytes) -> bytes | None:
        """Return a part's record for the fork, None for one that has no meaning there; raises as `message`."""
        record = _object(data)
        if self.elsewhere:
            if record.get("type") in ("patch", "snapshot"):
                return None
            record.pop("snapshot", None)
        self._rename(record, "id", "messageID", "tailID")
        record["sessionID"] = self.fork_id
        state = record.get("state")
        attachments = cast("JsonObject", state).get("attachments") if isinstance(state, dict) else None
        for attachment in cast("list[Any]", attachments) if isinstance(attachments, list) else ():
            if isinstance(attachment, dict):
                self._rename_attachment(cast("JsonObject", attachment))
        return _bytes(record)

    def _rename(self, record: JsonObject, *names: str) -> None:
        for name in names:
            old = record.get(name)
            if isinstance(old, str):
                record[name] = self.id(old)

    def _rename_attachment(self, attachment: JsonObject) -> None:
        self._rename(attachment, "id", "messageID")
        if "sessionID" in attachment:
            attachment["sessionID"] = self.fork_id


def _object(data: bytes) -> JsonObject:
    value: object = json.loads(data)
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    return cast("JsonObject", value)


def _bytes(record: JsonObject) -> bytes:
    try:
        return to_json(record, indent=2)
    except (PydanticSerializationError, ValueError):  # text that is not Unicode
        return json.dumps(record, indent=2, ensure_ascii=False).encode("utf-8", "replace")
