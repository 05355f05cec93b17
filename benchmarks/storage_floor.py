"""The floor of storage: the same records in SQLite, and a lock that costs one system call."""

import fcntl
import json
import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from opencode_tui.schema.session.session import SessionInfo


class SqliteFloor:
    """Records as rows (folder, id, JSON text), WAL, `synchronous=NORMAL`: what OpenCode 1.2 moved to."""

    def __init__(self, path: Path) -> None:
        self._rows = sqlite3.connect(path)
        self._rows.execute("pragma journal_mode=wal")
        self._rows.execute("pragma synchronous=normal")
        self._rows.execute("create table record (folder text, id text, data text, primary key (folder, id))")

    def fill(self, records: Iterable[tuple[str, str, str]]) -> None:
        """Insert rows."""
        self._rows.executemany("insert into record values (?, ?, ?)", records)
        self._rows.commit()

    def replace(self, folder: str, name: str, data: str) -> None:
        """Write one row and commit."""
        self._rows.execute("replace into record values (?, ?, ?)", (folder, name, data))
        self._rows.commit()

    def load(self) -> list[object]:
        """Return every record parsed, in order."""
        return [json.loads(row[0]) for row in self._rows.execute("select data from record order by folder, id")]

    def sessions(self) -> list[SessionInfo]:
        """Return every record as a session."""
        rows = self._rows.execute("select data from record order by id")
        return [SessionInfo.model_validate_json(row[0]) for row in rows]


class KeptLock:
    """flock on a descriptor that stays open."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT)

    def lock_and_unlock(self) -> None:
        """Take the free lock and give it back."""
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
