"""Stores that real versions of OpenCode made: equal records from the folder and the database, and nothing twice."""

import json
import os
import re
import shutil
import sqlite3
import tarfile
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.extras.importing.export_file import ExportFile
from opencode_tui.extras.importing.importer import Selection
from opencode_tui.extras.importing.places import Places
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.ids import system_clock
from opencode_tui.storage.paths import find_paths
from tests.support.importing.desk import Desk
from tests.support.importing.fixtures import unpack
from tests.support.source.archive import extract
from tests.support.world.repo import make_repo

TIME = {"created": 1700000000000, "updated": 1700000001000}
VERSIONS = ("1.1.65", "1.2.1", "1.18.33")
ARCHIVE = Path(__file__).parents[2] / "schema" / "data" / "opencode-fixtures.tar.gz"


def parsed(desk: Desk) -> dict[str, Any]:
    """Return all records without what the import adds: the origin, and the ids of todos, which a database does not have."""
    found = {path: json.loads(data) for path, data in desk.records().items()}
    for path, record in found.items():
        if path.startswith("session/"):
            assert record["metadata"].pop("importedFrom")["tool"] == "opencode"
            if not record["metadata"]:
                del record["metadata"]
        if path.startswith("todo/"):
            for todo in record:
                todo.pop("id", None)
        if path.startswith("project/"):
            record["time"].pop("updated", None)
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_a_second_import_changes_nothing(desk: Desk, tmp_path: Path, version: str):
    data = unpack(version, tmp_path / "opencode")
    first = desk.run(data)
    before = desk.records()
    assert (first.new, first.problems) == (4, [])
    again = desk.run(data)
    assert (again.new, again.newer, again.same, again.records) == (0, 0, 4, 0)
    assert desk.records() == before


@pytest.mark.slow
def test_the_folder_and_the_database_that_was_made_of_it_give_equal_records(environ: dict[str, str], tmp_path: Path):
    folder, data = unpack("1.1.65", tmp_path / "folder"), unpack("1.2.1", tmp_path / "database")
    shutil.copytree(
        folder / "storage" / "session_diff", data / "storage" / "session_diff"
    )  # 1.2.1 leaves these files there
    desks: list[dict[str, Any]] = []
    for source in (folder, data / "opencode.db"):
        own = {**environ, "XDG_DATA_HOME": str(tmp_path / f"ours-{source.name}")}
        desk = Desk(find_paths(own), own)
        desk.run(source)
        desks.append(parsed(desk))
    assert len(desks[0]) > 130
    assert desks[0] == desks[1]


def test_every_record_of_the_folder_is_there_unchanged(desk: Desk, tmp_path: Path):
    data = unpack("1.1.65", tmp_path / "opencode")
    desk.run(data)
    there = {
        str(path.relative_to(data / "storage")): json.loads(path.read_bytes())
        for path in (data / "storage").rglob("*.json")
    }
    here = {path: json.loads(record) for path, record in desk.records().items()}
    for kind, count in (("message/", 39), ("part/", 98)):
        expected = {path: record for path, record in there.items() if path.startswith(kind)}
        assert len(expected) == count
        for record in expected.values():
            record.pop("tools", None)  # switches of tools are not imported
        assert {path: here[path] for path in expected} == expected


def test_children_keep_their_parent(desk: Desk, tmp_path: Path):
    desk.run(unpack("1.18.33", tmp_path / "opencode"))
    sessions = [json.loads(data) for path, data in desk.records().items() if path.startswith("session/")]
    children = [one for one in sessions if "parentID" in one]
    assert [one["parentID"] in {other["id"] for other in sessions} for one in children] == [True]


def test_the_newer_of_a_folder_and_a_database_counts(desk: Desk, tmp_path: Path):
    data = unpack("1.1.65", tmp_path / "opencode")
    unpack("1.2.1", data)
    with sqlite3.connect(data / "opencode.db") as database:
        database.execute("UPDATE session SET title = 'from the database', time_updated = time_updated + 1000")
    database.close()
    report = desk.run(data)
    titles = [json.loads(record)["title"] for path, record in desk.records().items() if path.startswith("session/")]
    assert (report.new, titles) == (4, ["from the database"] * 4)


def test_the_database_of_a_read_only_folder_is_read_with_its_log(desk: Desk, tmp_path: Path):
    data = unpack("1.2.1", tmp_path / "opencode")
    writer = sqlite3.connect(data / "opencode.db", isolation_level=None)
    writer.execute("UPDATE session SET title = 'only in the log'")
    assert (data / "opencode.db-wal").stat().st_size > 0
    copy = tmp_path / "frozen"
    shutil.copytree(data, copy)
    writer.close()
    for path in copy.iterdir():
        path.chmod(0o444)
    copy.chmod(0o555)
    before = {path.name: path.stat().st_mtime_ns for path in copy.iterdir()}
    try:
        report = desk.run(copy)
    finally:
        after = {path.name: path.stat().st_mtime_ns for path in copy.iterdir()}
        copy.chmod(0o755)
    assert report.new == 4
    assert {one.title for one in report.sessions} == {"only in the log"}
    assert after == before


def test_an_import_while_the_program_writes_sees_one_state(desk: Desk, tmp_path: Path):
    data = unpack("1.2.1", tmp_path / "opencode")
    sources = desk.sources.open(None, data)
    found = list(sources[0].list())
    writer = sqlite3.connect(data / "opencode.db", isolation_level=None)
    writer.execute("DELETE FROM part")
    writer.close()
    read = [part for one in found for message in sources[0].read(one).messages for part in message.parts]
    sources[0].close()
    assert len(read) == 98


def test_credentials_and_secrets_of_shares_are_not_read(desk: Desk, tmp_path: Path):
    data = unpack("1.18.33", tmp_path / "opencode")
    with sqlite3.connect(data / "opencode.db") as database:
        session = database.execute("SELECT id FROM session").fetchone()[0]
        database.execute("INSERT INTO credential VALUES ('c', '', 'l', 'CANARY-KEY', '', '', 1, 1, 1)")
        database.execute(
            "INSERT INTO session_share VALUES (?, 'i', 'CANARY-SECRET', 'https://example.com', 1, 1)", (session,)
        )
    database.close()
    desk.run(data)
    assert not [path for path, record in desk.records().items() if b"CANARY" in record]


def test_a_damaged_record_costs_itself(desk: Desk, tmp_path: Path):
    data = unpack("1.1.65", tmp_path / "opencode")
    parts = sorted((data / "storage" / "part").rglob("*.json"))
    parts[0].write_bytes(b"\0" * 40)
    parts[1].write_text('{"id": "prt_1", "type": "unheard"}')
    report = desk.run(data)
    assert report.new == 4
    assert len([path for path in desk.records() if path.startswith("part/")]) == 96
    assert sorted(problem.split(":")[1] for problem in report.problems) == sorted(
        f"part/{path.parent.name}/{path.stem}" for path in parts[:2]
    )


HALF = r"\ud83d"
"""Half of a character as JavaScript writes it: `JSON.stringify` of ECMAScript 2019, after `substring` has cut a text."""


def cut(record: str) -> str:
    """Return a record whose texts end with half of a character."""
    return re.sub(r'("(?:text|title)": ?"[^"\\]+)"', lambda found: f'{found[1]}{HALF}"', record)


def test_half_of_a_character_costs_no_record_of_a_folder(desk: Desk, tmp_path: Path):
    data = unpack("1.1.65", tmp_path / "opencode")
    for path in (data / "storage").rglob("*.json"):
        path.write_text(cut(path.read_text()))
    _check_halves(desk, data)


@pytest.mark.parametrize("version", ["1.2.1", "1.18.33"])
def test_half_of_a_character_costs_no_row_of_a_database(desk: Desk, tmp_path: Path, version: str):
    data = unpack(version, tmp_path / "opencode")
    with sqlite3.connect(data / "opencode.db") as database:
        for table in ("message", "part"):
            for name, record in database.execute(f"SELECT id, data FROM {table}").fetchall():
                changed = cut(record)
                database.execute(f"UPDATE {table} SET data = ? WHERE id = ?", (changed, name))
    database.close()
    _check_halves(desk, data)


def _check_halves(desk: Desk, data: Path) -> None:
    report = desk.run(data)
    assert (report.new, report.problems) == (4, [])
    texts = [
        json.loads(record)["text"]
        for record in desk.records().values()
        if b'"text":' in record and b'"type": "text"' in record
    ]
    assert len([text for text in texts if text.endswith(("\ufffd", "?"))]) > 20


@pytest.mark.parametrize(
    "title", [HALF, f"cut {HALF}", f"{HALF}{HALF}", r"\ude00 cut", r"\ud83d\ude00", r"tail \udbff"]
)
def test_half_of_a_character_costs_no_exported_session(desk: Desk, tmp_path: Path, title: str):
    session_id, message_id = "ses_44e8d5c40ffe00000000000001", "msg_bb172a3bf001aaaaaaaaaaaaaa"
    info = {"id": session_id, "version": "1.1.65", "projectID": "p", "directory": "/", "title": "TITLE", "time": TIME}
    message = {
        "id": message_id,
        "role": "user",
        "time": TIME,
        "agent": "build",
        "model": {"providerID": "a", "modelID": "b"},
    }
    part = {"id": "prt_bb172a3bf001aaaaaaaaaaaaaa", "type": "text", "text": "TITLE"}
    text = json.dumps({"info": info, "messages": [{"info": message, "parts": [part]}]}).replace("TITLE", title)
    file = tmp_path / "session.json"
    file.write_text(text)
    report = desk.run_from([ExportFile(str(file), here=str(tmp_path))])
    assert (report.new, report.problems) == (1, [])
    shown = json.loads(f'"{title}"').encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert json.loads(desk.records()[f"part/{message_id}/{part['id']}.json"])["text"] == shown


@pytest.mark.parametrize("time", [9 * 10**18, 253_402_300_800_000, 4_000_000_000_000])
def test_a_session_from_the_future_is_not_the_newest_for_ever(desk: Desk, tmp_path: Path, time: int):
    info = {"id": "ses_44e8d5c40ffe00000000000001", "version": "1", "projectID": "p", "directory": "/"}
    file = tmp_path / "session.json"
    file.write_text(
        json.dumps({"info": {**info, "title": "x" * 5000, "time": {"created": time, "updated": time}}, "messages": []})
    )
    before = system_clock()
    assert desk.run_from([ExportFile(str(file), here=str(tmp_path))]).new == 1
    [session] = [json.loads(record) for path, record in desk.records().items() if path.startswith("session/")]
    assert before <= session["time"]["created"] <= session["time"]["updated"] <= system_clock()
    assert session["title"] == f"{'x' * 499}…"
    assert desk.run_from([ExportFile(str(file), here=str(tmp_path))]).same == 1


@pytest.mark.parametrize("folder", ["/" + "a" * 300, "/a/" * 3000, "", "a", "/x\0y", "~", "/../.."])
def test_a_folder_that_cannot_be_becomes_that_of_the_import(desk: Desk, tmp_path: Path, folder: str):
    info = {
        "id": "ses_44e8d5c40ffe00000000000001",
        "version": "1",
        "projectID": "p",
        "directory": folder,
        "title": "T",
        "time": TIME,
    }
    file = tmp_path / "session.json"
    file.write_text(json.dumps({"info": info, "messages": []}))
    assert desk.run_from([ExportFile(str(file), here=str(tmp_path))]).new == 1
    [session] = [record for path, record in desk.records().items() if path.startswith("session/")]
    assert json.loads(session)["directory"] == str(tmp_path)


def test_our_own_store_is_never_a_source(desk: Desk, tmp_path: Path):
    desk.run(unpack("1.1.65", tmp_path / "opencode"))
    with pytest.raises(ConfigError, match="of opencode-tui itself"):
        desk.sources.open(None, desk.paths.data)
    link = tmp_path / "link"
    link.symlink_to(desk.paths.storage)
    with pytest.raises(ConfigError, match="of opencode-tui itself"):
        desk.sources.open(None, link)
    own = {**desk.environ, "XDG_DATA_HOME": str(tmp_path / "home" / ".local" / "share")}
    os.symlink(desk.paths.data, Path(own["XDG_DATA_HOME"]) / "opencode")
    assert desk.sources.find() == []
    assert Places(desk.paths, desk.environ).has_any() is False


def test_the_stores_are_found_in_their_usual_folders(desk: Desk):
    assert Places(desk.paths, desk.environ).has_any() is False
    data = unpack("1.1.65", Path(desk.environ["XDG_DATA_HOME"]) / "opencode")
    unpack("1.18.33", data)
    found = desk.sources.find()
    assert Places(desk.paths, desk.environ).has_any() is True
    assert [(one.tool, one.path) for one in found] == [
        ("opencode", data / "storage"),
        ("opencode", data / "opencode.db"),
    ]
    assert [len(list(one.list())) for one in found] == [4, 4]
    assert [one.label for one in found] == ["OpenCode 1.1", "OpenCode 1.18"]
    for one in found:
        one.close()


@pytest.mark.slow
def test_a_whole_data_folder_of_another_machine_is_imported(desk: Desk, tmp_path: Path):
    with tarfile.open(ARCHIVE) as archive:
        extract(archive, tmp_path)
    data = tmp_path / "opencode-fixtures" / "data" / "opencode"
    report = desk.run(data, folders={"/tmp/proj": "/home/example/proj"})
    there = {path.stem for path in (data / "storage" / "session").rglob("*.json")}
    assert (report.new, report.problems) == (len(there), [])
    sessions = [json.loads(one) for path, one in desk.records().items() if path.startswith("session/")]
    assert {one["id"] for one in sessions} == there
    assert {one["directory"] for one in sessions} == {"/home/example/proj"}
    for kind in ("message", "part"):
        expected = {path.relative_to(data / "storage") for path in (data / "storage" / kind).rglob("*.json")}
        assert {Path(path) for path in desk.records() if path.startswith(f"{kind}/")} == expected


def test_the_first_layout_is_imported_without_a_change_there(desk: Desk, tmp_path: Path):
    repo = make_repo(tmp_path / "project")
    repo.commit("begin", **{"a.py": "x = 1\n"})
    data = tmp_path / "opencode"
    old = data / "project" / "project" / "storage" / "session"
    time = {"created": 1_760_000_000_000, "updated": 1_760_000_000_000}
    diff = {"file": "a.py", "before": "", "after": "x\n", "additions": 1, "deletions": 0}
    written = {
        old / "info" / "ses_old1.json": {"id": "ses_old1", "title": "Old", "version": "0.5.1", "time": time},
        old / "message" / "ses_old1" / "msg_old1.json": {
            **{"id": "msg_old1", "sessionID": "ses_old1", "role": "assistant", "parentID": "", "modelID": "m"},
            **{
                "providerID": "p",
                "mode": "build",
                "time": time,
                "path": {"cwd": str(repo.path), "root": str(repo.path)},
            },
        },
        old / "part" / "ses_old1" / "msg_old1" / "prt_old1.json": {
            **{"id": "prt_old1", "sessionID": "ses_old1", "messageID": "msg_old1", "type": "text", "text": "hello"}
        },
        data / "storage" / "session" / "PX" / "ses_new1.json": {
            **{"id": "ses_new1", "projectID": "PX", "directory": "/home/example", "title": "New", "version": "1.0.1"},
            **{"time": time, "summary": {"diffs": [diff]}},
        },
    }
    for path, record in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record))
    before = sorted((str(path), path.stat().st_mtime_ns) for path in data.rglob("*"))
    report = desk.run(data)
    assert sorted((str(path), path.stat().st_mtime_ns) for path in data.rglob("*")) == before
    assert (sorted(one.id for one in report.sessions), report.problems) == (["ses_new1", "ses_old1"], [])
    records = {path: json.loads(record) for path, record in desk.records().items()}
    assert records["part/msg_old1/prt_old1.json"]["text"] == "hello"
    assert records["session_diff/ses_new1.json"] == [diff]
    old_session = next(
        record for path, record in records.items() if path.endswith("ses_old1.json") and "title" in record
    )
    assert old_session["directory"] == str(repo.path)


def test_sessions_are_chosen_by_folder_time_and_id(desk: Desk, tmp_path: Path):
    data = unpack("1.18.33", tmp_path / "opencode")
    all_of_it = desk.run(data, dry_run=True)
    assert (all_of_it.new, desk.records()) == (4, {})
    parent = next(one for one in all_of_it.sessions if "delegate" in one.title)
    chosen = desk.run(data, selection=Selection(sessions=frozenset({parent.id})), dry_run=True)
    assert [one.title for one in chosen.sessions] == ["Title: delegate", "look (@general subagent)"]
    assert desk.run(data, selection=Selection(directory="/home/example"), dry_run=True).new == 4
    assert desk.run(data, selection=Selection(directory="/home/exam"), dry_run=True).new == 0
    assert desk.run(data, selection=Selection(since=1 << 60), dry_run=True).new == 0


def test_every_record_of_the_newest_database_is_there_unchanged(desk: Desk, tmp_path: Path):
    data = unpack("1.18.33", tmp_path / "opencode")
    desk.run(data)
    here = {path: json.loads(record) for path, record in desk.records().items()}
    with sqlite3.connect(data / "opencode.db") as database:
        parts = database.execute("SELECT id, message_id, session_id, data FROM part").fetchall()
        messages = database.execute("SELECT id, session_id, data FROM message").fetchall()
    database.close()
    assert len(parts) > 90 and len(messages) > 30
    for name, message, session, record in parts:
        expected = {"id": name, "messageID": message, "sessionID": session, **json.loads(record)}
        assert here[f"part/{message}/{name}.json"] == expected
    for name, session, record in messages:
        assert here[f"message/{session}/{name}.json"] == {"id": name, "sessionID": session, **json.loads(record)}
