import json
import os
import random
import shutil
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from opencode_tui.schema.session.listed import ListedSession, listed
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.session_index import SessionIndex, SessionListing
from opencode_tui.storage.storage import Storage
from tests.support.faults.file_system import FaultyFiles
from tests.support.sessions.records import session_info

MANY = 40


def session(number: int, **fields: object) -> SessionInfo:
    title = f"title\t{number} ü\u2028"
    given = {"project_id": "p", "directory": "/place", "title": title, **fields}
    return session_info(f"ses_{99_999 - number:05d}", created=number, updated=number, **given)


def path(paths: Paths, info: SessionInfo) -> Path:
    return paths.storage / "session" / "p" / f"{info.id}.json"


def store(paths: Paths, infos: list[SessionInfo], *, mtime_ns: int = 10**18) -> None:
    """Write sessions as they are after some time."""
    for info in infos:
        path(paths, info).parent.mkdir(parents=True, exist_ok=True)
        path(paths, info).write_bytes(info.to_json())
        os.utime(path(paths, info), ns=(mtime_ns, mtime_ns))
    wait_for_tick()


def wait_for_tick() -> None:
    """Wait until what was written cannot change again without another time."""
    time.sleep(0.12)


def newest_first(infos: list[SessionInfo]) -> list[SessionInfo]:
    return sorted(infos, key=lambda info: -info.time.created)


@pytest.fixture
def infos(paths: Paths) -> list[SessionInfo]:
    """Sessions that are stored and, after one listing, in the index."""
    infos = [session(number) for number in range(MANY)]
    store(paths, infos)
    SessionIndex(Storage(paths)).list("p")
    return infos


def reads(paths: Paths) -> tuple[SessionIndex, FaultyFiles]:
    files = FaultyFiles()
    return SessionIndex(Storage(paths, files=files)), files


def read_records(files: FaultyFiles) -> list[str]:
    return [Path(str(name)).stem for act, name in files.log if act == "open" and "/session/p/" in str(name)]


def test_list_is_complete_and_newest_first_with_and_without_the_index(paths: Paths, infos: list[SessionInfo]):
    index, files = reads(paths)
    assert index.list("p").sessions == newest_first(infos)
    assert read_records(files) == []
    assert os.listdir(paths.cache) == ["index.db"]
    assert (paths.cache / "index.db").stat().st_mode & 0o777 == 0o600


def test_no_sessions_are_an_empty_list(paths: Paths):
    index = SessionIndex(Storage(paths))
    assert index.list("p") == SessionListing([], [])
    assert index.listed("p") == ([], [])


async def test_replaced_new_and_removed_sessions_are_noticed(paths: Paths, infos: list[SessionInfo]):
    storage = Storage(paths)
    changed, new = infos[3].changed(title="changed"), session(MANY)
    for info in (changed, new):
        await storage.write(("session", "p", info.id), info.to_json())
    await storage.remove(("session", "p", infos[5].id))
    index, files = reads(paths)
    assert index.list("p").sessions == newest_first([new, changed, *infos[:3], infos[4], *infos[6:]])
    assert sorted(read_records(files)) == sorted([changed.id, new.id])
    await storage.close()


def test_record_that_is_younger_than_the_clocks_tick_is_not_trusted(paths: Paths):
    young = [session(number) for number in range(MANY)]
    store(paths, young, mtime_ns=time.time_ns() + 10**10)
    SessionIndex(Storage(paths)).list("p")
    index, files = reads(paths)
    assert index.list("p").sessions == newest_first(young)
    assert len(read_records(files)) == MANY


async def test_list_of_one_process_reads_only_what_changed_since(paths: Paths, infos: list[SessionInfo]):
    index, files = reads(paths)
    index.list("p")
    changed = infos[3].changed(title="changed")
    store(paths, [changed])
    (paths.storage / "session/p" / f"{infos[5].id}.json").unlink()
    files.log.clear()
    assert index.list("p").sessions == newest_first([*infos[:3], changed, infos[4], *infos[6:]])
    assert [Path(str(name)).name for act, name in files.log if act == "open"] == ["p", f"{changed.id}.json"]


def test_damaged_record_is_named_and_hides_no_other(paths: Paths, infos: list[SessionInfo]):
    for info, data in zip(infos, [b"", b"{", b"[]", b'{"id":1}'], strict=False):
        path(paths, info).write_bytes(data)
    listing = SessionIndex(Storage(paths)).list("p")
    assert listing.sessions == newest_first(infos[4:])
    assert sorted(str(error).partition(" is damaged (")[0] for error in listing.damaged) == sorted(
        str(path(paths, info)) for info in infos[:4]
    )


def file_of(paths: Paths) -> Path:
    return paths.cache / "index.db"


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "a part": lambda data: data[:-5000],
    "noise": lambda data: b"\xff" * 20_000,
    "no pages": lambda data: data[:4096] + bytes(len(data) - 4096),
    "noise behind the head": lambda data: data[:100] + b"\xff" * (len(data) - 100),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_made_again(paths: Paths, infos: list[SessionInfo], damage: str):
    file_of(paths).write_bytes(DAMAGE[damage](file_of(paths).read_bytes()))
    assert SessionIndex(Storage(paths)).list("p").sessions == newest_first(infos)
    later, files = reads(paths)
    assert later.listed("p") == (shown(newest_first(infos)), [])
    assert read_records(files) == []


def test_a_file_that_was_removed_or_damaged_between_two_looks_is_made_again(paths: Paths, infos: list[SessionInfo]):
    index, _ = reads(paths)
    for change in (file_of(paths).unlink, lambda: file_of(paths).write_bytes(b"x" * 9_000)):
        assert index.list("p").sessions == newest_first(infos)
        change()
    assert index.list("p").sessions == newest_first(infos)


def test_a_file_of_another_version_is_made_again(paths: Paths, infos: list[SessionInfo]):
    with closing(sqlite3.connect(file_of(paths), isolation_level=None)) as db:
        db.execute("DROP TABLE session")
        db.execute("CREATE TABLE session(a)")
        db.execute("CREATE VIEW later AS SELECT a FROM session")
        db.execute("PRAGMA user_version = 999")
    assert SessionIndex(Storage(paths)).list("p").sessions == newest_first(infos)


def test_a_row_with_a_damaged_record_is_read_again(paths: Paths, infos: list[SessionInfo]):
    index, _ = reads(paths)
    for read in (index.list, lambda project: index.recent(project, MANY)):
        with closing(sqlite3.connect(file_of(paths), isolation_level=None)) as db:
            db.execute("UPDATE session SET record = CAST('{' AS BLOB)")
        assert read("p").sessions == newest_first(infos)


def test_a_version_that_has_changed_its_tables_since_is_made_again(paths: Paths, infos: list[SessionInfo]):
    index, _ = reads(paths)
    index.list("p")
    with closing(sqlite3.connect(file_of(paths), isolation_level=None)) as db:
        db.execute("ALTER TABLE session DROP COLUMN title")
    assert index.list("p").sessions == newest_first(infos)


def test_what_another_program_reads_or_writes_keeps_no_list_from_being_right(
    paths: Paths, infos: list[SessionInfo], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr("opencode_tui.storage.index_file.BUSY_S", 0.05)
    changed = infos[3].changed(title="changed")
    for statement in ("BEGIN", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"):
        with closing(sqlite3.connect(file_of(paths), isolation_level=None)) as other:
            other.execute(statement)
            other.execute("SELECT count(*) FROM session").fetchall()
            index = SessionIndex(Storage(paths))
            store(paths, [changed])
            assert changed in index.list("p").sessions
            store(paths, [infos[3]])
            assert index.list("p").sessions == newest_first(infos)
            assert "is kept in memory" in caplog.text
            caplog.clear()
            other.execute("ROLLBACK")
    assert SessionIndex(Storage(paths)).list("p").sessions == newest_first(infos)


def test_index_of_another_store_is_not_used(paths: Paths, infos: list[SessionInfo], tmp_path: Path):
    other = Paths(paths.home, tmp_path / "other", paths.config, paths.state, paths.cache)
    store(other, [session(1)])
    for _ in range(2):
        assert SessionIndex(Storage(other)).list("p").sessions == [session(1)]
        assert SessionIndex(Storage(paths)).list("p").sessions == newest_first(infos)


def test_list_needs_no_cache_that_can_be_written(paths: Paths, caplog: pytest.LogCaptureFixture):
    infos = [session(number) for number in range(MANY)]
    store(paths, infos)
    paths.cache.parent.mkdir(parents=True, exist_ok=True)
    paths.cache.write_text("in the way")
    index, files = reads(paths)
    assert index.list("p").sessions == newest_first(infos)
    assert len(caplog.messages) == 1 and str(file_of(paths)) in caplog.messages[0]
    files.log.clear()
    assert index.list("p").sessions == newest_first(infos)
    assert read_records(files) == [] and len(caplog.messages) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_list_needs_no_folder_that_can_be_written(paths: Paths, infos: list[SessionInfo]):
    file_of(paths).chmod(0o400)
    paths.cache.chmod(0o500)
    try:
        index = SessionIndex(Storage(paths))
        store(paths, [infos[3].changed(title="changed")])
        assert "changed" in {info.title for info in index.list("p").sessions}
    finally:
        paths.cache.chmod(0o700)


def test_what_older_versions_derived_is_removed_at_the_first_start(paths: Paths):
    store(paths, [session(1)])
    old = paths.cache / "index"
    old.mkdir(parents=True)
    for name in ("p.index", "p.listed", "p.looked", "p.sums", "other"):
        (old / name).write_text("opencode-tui session index 2 little")
    assert SessionIndex(Storage(paths)).list("p").sessions == [session(1)]
    assert os.listdir(old) == ["other"]


def test_record_of_the_oldest_layout_gets_project_and_folder(paths: Paths):
    store(paths, [session(1)])
    (paths.storage / "project").mkdir()
    (paths.storage / "project" / "p.json").write_text('{"worktree":"/old/place"}')
    old = {"id": "ses_old1", "version": "0.5.0", "title": "old one", "time": {"created": 5, "updated": 6}}
    (paths.storage / "session/p/ses_old1.json").write_text(json.dumps(old))
    first = SessionIndex(Storage(paths)).list("p").sessions[0]
    assert (first.id, first.project_id, first.directory) == ("ses_old1", "p", "/old/place")


def test_unknown_fields_survive_the_index(paths: Paths):
    infos = [session(number, metadata={"a": {"b": None}}) for number in range(MANY)]
    store(paths, infos)
    for info in infos:
        data = json.loads(path(paths, info).read_bytes()) | {"futureField": [1, None]}
        path(paths, info).write_text(json.dumps(data))
        os.utime(path(paths, info), ns=(10**18, 10**18))
    first, second = (SessionIndex(Storage(paths)).list("p").sessions for _ in range(2))
    assert first == second
    assert second[0].to_dict()["futureField"] == [1, None]
    assert second[0].to_dict()["metadata"] == {"a": {"b": None}}


def test_the_last_used_are_read_alone_and_in_order(paths: Paths, infos: list[SessionInfo]):
    used = [infos[number].changed(time=infos[number].time.changed(updated=100 + number)) for number in (5, 3)]
    child, archived = session(50, parent_id=infos[0].id), session(51)
    archived = archived.changed(time=archived.time.changed(archived=60))
    store(paths, [*used, child, archived])
    SessionIndex(Storage(paths)).list("p")
    index, files = reads(paths)
    assert index.recent("p", 4).sessions == [*used, child, infos[-1]]
    assert read_records(files) == []
    assert index.recent("p", 3, is_top=True).sessions == [*used, infos[-1]]
    assert len(index.recent("p", MANY + 1).sessions) == MANY + 1
    assert index.recent("p", 9, is_archived=True).sessions == [archived]
    assert index.recent("p", 1, accept=lambda info: info.id == infos[2].id).sessions == [infos[2]]
    assert index.children("p", infos[0].id).sessions == [child]
    used_again = infos[7].changed(time=infos[7].time.changed(updated=500))
    store(paths, [used_again])
    path(paths, used[0]).unlink()
    assert index.recent("p", 2).sessions == [used_again, used[1]]


def shown(infos: list[SessionInfo]) -> list[ListedSession]:
    return [listed(info) for info in infos]


def test_lists_for_the_screen_read_the_index_file_and_what_it_lacks(paths: Paths, infos: list[SessionInfo]):
    index, files = reads(paths)
    assert index.listed("p") == (shown(newest_first(infos)), [])
    assert read_records(files) == []
    changed, new = infos[3].changed(title="changed", metadata={"pinned": True}), session(MANY, directory="/other")
    store(paths, [changed, new])
    path(paths, infos[5]).unlink()
    files.log.clear()
    now = newest_first([info for info in infos if info not in (infos[3], infos[5])] + [changed, new])
    assert index.listed("p") == (shown(now), [])
    assert sorted(read_records(files)) == sorted([changed.id, new.id])
    assert index.list("p").sessions == now
    assert index.listed("p") == (shown(now), [])


def test_a_folder_whose_name_is_not_utf_8_is_shown_as_it_is(paths: Paths):
    info = session(1, directory="/caf\udce9")
    store(paths, [info])
    index = SessionIndex(Storage(paths))
    for _ in range(2):
        assert [one.directory for one in index.listed("p")[0]] == [info.directory]
        assert index.list("p").sessions == [info]


def test_what_a_record_has_no_more_is_not_kept(paths: Paths, infos: list[SessionInfo]):
    child = infos[3]
    store(paths, [child.changed(parent_id=infos[0].id)])
    index = SessionIndex(Storage(paths))
    assert [info.id for info in index.children("p", infos[0].id).sessions] == [child.id]
    store(paths, [child], mtime_ns=2 * 10**18)
    assert index.children("p", infos[0].id).sessions == []


def test_a_record_that_is_damaged_after_a_list_is_in_no_later_one(paths: Paths, infos: list[SessionInfo]):
    index = SessionIndex(Storage(paths))
    assert len(index.list("p").sessions) == MANY
    path(paths, infos[3]).write_bytes(b"{")
    for listing in (index.list("p"), index.list("p")):
        assert listing.sessions == newest_first([info for info in infos if info is not infos[3]])
        assert [str(path(paths, infos[3])) in str(error) for error in listing.damaged] == [True]


def test_two_engines_see_what_the_other_one_and_other_programs_did(paths: Paths, infos: list[SessionInfo]):
    one, other = SessionIndex(Storage(paths)), SessionIndex(Storage(paths))
    for number in range(4):
        changed = infos[number].changed(title="changed")
        path(paths, changed).write_bytes(changed.to_json())
        path(paths, infos[-1 - number]).unlink()
        first, second = one.list("p").sessions, other.list("p").sessions
        assert first == second
        assert len(first) == MANY - 1 - number and changed in first


def test_engines_at_the_same_time_lose_nothing(paths: Paths):
    infos = [session(number) for number in range(300)]
    store(paths, infos)
    with ThreadPoolExecutor(6) as threads:
        found = [*threads.map(lambda _: SessionIndex(Storage(paths)).list("p").sessions, range(12))]
    assert found == [newest_first(infos)] * 12


# What another program does to a record, and what the next look shows then.


def edited_in_place(file: Path, chance: random.Random) -> None:
    data = file.read_bytes()
    with file.open("r+b") as opened:
        opened.write(data.replace(b'"title": "t', b'"title": "' + chance.choice(b"abc").to_bytes()))


def edited_with_an_old_time(file: Path, chance: random.Random) -> None:
    status = file.stat()
    edited_in_place(file, chance)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def replaced(file: Path, chance: random.Random) -> None:
    """Restore from a backup: another file of the same size with the same time."""
    status = file.stat()
    backup = file.with_suffix(".backup")
    backup.write_bytes(file.read_bytes())
    edited_in_place(backup, chance)
    os.utime(backup, ns=(status.st_atime_ns, status.st_mtime_ns))
    backup.replace(file)


def touched(file: Path, chance: random.Random) -> None:
    moment = chance.randrange(10**18)
    os.utime(file, ns=(moment, moment))


def removed(file: Path, chance: random.Random) -> None:
    file.unlink()


def renamed(file: Path, chance: random.Random) -> None:
    file.rename(file.with_suffix(""))


def damaged(file: Path, chance: random.Random) -> None:
    file.write_bytes(b"{")


def added(file: Path, chance: random.Random) -> None:
    name = f"ses_new{chance.randrange(10**9)}"
    file.with_name(f"{name}.json").write_bytes(file.read_bytes().replace(file.stem.encode(), name.encode()))


CHANGES = (edited_in_place, edited_with_an_old_time, replaced, touched, removed, renamed, damaged, added)


def rebuilt(paths: Paths) -> tuple[list[SessionInfo], list[ListedSession]]:
    """Return the lists of an index that is made from the records alone."""
    other = Paths(paths.home, paths.data, paths.config, paths.state, paths.cache.with_name("rebuilt"))
    shutil.rmtree(other.cache, ignore_errors=True)
    index = SessionIndex(Storage(other))
    return index.list("p").sessions, index.listed("p")[0]


@pytest.mark.parametrize("seed", [0, *(pytest.param(one, marks=pytest.mark.slow) for one in range(1, 4))])
def test_after_any_changes_by_others_the_next_look_shows_what_a_new_index_does(paths: Paths, seed: int):
    chance = random.Random(seed)
    store(paths, [session(number, title=f"title {number}") for number in range(10)])
    index = SessionIndex(Storage(paths))
    for _ in range(25):
        records = sorted(path(paths, session(1)).parent.glob("*.json"))
        for file in chance.sample(records, min(len(records), chance.randrange(3))):
            if file.stat().st_size > 1:
                chance.choice(CHANGES)(file, chance)
        if chance.random() < 0.2:
            wait_for_tick()
        assert (index.list("p").sessions, index.listed("p")[0]) == rebuilt(paths)


@pytest.mark.parametrize("count", [10, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__)
def test_a_change_by_another_program_is_seen_at_the_next_look(
    paths: Paths, change: Callable[[Path, random.Random], None], count: int
):
    store(paths, [session(number, title=f"title {number}") for number in range(count)])
    index = SessionIndex(Storage(paths))
    index.listed("p")
    change(path(paths, session(count // 2)), random.Random(3))
    assert index.listed("p")[0] == rebuilt(paths)[1]
