"""Stores of a chosen size for `bench_scale`: many sessions of one project, or one session of many messages with compactions.

Records are those of real turns: a request, and an answer with a call and a text. Files are 1 s older than the moment of writing
or older, so that derived files may keep them.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from opencode_tui.schema.ids import Identifier

_ANSWER = "The function reads the settings, checks each of them and returns what differs from the defaults. " * 4
_OUTPUT = "\n".join(f"{number:05d}| value_{number} = check(settings, name_{number})" for number in range(1, 30))
_DAY_MS = 86_400_000
_TURN_MS = 60_000
COMPACTED_EVERY = 200
"""Turns between two compactions of the long session."""


class StoreWriter:
    """Writes records below a store's folder `root`, for the sessions of one project and folder."""

    def __init__(self, root: Path, *, project_id: str, directory: Path, now_ms: int) -> None:
        self._root = root
        self.project_id = project_id
        self._directory = str(directory)
        self._now_ms = now_ms
        self._at_ms = now_ms
        self._ids = Identifier(clock=lambda: self._at_ms)
        (root / "session" / project_id).mkdir(parents=True, exist_ok=True)

    def write_sessions(self, count: int, *, parts_every: int = 5) -> str:
        """Write sessions of one turn each, over a year, parts with one of `parts_every`; return the ID of the newest one."""
        session_id = ""
        for number in range(count):
            self._at_ms = self._now_ms - 365 * _DAY_MS + number * (364 * _DAY_MS // count)
            session_id = self._write_session(f"Check the settings of part {number % 997} in step {number}")
            self._write_turn(session_id, number, has_parts=number % parts_every == 0 or number == count - 1)
        return session_id

    def write_long_session(self, messages: int) -> str:
        """Write one session of so many messages, those of its compactions included; return its ID."""
        self._at_ms = self._now_ms - messages // 2 * _TURN_MS
        session_id = self._write_session("A long session")
        for number in range(messages // 2):
            self._at_ms += _TURN_MS
            if number % COMPACTED_EVERY == COMPACTED_EVERY - 1:
                self._write_compaction(session_id)
            else:
                self._write_turn(session_id, number, has_parts=True)
        return session_id

    def _write_session(self, title: str) -> str:
        session_id = self._ids.descending("ses")
        record = {
            "id": session_id,
            "version": "1",
            "projectID": self.project_id,
            "directory": self._directory,
            "title": title,
            "time": {"created": self._at_ms, "updated": self._at_ms},
        }
        self._write(("session", self.project_id, session_id), record)
        os.makedirs(self._root / "message" / session_id)
        return session_id

    def _write_turn(self, session_id: str, number: int, *, has_parts: bool) -> None:
        request, answer = (self._ids.ascending("msg") for _ in range(2))
        self._write_message(session_id, request, None)
        self._write_message(session_id, answer, request)
        if not has_parts:
            return
        start = self._at_ms
        call = {
            "type": "tool",
            "callID": f"call_{number}",
            "tool": ("read", "bash", "grep")[number % 3],
            "state": {
                "status": "completed",
                "input": {"filePath": f"{self._directory}/a_{number}.py"},
                "output": _OUTPUT,
                "title": f"a_{number}.py",
                "metadata": {},
                "time": {"start": start, "end": start + 10},
            },
        }
        text = {"type": "text", "text": _ANSWER, "time": {"start": start, "end": start + 10}}
        self._write_parts(session_id, request, [{"type": "text", "text": f"Question {number}: what does this check?"}])
        self._write_parts(session_id, answer, [call, text])

    def _write_compaction(self, session_id: str) -> None:
        marker, summary = (self._ids.ascending("msg") for _ in range(2))
        self._write_message(session_id, marker, None)
        self._write_message(session_id, summary, marker, is_summary=True)
        self._write_parts(session_id, marker, [{"type": "compaction", "auto": True}])
        self._write_parts(session_id, summary, [{"type": "text", "text": "What was done so far: " + _ANSWER}])

    def _write_message(self, session_id: str, name: str, parent: str | None, *, is_summary: bool = False) -> None:
        record: dict[str, object] = {"id": name, "sessionID": session_id, "time": {"created": self._at_ms}}
        if parent is None:
            model: dict[str, object] = {"providerID": "fake", "modelID": "fake-model"}
            record |= {"role": "user", "agent": "build", "model": model, "summary": {"title": "Question", "diffs": []}}
        else:
            tokens: dict[str, object] = {
                "input": 4_000,
                "output": 200,
                "reasoning": 0,
                "cache": {"read": 1_000, "write": 0},
            }
            record |= {
                "role": "assistant",
                "parentID": parent,
                "modelID": "fake-model",
                "providerID": "fake",
                "mode": "build",
                "agent": "build",
                "path": {"cwd": self._directory, "root": self._directory},
                "cost": 0.01,
                "tokens": tokens,
                "finish": "stop",
                "time": {"created": self._at_ms, "completed": self._at_ms + 10},
                **({"summary": True} if is_summary else {}),
            }
        self._write(("message", session_id, name), record)

    def _write_parts(self, session_id: str, message: str, parts: Sequence[Mapping[str, object]]) -> None:
        os.makedirs(self._root / "part" / message)
        for part in parts:
            name = self._ids.ascending("prt")
            self._write(("part", message, name), {"id": name, "sessionID": session_id, "messageID": message, **part})

    def _write(self, key: tuple[str, ...], record: Mapping[str, object]) -> None:
        path = f"{self._root}/{'/'.join(key)}.json"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(descriptor, json.dumps(record, indent=2).encode())
        os.close(descriptor)
