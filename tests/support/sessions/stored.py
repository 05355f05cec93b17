"""Reads a store back from the disk, apart from the program's own reading, and says what is wrong with it."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opencode_tui.schema.error import OpencodeError
from opencode_tui.storage.doctor import check_record

Record = dict[str, Any]


@dataclass(frozen=True)
class Stored:
    """All records of a store by their key, as JSON, and the complaints about them."""

    records: dict[tuple[str, ...], Record] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)

    def of_kind(self, kind: str) -> list[Record]:
        """Return the records of a kind, in the order of their keys."""
        return [record for key, record in sorted(self.records.items()) if key[0] == kind]

    def parts(self, kind: str, session_id: str | None = None) -> list[Record]:
        """Return the parts of a type, in order, of all sessions or one."""
        return [
            part for part in self.of_kind("part") if part["type"] == kind and session_id in (None, part["sessionID"])
        ]

    def part(self, part_id: str) -> Record | None:
        """Return a part."""
        return next((part for part in self.of_kind("part") if part["id"] == part_id), None)

    @property
    def unfinished(self) -> list[str]:
        """What never ended: calls without a result, open texts, answers without a time of completion."""
        parts = [f"{part['type']} {part['id']}" for part in self.of_kind("part") if _is_open(part)]
        messages = [
            f"message {message['id']}"
            for message in self.of_kind("message")
            if message["role"] == "assistant" and "completed" not in message["time"]
        ]
        return parts + messages

    @property
    def strays(self) -> list[str]:
        """Parts without a message, messages without a session, more than one session for a message."""
        sessions = {session["id"] for session in self.of_kind("session")}
        messages = {message["id"] for message in self.of_kind("message")}
        return [
            *(part["id"] for part in self.of_kind("part") if part["messageID"] not in messages),
            *(message["id"] for message in self.of_kind("message") if message["sessionID"] not in sessions),
        ]


def read_store(storage: Path) -> Stored:
    """Return everything below a store's folder; temporary files of a process that was killed are no records."""
    stored = Stored()
    for path in sorted(storage.rglob("*.json")):
        key = path.relative_to(storage).with_suffix("").parts
        try:
            data = path.read_bytes()
            check_record(key, data, str(path))
            stored.records[key] = json.loads(data)
        except (OpencodeError, ValueError) as error:
            stored.damaged.append(f"{path}: {error}")
    return stored


def _is_open(part: Record) -> bool:
    if part["type"] == "tool":
        return part["state"]["status"] in ("pending", "running")
    return part["type"] in ("text", "reasoning") and "time" in part and "end" not in part["time"]
