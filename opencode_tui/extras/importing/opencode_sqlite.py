"""Reads the database of OpenCode from 1.2 on (`opencode.db`): sessions, messages, parts and todos.

OpenCode 2 writes the same file and leaves what OpenCode 1 wrote where it was: its own messages are in `session_message`, and it
shows no others. Here a session has the messages of both, by time. The released version has its sessions in `session_v2`, and copies
once what OpenCode 1 wrote, under the same ids: these messages are taken from the older tables, where they are whole. Its tables are
documented, not tried.

It is opened read-only, in one read transaction; a database in a folder that cannot be written is copied first, with its log.
Columns vary by version, so rows are read by the names of their columns. Tables of credentials, accounts and shares are never read.
"""

import heapq
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, cast
from urllib.parse import quote

from msgspec.structs import replace

from opencode_tui.extras.importing.opencode import found_session, parents_first, read_items, snapshot_stores
from opencode_tui.extras.importing.opencode_v2 import V2Row, V2Session, title_of
from opencode_tui.extras.importing.source import FoundSession, ImportedSession, Problem, Problems, check_message
from opencode_tui.schema.api.project import ProjectInfo
from opencode_tui.schema.error import NotFoundError, StorageError
from opencode_tui.schema.ids import spans_wrap, time_field
from opencode_tui.schema.json_text import JsonError, decode_foreign
from opencode_tui.schema.record import JsonObject, ValidationError
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.session import SessionInfo, Todo, is_default_title
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.keys import is_segment
from opencode_tui.storage.reader import RecordReader
from opencode_tui.storage.session_record import describe_mismatch

_BUSY_S = 10
_SESSIONS = ("session", "session_v2")
"""The tables of sessions: of OpenCode 1 and the preview, and of OpenCode 2."""
_WAITING = {
    "session_input": ("admitted_seq", "prompt"),
    "session_pending": ("admitted_seq", "data"),
    "session_inbox": ("enqueued_seq", "payload"),
}
"""The tables of requests that wait, of one version each: their order, and the column of what is asked."""
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
        for row in self._session_rows():
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
        row = next(iter(self._session_rows(found.id)), None)
        info = None if row is None else self._session(row)
        if row is None or info is None:
            raise NotFoundError(f"session {found.id} is not in {self.path} any more")
        problems: Problems = []
        todos = [
            {"content": row["content"], "status": row["status"], "priority": row["priority"]}
            for row in self._rows_of("todo", "SELECT * FROM todo WHERE session_id = ? ORDER BY position", found.id)
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
        return {str(row["id"]) for row in self._session_rows()}

    def left_behind(self) -> Sequence[str]:
        """Return the titles of sessions of OpenCode 1 that OpenCode 2 shows without messages or not at all; newest first.

        Empty for a database that OpenCode 2 has not used. Raises StorageError.
        """
        tables = self._tables()
        used = next(self._rows_of("session_message", "SELECT 1 FROM session_message LIMIT 1"), None)
        if used is None or not {"session", "message"} <= tables:
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
            if not connection.execute(f"SELECT 1 FROM sqlite_master WHERE name IN {_SESSIONS}").fetchone():
                raise sqlite3.DatabaseError("it has no table of sessions")
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

    def _rows_of(self, table: str, query: str, *values: str) -> Iterator[Mapping[str, object]]:
        """Yield the rows of a query as `_rows` does, none where the table is not there."""
        if table in self._tables():
            yield from self._rows(query, *values)

    def _session_rows(self, session_id: str | None = None) -> Iterator[Mapping[str, object]]:
        """Yield the sessions, or one: of two rows of one session the values of the newer table count, where it has any."""
        where, values = ("", ()) if session_id is None else (" WHERE id = ?", (session_id,))
        found: dict[str, dict[str, object]] = {}
        for table in _SESSIONS:
            for row in self._rows_of(table, f"SELECT * FROM {table}{where}", *values):
                given = {name: value for name, value in row.items() if value is not None}
                if table != _SESSIONS[0]:
                    given.pop("permission", None)  # rules in another form, which an import does not keep
                found.setdefault(str(row["id"]), {}).update(given)
        yield from found.values()

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
        if (not info.title or is_default_title(info.title)) and "session_message" in self._tables():
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
        rows = self._v2_rows(info.id)
        older, copied = self._v1_ids(info.id, rows)
        later = sorted(newer.messages([one for one in rows if one.id not in copied]), key=_id)
        yield from heapq.merge(self._v1_messages(older, problems), later, key=_id)

    def _v1_ids(self, session_id: str, rows: Sequence[V2Row]) -> tuple[Sequence[str], set[str]]:
        """Return the ids of OpenCode 1's messages that count, and which of them OpenCode 2 has copies of.

        Without such copies all count. Else not those that a copy of a summary stands for, and not those behind the last copied one
        that were there when OpenCode 2 copied: it has removed them since, by an undo.
        """
        times = {
            str(row["id"]): cast(int, row["time_created"])
            for row in self._rows_of(
                "message",
                "SELECT id, time_created FROM message WHERE session_id = ? ORDER BY time_created, id",
                session_id,
            )
        }
        kinds = {row.id: row.kind for row in rows}
        copied = {name for name in times if kinds.get(name) in ("user", "assistant")}
        if not copied and not (kinds.keys() & times.keys()):
            return list(times), set()
        last, copied_at = max((times[name] for name in times if name in kinds), default=0), self._copied_at()
        has_summary = "compaction" in kinds.values()
        return [
            name
            for name, created in times.items()
            if name in copied
            or (
                name not in kinds
                and (created <= last or copied_at is None or created > copied_at)
                and not (has_summary and self._is_of_summary(name))
            )
        ], copied

    def _copied_at(self) -> int | None:
        """Return when OpenCode 2 had copied what OpenCode 1 wrote, None where it has not or does not say."""
        for row in self._rows_of("kv", "SELECT * FROM kv WHERE key = 'migration.v1-v2'"):
            try:
                is_done = _object(str(row.get("value"))).get("phase") == "completed"
            except JsonError:
                return None
            time = row.get("time_updated")
            return time if is_done and isinstance(time, int) else None
        return None

    def _is_of_summary(self, message_id: str) -> bool:
        """Return whether a message of OpenCode 1 is a summary or asks for one."""
        for row in self._rows("SELECT data FROM message WHERE id = ?", message_id):
            with suppress(JsonError):  # reported when it is read
                if _object(str(row["data"])).get("summary") is True:
                    return True
        parts = self._rows_of("part", "SELECT data FROM part WHERE message_id = ?", message_id)
        return any('"type":"compaction"' in str(row["data"]).replace(" ", "") for row in parts)

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
        known = {row.id for row in found}
        for table, (order, data) in _WAITING.items():
            query = f"SELECT * FROM {table} WHERE session_id = ? ORDER BY {order}"
            for row in self._rows_of(table, query, session_id):
                kind = str(row.get("type", "user"))
                if kind in ("user", "synthetic") and str(row["id"]) not in known:
                    known.add(str(row["id"]))
                    found.append(V2Row(str(row["id"]), kind, cast(int, row["time_created"]), str(row[data])))
        return found

    def _v1_messages(self, found: Sequence[str], problems: Problems) -> Iterator[MessageWithParts]:
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
        for row in self._rows_of("project", "SELECT * FROM project WHERE id = ?", project_id):
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
            return decode_foreign(reader.read(("session_diff", session_id)))
        except (StorageError, JsonError):
            return []  # derived data: undo and the summary do not need it

    def _newest(self) -> dict[str, int]:
        """Return when the last message of OpenCode 2 was written by session: it leaves the time of the session as it was."""
        found: dict[str, int] = {}
        for table in ("session_message", *_WAITING):
            query = f"SELECT session_id, max(time_created) AS newest FROM {table} GROUP BY session_id"
            for row in self._rows_of(table, query):
                found[str(row["session_id"])] = max(cast(int, row["newest"]), found.get(str(row["session_id"]), 0))
        return found


def _id(message: MessageWithParts) -> str:
    return message.info.id


def _is_writable(path: Path) -> bool:
    """Return whether a path may be written; one without any write permission is left alone by root too."""
    return os.access(path, os.W_OK) and bool(path.stat().st_mode & 0o222)


def _object(text: str) -> JsonObject:
    value = decode_foreign(text)
    if not isinstance(value, dict):
        raise JsonError("not an object")
    return cast(JsonObject, value)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _session_fields(row: Mapping[str, object]) -> JsonObject:
    """Return a session's record as the program's own export gives it; raises JsonError."""
    values = {
        name: decode_foreign(str(value)) if name in _JSON_COLUMNS else value
        for name, value in row.items()
        if value is not None
    }
    time = {
        name: values[f"time_{name}"]
        for name in ("created", "updated", "compacting", "archived")
        if f"time_{name}" in values
    }
    fields: JsonObject = {"time": time, "title": ""}  # OpenCode 2 has sessions without a title
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
    fields |= {name: decode_foreign(str(values[name])) for name in ("sandboxes", "commands") if name in values}
    icon = {name: values[f"icon_{name}"] for name in ("url", "color") if f"icon_{name}" in values}
    return {**fields, "time": time, **({"icon": icon} if icon else {})}
