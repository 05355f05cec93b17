"""Stores of the released OpenCode 2, as its tables and types are documented: nothing of them was made by its program."""

import json
import sqlite3
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from typing import Any

from opencode_tui.extras.importing.opencode_sqlite import OpenCodeSqlite
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import FilePart, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStatePending
from tests.extras.importing.test_continued import check_next_request
from tests.support.importing.desk import Desk
from tests.support.importing.fixtures import unpack

BEGIN = 1_795_000_000_000

_TABLES = """
CREATE TABLE session_v2 (id TEXT PRIMARY KEY, project_id TEXT NOT NULL, parent_id TEXT, slug TEXT NOT NULL, directory TEXT NOT NULL,
  path TEXT, title TEXT, version TEXT NOT NULL, permission TEXT, agent TEXT, model TEXT, cost REAL NOT NULL DEFAULT 0, revert TEXT,
  time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, time_archived INTEGER);
CREATE TABLE IF NOT EXISTS session_message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, type TEXT NOT NULL, seq INTEGER NOT NULL,
  time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
CREATE TABLE session_inbox (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, type TEXT NOT NULL, payload TEXT NOT NULL,
  delivery TEXT NOT NULL, enqueued_seq INTEGER NOT NULL, time_created INTEGER NOT NULL);
CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL);
"""

MODEL = {"id": "m", "providerID": "p"}


def name(at: int) -> str:
    return f"msg_{(BEGIN + at) * 4096 & (1 << 48) - 1:012x}{at:014d}"


class Store:
    """A database with the tables of the released version."""

    def __init__(self, data: Path) -> None:
        data.mkdir(parents=True, exist_ok=True)
        self.path = data / "opencode.db"
        self.run(_TABLES)

    def run(self, script: str) -> None:
        with closing(sqlite3.connect(self.path)) as database:
            database.executescript(script)

    def add(self, table: str, **values: Any) -> None:
        marks = ", ".join("?" for _ in values)
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", list(values.values()))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path)) as database:
            return database.execute(query).fetchall()

    def session(self, session_id: str, **more: Any) -> None:
        given = {
            "project_id": "global", "slug": "a-slug", "directory": "/home/example/project", "version": "2.0.4",
            "time_created": BEGIN, "time_updated": BEGIN,
        }  # fmt: skip
        self.add("session_v2", id=session_id, **{**given, **more})

    def message(self, session_id: str, kind: str, at: int, *, message_id: str = "", **data: Any) -> None:
        created = BEGIN + at
        self.add(
            "session_message", id=message_id or name(at), session_id=session_id, type=kind, seq=at,
            time_created=created, time_updated=created, data=json.dumps({**data, "time": {"created": created}}),
        )  # fmt: skip


def read(path: Path) -> dict[str, list[MessageWithParts]]:
    source = OpenCodeSqlite(path)
    try:
        found = {one.title: list(source.read(one).messages) for one in source.list()}
        assert source.problems == []
        return found
    finally:
        source.close()


def texts(messages: list[MessageWithParts]) -> list[str]:
    return [part.text for message in messages for part in message.parts if isinstance(part, TextPart)]


def test_a_store_of_the_released_version_alone_is_imported_once(desk: Desk, tmp_path: Path):
    store = Store(tmp_path / "opencode")
    store.session("ses_20b000000001aaaaaaaaaaaaaa", agent="build", model=json.dumps(MODEL))
    one = "ses_20b000000001aaaaaaaaaaaaaa"
    data = b64encode(b"words of a file").decode()
    picture = {"data": "aGk=", "mime": "image/png", "source": {"type": "inline"}, "name": "p.png"}
    mention = {"start": 0, "end": 6, "text": "@a.txt"}
    source = {"type": "uri", "uri": "file:///a.txt"}
    file = {"data": data, "mime": "text/plain", "source": source, "name": "a.txt", "mention": mention}
    skills = [{"id": "s", "name": "s", "text": "how to do it"}]
    store.message(one, "user", 1, text="@a.txt look", files=[file, picture], agents=[{"name": "x"}], skills=skills)
    store.message(one, "skill", 2, skill="s", name="s", text="a skill's text")
    called = {"status": "completed", "input": {"command": "ls"}, "content": [{"type": "text", "text": "a.txt"}]}
    begun = {"status": "streaming", "input": '{"path": "a'}
    content = [
        {"type": "reasoning", "text": "why", "native": {"signature": "s"}},
        {"type": "tool", "id": "c1", "name": "shell", "state": {**called, "metadata": {"exit": 0}}, "time": {"created": BEGIN}},
        {"type": "tool", "id": "c2", "name": "read", "state": begun, "time": {"created": BEGIN}},
        {"type": "text", "text": "done", "native": {}},
    ]  # fmt: skip
    store.message(one, "assistant", 3, agent="build", model=MODEL, content=content, finish="stop", rawFinish="end")
    store.message(one, "idle", 4, outcome="succeeded")
    output = {"output": "b.txt\n", "cursor": 6, "size": 6, "truncated": False}
    store.message(one, "shell", 5, shellID="sh_1", command="ls b*", status="exited", exit=0, output=output)
    store.message(one, "location-switched", 6, location={"directory": "/x"})
    store.message(one, "compaction", 7, status="failed", reason="auto", error={"type": "unknown", "message": "no"})
    store.message(one, "compaction", 8, status="completed", reason="auto", summary="what was done", recent="")
    waiting = json.dumps({"text": "asked later"})
    store.add(
        "session_inbox", id=name(9), session_id=one, type="user", payload=waiting, delivery="queue", enqueued_seq=9,
        time_created=BEGIN + 9,
    )  # fmt: skip
    [(title, messages)] = read(store.path).items()
    calls = [part for message in messages for part in message.parts if isinstance(part, ToolPart)]
    files = [part for message in messages for part in message.parts if isinstance(part, FilePart)]
    assert title == "@a.txt look"
    assert texts(messages) == [
        "@a.txt look", "words of a file", "how to do it", "a skill's text", "done",
        "The user ran this command line; its output follows.", "what was done", "asked later",
    ]  # fmt: skip
    assert [(one.tool, one.call_id, type(one.state)) for one in calls] == [
        ("bash", "c1", ToolStateCompleted), ("read", "c2", ToolStatePending), ("bash", "sh_1", ToolStateCompleted),
    ]  # fmt: skip
    assert [file.url[:20] for file in files] == ["data:text/plain;base", "data:image/png;base6"]
    assert files[0].source is not None
    check_next_request("released", messages)
    report = desk.run(tmp_path / "opencode")
    assert (report.new, report.problems) == (1, [])
    before = desk.records()
    assert desk.run(tmp_path / "opencode").new == 0
    assert desk.records() == before


def test_what_it_copied_of_opencode_1_is_there_once_and_what_it_left_out_is_not_lost(tmp_path: Path):
    data = unpack("1.18.33", tmp_path / "opencode")
    whole = read(data / "opencode.db")
    store = Store(data)
    session = max(store.rows("SELECT session_id, count(*) FROM message GROUP BY session_id"), key=lambda row: row[1])[0]
    older = store.rows(
        f"SELECT id, time_created, data FROM message WHERE session_id = '{session}' ORDER BY time_created, id"
    )
    title = store.rows(f"SELECT title FROM session WHERE id = '{session}'")[0][0]
    store.session(session, title=title)
    plain = [row for row in older if json.loads(row[2]).get("summary") is not True]
    assert len(plain) > 6
    skipped, undone, last = plain[1][0], plain[-1][0], plain[-2]
    for message_id, created, text in plain:
        if message_id not in (skipped, undone):  # a row that it could not read, and one that an undo removed since
            role = json.loads(text)["role"]
            content = {"text": "a copy"} if role == "user" else {"agent": "build", "model": MODEL, "content": []}
            store.message(session, role, created - BEGIN, message_id=message_id, **content)
    done = older[-1][1] + 1
    value = json.dumps({"phase": "completed"})
    store.add("kv", key="migration.v1-v2", value=value, time_created=done, time_updated=done)
    store.message(session, "user", done + 1_000 - BEGIN, text="said in version 2")
    before = {message.info.id: message for message in whole[title]}
    after = {message.info.id: message for message in read(store.path)[title]}
    said = after.pop(max(after))
    assert texts([said]) == ["said in version 2"]
    summaries = {row[0] for row in older} - {row[0] for row in plain}
    assert set(before) - set(after) - summaries == {undone}
    assert {name: before[name] for name in after} == after
    assert skipped in after and last[0] in after
    store.run(f"UPDATE kv SET value = '{json.dumps({'phase': 'sessions', 'cursor': session})}'")
    assert undone in {
        message.info.id for message in read(store.path)[title]
    }  # it has not ended: nothing is known to be undone


def test_sessions_that_it_did_not_copy_are_named_and_imported(tmp_path: Path):
    data = unpack("1.18.33", tmp_path / "opencode")
    whole = read(data / "opencode.db")
    store = Store(data)
    store.session("ses_20b000000001aaaaaaaaaaaaaa", title="new")
    store.message("ses_20b000000001aaaaaaaaaaaaaa", "user", 1, text="hello")
    source = OpenCodeSqlite(store.path)
    titles = source.left_behind()
    source.close()
    assert len(titles) == sum(bool(messages) for messages in whole.values())
    found = read(store.path)
    assert [message.info.role for message in found.pop("new")] == ["user"]
    assert {title: len(messages) for title, messages in found.items()} == {
        title: len(messages) for title, messages in whole.items()
    }


def test_the_roles_of_its_messages_are_ours(tmp_path: Path):
    store = Store(tmp_path / "opencode")
    store.session("ses_20b000000001aaaaaaaaaaaaaa", title="roles")
    store.message("ses_20b000000001aaaaaaaaaaaaaa", "user", 1, text="hello")
    store.message("ses_20b000000001aaaaaaaaaaaaaa", "assistant", 2, agent="build", model=MODEL, content=[])
    first, second = read(store.path)["roles"]
    assert isinstance(first.info, UserMessage) and isinstance(second.info, AssistantMessage)
    assert second.info.parent_id == first.info.id
