import os
import time
from pathlib import Path

import pytest

from opencode_tui.storage.doctor import Doctor, Finding
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage
from tests.storage.load import fork, wait_for
from tests.support.faults.file_system import FaultyFiles

SESSION = b'{"id":"ses_1","projectID":"p","directory":"/w","title":"t","version":"1","time":{"created":1,"updated":1}}'
PART = b'{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"hi"}'


def put(paths: Paths, name: str, data: bytes) -> Path:
    path = paths.storage / name
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_bytes(data)
    path.chmod(0o600)
    return path


@pytest.fixture
def healthy(paths: Paths) -> Storage:
    put(paths, "session/p/ses_1.json", SESSION)
    put(paths, "part/msg_1/prt_1.json", PART)
    put(paths, "todo/ses_1.json", b"[]")
    put(paths, "migration", b"2")
    return Storage(paths)


@pytest.fixture(autouse=True)
def _umask():
    before = os.umask(0o077)
    yield
    os.umask(before)


def test_nothing_is_found_in_a_healthy_store(healthy: Storage):
    assert Doctor(healthy).inspect() == []


def test_nothing_is_found_where_nothing_is(paths: Paths):
    assert Doctor(Storage(paths)).inspect() == []


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("session/p/ses_2.json", b"", "it is empty"),
        ("session/p/ses_2.json", b"[]", "it is not a JSON object"),
        ("session/p/ses_2.json", SESSION.replace(b'"title":"t",', b""), "title: Field required"),
        ("message/ses_1/msg_1.json", b'{"id":"msg_1"', "it is not JSON"),
        ("part/msg_1/prt_2.json", PART, "its id is 'prt_1'"),
        ("part/msg_2/prt_1.json", PART, "its messageID is 'msg_1'"),
        ("todo/ses_2.json", b"\0\0\0", "it is empty"),
    ],
)
def test_damage_is_named_and_set_aside_with_its_bytes(
    healthy: Storage, paths: Paths, name: str, data: bytes, reason: str
):
    damaged = put(paths, name, data)
    doctor = Doctor(healthy)
    findings = doctor.inspect()
    assert [(finding.kind, finding.paths) for finding in findings] == [("damaged", (str(damaged),))]
    assert f"{damaged} is damaged ({reason}" in findings[0].text
    assert doctor.repair(findings) == []
    assert (doctor.inspect(), (paths.data / "quarantine" / name).read_bytes()) == ([], data)


def test_second_quarantine_of_a_record_keeps_the_first(healthy: Storage, paths: Paths):
    for data in (b"", b"{"):
        put(paths, "todo/ses_2.json", data)
        Doctor(healthy).repair(Doctor(healthy).inspect())
    kept = paths.data / "quarantine/todo"
    assert [(kept / name).read_bytes() for name in ("ses_2.json", "ses_2.json.1")] == [b"", b"{"]


def test_folder_in_a_records_place_is_set_aside_whole(healthy: Storage, paths: Paths):
    put(paths, "todo/ses_2.json/inner.txt", b"mine")
    Doctor(healthy).repair(Doctor(healthy).inspect())
    assert (paths.data / "quarantine/todo/ses_2.json/inner.txt").read_bytes() == b"mine"


def test_only_old_temporary_files_of_ended_processes_are_removed(healthy: Storage, paths: Paths):
    ended = fork(lambda: None)
    wait_for(ended)
    dead, young, living, stale = (
        put(paths, f"todo/.{name}.tmp", b"")
        for name in (f"{ended}.1", f"{ended}.2", f"{os.getpid()}.3", f"{os.getpid()}.4")
    )
    hour_ago = time.time() - 3600
    for path, changed in ((dead, hour_ago), (living, hour_ago), (stale, 1)):
        os.utime(path, (changed, changed))
    findings = Doctor(healthy).inspect()
    left = {path for finding in findings for path in finding.paths if finding.kind == "leftover"}
    assert left == {str(dead), str(stale)}, "the id of a process is used again after a while"
    assert Doctor(healthy).repair(findings) == []
    assert [path.exists() for path in (dead, young, living, stale)] == [False, True, True, False]


def test_what_others_could_read_is_closed_to_them(healthy: Storage, paths: Paths):
    paths.auth.write_text("{}")
    paths.auth.chmod(0o644)
    (paths.storage / "todo").chmod(0o755)
    findings = Doctor(healthy).inspect()
    assert findings == [
        Finding(
            "mode",
            f"2 files are accessible to other users, such as {paths.auth}",
            (str(paths.auth), f"{paths.storage}/todo"),
        )
    ]
    assert (Doctor(healthy).repair(findings), Doctor(healthy).inspect()) == ([], [])
    assert (paths.auth.stat().st_mode & 0o777, (paths.storage / "todo").stat().st_mode & 0o777) == (0o600, 0o700)


def test_killed_run_is_told_and_left_to_the_session(healthy: Storage, paths: Paths):
    wait_for(fork(lambda: Locks(paths).session_run("ses_1").try_acquire()))
    [finding] = Doctor(healthy).inspect()
    assert (finding.kind, finding.is_fixable) == ("killed run", False)
    assert finding.text.startswith("session ses_1 was interrupted (process ")


def test_foreign_files_are_told_and_left(healthy: Storage, paths: Paths):
    foreign = put(paths, "todo/notes.txt", b"mine")
    findings = Doctor(healthy).inspect()
    assert findings == [Finding("foreign", f"{foreign} is not a record (ignored)")]
    Doctor(healthy).repair(findings)
    assert foreign.read_bytes() == b"mine"


def test_disk_that_refuses_is_told_for_each_and_ends_nothing(healthy: Storage, paths: Paths):
    files = FaultyFiles(at=1, error=5, lasting=True, only="replace")
    damaged = [put(paths, f"todo/ses_{number}.json", b"") for number in (2, 3)]
    doctor = Doctor(Storage(paths, files=files))
    failures = doctor.repair(doctor.inspect())
    assert [str(error).split(": ")[0] for error in failures] == [f"cannot repair {path}" for path in damaged]
    assert all(path.exists() for path in damaged)


def test_unreadable_record_is_told_not_set_aside(paths: Paths, healthy: Storage):
    doctor = Doctor(Storage(paths, files=FaultyFiles(at=1, error=13, lasting=True, only="read")))
    assert {(finding.kind, finding.is_fixable) for finding in doctor.inspect()} == {("unreadable", False)}
