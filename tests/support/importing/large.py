"""A database of OpenCode with thousands of sessions, in the shape of 1.18."""

import json
import sqlite3
from pathlib import Path

from tests.support.importing.fixtures import PROJECT, unpack

BEGIN = 1_790_000_000_000
TURNS = 2


def make_database(data: Path, sessions: int) -> Path:
    """Write a database in the data folder `data`, each session of two turns with a tool call; return the folder."""
    unpack("1.18.33", data)
    database = sqlite3.connect(data / "opencode.db")
    for table in ("part", "message", "todo", "session", "project"):
        database.execute(f"DELETE FROM {table}")
    database.execute(
        "INSERT INTO project (id, worktree, vcs, time_created, time_updated, sandboxes) VALUES ('p', ?, 'git', 1, 1, '[]')",
        (PROJECT,),
    )
    for number in range(sessions):
        _add(database, number)
    database.commit()
    database.close()
    return data


def _add(database: sqlite3.Connection, number: int) -> None:
    time = BEGIN + number * 1000
    session = f"ses_{(~(time * 4096)) & ((1 << 48) - 1):012x}{number:014d}"
    database.execute(
        "INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)"
        " VALUES (?, 'p', 's', ?, ?, '1.18.33', ?, ?)",
        (session, PROJECT, f"Session {number}", time, time),
    )
    for turn in range(TURNS):
        at = time + turn * 100
        user, answer = (f"msg_{(at + step) * 4096 & ((1 << 48) - 1):012x}{number:014d}" for step in (0, 1))
        model = {"providerID": "fake", "modelID": "fake-model"}
        _message(
            database, session, user, at, {"role": "user", "agent": "build", "model": model, "time": {"created": at}}
        )
        tokens = {"input": 100, "output": 10, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        info = {
            "role": "assistant",
            "parentID": user,
            "mode": "build",
            "agent": "build",
            "cost": 0.01,
            "tokens": tokens,
        }
        place = {"path": {"cwd": PROJECT, "root": PROJECT}, "time": {"created": at + 1, "completed": at + 2}}
        _message(
            database, session, answer, at + 1, {**info, **place, "finish": "stop", "modelID": "m", "providerID": "p"}
        )
        call = {
            "status": "completed",
            "input": {"command": "ls"},
            "output": "a.txt\n" * 40,
            "title": "ls",
            "metadata": {},
        }
        parts = (
            (user, {"type": "text", "text": f"question {number} {turn} " * 10}),
            (answer, {"type": "step-start"}),
            (answer, {"type": "text", "text": f"answer {number} {turn} " * 40, "time": {"start": at, "end": at + 1}}),
            (
                answer,
                {
                    "type": "tool",
                    "tool": "bash",
                    "callID": f"c{turn}",
                    "state": {**call, "time": {"start": at, "end": at}},
                },
            ),
            (answer, {"type": "step-finish", "reason": "stop", "cost": 0.01, "tokens": tokens}),
        )
        for step, (message, part) in enumerate(parts):
            name = f"prt_{(at + step) * 4096 & ((1 << 48) - 1):012x}{number:014d}"
            database.execute(
                "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", (name, message, session, at, at, json.dumps(part))
            )


def _message(database: sqlite3.Connection, session: str, name: str, at: int, data: dict[str, object]) -> None:
    database.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (name, session, at, at, json.dumps(data)))
