"""Reads the database of OpenCode from 1.2 on (`opencode.db`): sessions, messages, parts and todos.

OpenCode 2 writes the same file and leaves what OpenCode 1 wrote where it was: its own messages are in `session_message`, and it
shows no others. Here a session has the messages of both, by time.

It is opened read-only, in one read transaction; a database in a folder that cannot be written is copied first, with its log.
Columns vary by version, so rows are read by the names of their columns. Tables of credentials, accounts and shares are never read.
"""

import heapq
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, cast
from urllib.parse import quote

from msgspec.structs import replace
from pydantic import ValidationError

from opencode_tui.engine.importing.opencode import found_session, parents_first, read_items, snapshot_stores
from opencode_tui.engine.importing.opencode_v2 import V2Row, V2Session, title_of
from opencode_tui.engine.importing.source import FoundSession, ImportedSession, Problem, Problems, check_message
from opencode_tui.schema.api.project import ProjectInfo
from opencode_tui.schema.error import NotFoundError, StorageError
from opencode_tui.schema.ids import spans_wrap, time_field
from opencode_tui.schema.json_text import JsonError, decode_json
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.session import SessionInfo, Todo, is_default_title
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.keys import is_segment
from opencode_tui.storage.reader import RecordReader
from opencode_tui.storage.session_record import describe_mismatch

_BUSY_S = 10
_JSON_COLUMNS = frozenset({"permission", "metadata", "revert", "summary_diffs"})


class OpenCodeSqlite:
    """One database of OpenCode."""

    tool: Literal["opencode"] = "opencode"

    def __init__(self, database: Path) -> None:
        self.problems: Problems = []
        self.label = "OpenCode"
        self.path = database
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._connection: sqlite3.Connection | None = None

    def list(self) -> Iterator[FoundSession]:
        """Yield the sessions, a parent before its children; sets the version in `label`."""
        found: dict[str, FoundSession] = {}
        newest = self._newest()
        for row in self._rows("SELECT * FROM session"):
            info = self._session(row)
            if info is not None:
                one = found_session(info, str(self.path))
                found[info.id] = replace(one, updated=max(one.updated, newest.get(info.id, 0)))
        last = max(found.values(), key=lambda one: one.updated, default=None)
        if last is not None and "." in last.version:
            self.label = f"OpenCode {last.version.rpartition('.')[0]}"
        yield from parents_first(found)

    def read(self, found: FoundSession) -> ImportedSession:
        """Return a session; its messages are read one by one."""
        row = next(iter(self._rows("SELECT * FROM session WHERE id = ?", found.id)), None)
        info = None if row is None else self._session(row)
        if row is None or info is None:
            raise NotFoundError(f"session {found.id} is not in {self.path} any more")
        problems: Problems = []
        todos = [
            {"content": row["content"], "status": row["status"], "priority": row["priority"]}
            for row in self._rows("SELECT * FROM todo WHERE session_id = ? ORDER BY position", found.id)
        ]
        diffs = self._diffs(found.id)
        path, data = str(self.path), self.path.parent
        return ImportedSession(
            info=info,
            messages=self._messages(row, info, problems),
            todos=read_items(todos, Todo, path=path, line=found.id, problems=problems),
            diffs=read_items(diffs, FileDiff, path=path, line=found.id, problems=problems),
            problems=problems,
            snapshots=snapshot_stores(data, info.project_id),
            project=self._project(info.project_id),
        )

    def ids(self) -> set[str]:
        """Return the ids of all sessions; raises StorageError."""
        return {str(row["id"]) for row in self._rows("SELECT id FROM session")}

    def left_behind(self) -> Sequence[str]:
        """Return the titles of sessions that OpenCode 2 shows without messages, because OpenCode 1 wrote them; newest first.

        Empty for a database that OpenCode 2 has not used. Raises StorageError.
        """
        if (
            "session_message" not in self._tables()
            or next(self._rows("SELECT 1 FROM session_message LIMIT 1"), None) is None
        ):
            return []
        query = (
            "SELECT title FROM session WHERE id IN (SELECT session_id FROM message)"
            " AND id NOT IN (SELECT session_id FROM session_message) ORDER BY time_updated DESC"
        )
        return [str(row["title"]) for row in self._rows(query)]

    def close(self) -> None:
        """Close the database, and remove its copy."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        copy, self._copy = self._copy, None
        if copy is not None:
            copy.cleanup()

    def _open(self) -> sqlite3.Connection:
        """Return the connection, inside one read transaction; raises StorageError."""
        if self._connection is None:
            if not self.path.is_file():
                raise StorageError(f"{self.path} is not a database of OpenCode: there is no such file")
            try:
                self._connection = self._connect(self._readable())
            except (sqlite3.Error, OSError) as error:
                raise StorageError(f"cannot read {self.path}: {error}") from error
        return self._connection

    def _connect(self, path: Path) -> sqlite3.Connection:
        address = f"file:{quote(str(path))}?mode=ro"
        connection = sqlite3.connect(address, uri=True, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        connection.text_factory = _text
        try:
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM session").fetchone()
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _readable(self) -> Path:
        """Return the database, or a copy of it in a folder that can be written: its log needs a file for shared memory."""
        if all(_is_writable(path) for path in (self.path, self.path.parent)):
            return self.path
        self._copy = tempfile.TemporaryDirectory(prefix="opencode-tui-import-")
        target = Path(self._copy.name) / self.path.name
        for suffix in ("", "-wal", "-shm"):
            source = self.path.with_name(self.path.name + suffix)
            if source.exists():
                shutil.copyfile(source, target.with_name(target.name + suffix))
        return target

    def _rows(self, query: str, *values: str) -> Iterator[Mapping[str, object]]:
        """Yield the rows of a query by column; raises StorageError."""
        try:
            cursor = self._open().execute(query, values)
            names = [str(column[0]) for column in cursor.description]
            while rows := cursor.fetchmany(200):
                for row in rows:
                    yield dict(zip(names, row, strict=True))
        except sqlite3.Error as error:
            raise StorageError(f"cannot read {self.path}: {error}") from error

    def _tables(self) -> set[str]:
        return {str(row["name"]) for row in self._rows("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def _session(self, row: Mapping[str, object]) -> SessionInfo | None:
        try:
            info = SessionInfo.model_validate(_session_fields(row))
            return info.changed(title=self._title(info))
        except ValidationError as error:
            self.problems.append(Problem(str(self.path), str(row["id"]), describe_mismatch(error)))
        except JsonError as error:
            self.problems.append(Problem(str(self.path), str(row["id"]), f"not JSON: {error}"))
        return None

    def _title(self, info: SessionInfo) -> str:
        """Return the title, for a session without one its first request: the preview of OpenCode 2 gives none."""
        if is_default_title(info.title) and "session_message" in self._tables():
            query = (
                "SELECT data FROM session_message WHERE session_id = ? AND type = 'user' ORDER BY time_created LIMIT 1"
            )
            for row in self._rows(query, info.id):
                return title_of(str(row["data"])) or info.title
        return info.title

    def _messages(self, row: Mapping[str, object], info: SessionInfo, problems: Problems) -> Iterator[MessageWithParts]:
        """Yield the messages of both versions of the program, oldest first."""
        folder, below = info.directory.rstrip("/"), str(row.get("path") or "").strip("/")
        root = folder.removesuffix(f"/{below}") if below else folder
        agent, model = (str(row[name]) if row.get(name) else None for name in ("agent", "model"))
        newer = V2Session(
            info.id,
            folder=info.directory,
            root=root,
            agent=agent,
            model=model,
            path=str(self.path),
            problems=problems,
        )
        later = sorted(newer.messages(self._v2_rows(info.id)), key=_id)
        yield from heapq.merge(self._v1_messages(info.id, problems), later, key=_id)

    def _v2_rows(self, session_id: str) -> Sequence[V2Row]:
        """Return a session's messages of OpenCode 2 as they were read, and behind them requests that were not read yet."""
        tables = self._tables()
        found: list[V2Row] = []
        if "session_message" in tables:
            columns = {str(row["name"]) for row in self._rows("PRAGMA table_info(session_message)")}
            order = "seq" if "seq" in columns else "time_created, id"
            query = f"SELECT * FROM session_message WHERE session_id = ? ORDER BY {order}"
            latest = 0
            for row in self._rows(query, session_id):
                latest = max(
                    latest, cast(int, row["time_created"])
                )  # an input that waited comes at the time it was read
                found.append(V2Row(str(row["id"]), str(row["type"]), latest, str(row["data"])))
        if "session_input" in tables:
            known = {row.id for row in found}
            query = "SELECT * FROM session_input WHERE session_id = ? ORDER BY admitted_seq"
            for row in self._rows(query, session_id):
                if str(row["id"]) not in known:
                    found.append(V2Row(str(row["id"]), "user", cast(int, row["time_created"]), str(row["prompt"])))
        return found

    def _v1_messages(self, session_id: str, problems: Problems) -> Iterator[MessageWithParts]:
        found = [
            str(row["id"])
            for row in self._rows("SELECT id FROM message WHERE session_id = ? ORDER BY time_created, id", session_id)
        ]
        for name in found if spans_wrap(found) or any(time_field(one) is None for one in found) else sorted(found):
            info = next(self._objects("SELECT * FROM message WHERE id = ?", name, problems), None)
            if info is None:
                continue
            parts = [
                (str(part["id"]), part)
                for part in self._objects("SELECT * FROM part WHERE message_id = ? ORDER BY id", name, problems)
            ]
            message = check_message(info, parts, path=str(self.path), line=name, problems=problems)
            if message is not None:
                yield message

    def _objects(self, query: str, value: str, problems: Problems) -> Iterator[JsonObject]:
        """Yield the records in the rows of messages or parts: their `data` with the ids of the row."""
        for row in self._rows(query, value):
            try:
                data = _object(str(row["data"]))
            except JsonError as error:
                problems.append(Problem(str(self.path), str(row["id"]), f"not a JSON object: {error}"))
                continue
            ids: JsonObject = {"id": row["id"], "sessionID": row["session_id"]}
            if "message_id" in row:
                ids["messageID"] = row["message_id"]
            yield {**ids, **data}

    def _project(self, project_id: str) -> ProjectInfo | None:
        for row in self._rows("SELECT * FROM project WHERE id = ?", project_id):
            try:
                return ProjectInfo.model_validate(_project_fields(row))
            except (ValidationError, JsonError):
                return None  # the importer finds the project by the session's folder
        return None

    def _diffs(self, session_id: str) -> object:
        """Return the file changes of a session, which are still in a file beside the database."""
        if not is_segment(session_id):
            return []
        reader = RecordReader(FileSystem(), str(self.path.parent / "storage"))
        try:
            return decode_json(reader.read(("session_diff", session_id)))
        except (StorageError, JsonError):
            return []  # derived data: undo and the summary do not need it

    def _newest(self) -> dict[str, int]:
        """Return when the last message of OpenCode 2 was written by session: it leaves the time of the session as it was."""
        found: dict[str, int] = {}
        for table in ("session_message", "session_input"):
            if table in self._tables():
                for row in self._rows(
                    f"SELECT session_id, max(time_created) AS newest FROM {table} GROUP BY session_id"
                ):
                    found[str(row["session_id"])] = max(cast(int, row["newest"]), found.get(str(row["session_id"]), 0))
        return found


def _id(message: MessageWithParts) -> str:
    return message.info.id


def _is_writable(path: Path) -> bool:
    """Return whether a path may be written; one without any write permission is left alone by root too."""
    return os.access(path, os.W_OK) and bool(path.stat().st_mode & 0o222)


def _object(text: str) -> JsonObject:
    value = decode_json(text)
    if not isinstance(value, dict):
        raise JsonError("not an object")
    return cast(JsonObject, value)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _session_fields(row: Mapping[str, object]) -> JsonObject:
    """Return a session's record as the program's own export gives it; raises JsonError."""
    values = {
        name: decode_json(str(value)) if name in _JSON_COLUMNS else value
        for name, value in row.items()
        if value is not None
    }
    time = {
        name: values[f"time_{name}"]
        for name in ("created", "updated", "compacting", "archived")
        if f"time_{name}" in values
    }
    fields: JsonObject = {"time": time}
    names = {"project_id": "projectID", "parent_id": "parentID"}
    for name in (
        "id",
        "slug",
        "project_id",
        "directory",
        "parent_id",
        "title",
        "version",
        "permission",
        "metadata",
        "revert",
    ):
        if name in values:
            fields[names.get(name, name)] = values[name]
    if "summary_additions" in values:
        summary = {
            name: values[f"summary_{name}"]
            for name in ("additions", "deletions", "files", "diffs")
            if f"summary_{name}" in values
        }
        fields["summary"] = summary
    if "share_url" in values:
        fields["share"] = {"url": values["share_url"]}
    return fields


def _project_fields(row: Mapping[str, object]) -> JsonObject:
    values = {name: value for name, value in row.items() if value is not None}
    time = {name: values[f"time_{name}"] for name in ("created", "updated", "initialized") if f"time_{name}" in values}
    fields: JsonObject = {name: values[name] for name in ("id", "worktree", "vcs", "name") if name in values}
    fields |= {name: decode_json(str(values[name])) for name in ("sandboxes", "commands") if name in values}
    icon = {name: values[f"icon_{name}"] for name in ("url", "color") if f"icon_{name}" in values}
    return {**fields, "time": time, **({"icon": icon} if icon else {})}
