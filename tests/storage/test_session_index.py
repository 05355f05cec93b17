import json
import os
import time
from pathlib import Path

import pytest

from opencode_tui.schema.session.listed import ListedSession, listed
from opencode_tui.schema.session.session import COST_KEY, SessionInfo
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.session_index import SessionIndex
from opencode_tui.storage.storage import Storage
from tests.support.faults.file_system import FaultyFiles
from tests.support.sessions.records import session_info

MANY = 40
"""More than the index tolerates without being written."""


def session(number: int, **fields: object) -> SessionInfo:
    title = f"title\t{number} ü\u2028"
    given = {"project_id": "p", "directory": "/place", "title": title, **fields}
    return session_info(f"ses_{999 - number:03d}", created=number, updated=number, **given)


def path(paths: Paths, info: SessionInfo) -> Path:
    return paths.storage / "session" / "p" / f"{info.id}.json"


def store(paths: Paths, infos: list[SessionInfo], *, mtime_ns: int = 10**18) -> None:
    """Write sessions as they lie after some time."""
    for info in infos:
        path(paths, info).parent.mkdir(parents=True, exist_ok=True)
        path(paths, info).write_bytes(info.to_json())
        os.utime(path(paths, info), ns=(mtime_ns, mtime_ns))


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
    assert sorted(os.listdir(paths.cache / "index")) == ["p.index", "p.listed"]


def test_no_sessions_are_an_empty_list(paths: Paths):
    listing = SessionIndex(Storage(paths)).list("p")
    assert (listing.sessions, listing.damaged) == ([], [])


def test_few_sessions_need_no_index(paths: Paths):
    store(paths, [session(1), session(2)])
    assert SessionIndex(Storage(paths)).list("p").sessions == [session(2), session(1)]
    assert not (paths.cache / "index").exists()


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


def test_change_in_place_by_another_program_is_noticed(paths: Paths, infos: list[SessionInfo]):
    edited = path(paths, infos[0])
    edited.write_bytes(edited.read_bytes().replace(b"/place", b"/other"))
    assert SessionIndex(Storage(paths)).list("p").sessions[-1].directory == "/other"


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


async def test_many_small_changes_reach_the_index_file_in_the_end(paths: Paths, infos: list[SessionInfo]):
    index, _ = reads(paths)
    for info in infos:
        store(paths, [info.changed(title="changed")])
        index.list("p")
    later, files = reads(paths)
    assert {info.title for info in later.list("p").sessions} == {"changed"}
    assert len(read_records(files)) <= 32


def test_damaged_record_is_named_and_hides_no_other(paths: Paths, infos: list[SessionInfo]):
    for info, data in zip(infos, [b"", b"{", b"[]", b'{"id":1}'], strict=False):
        path(paths, info).write_bytes(data)
    listing = SessionIndex(Storage(paths)).list("p")
    assert listing.sessions == newest_first(infos[4:])
    assert sorted(str(error).partition(" is damaged (")[0] for error in listing.damaged) == sorted(
        str(path(paths, info)) for info in infos[:4]
    )


@pytest.mark.parametrize(
    "damage",
    [lambda data: b"", lambda data: data[:-40], lambda data: data.replace(b"place", b"xxxxx"), lambda data: b"\xff\n"],
)
def test_damaged_index_is_made_anew(paths: Paths, infos: list[SessionInfo], damage):
    index_file = paths.cache / "index" / "p.index"
    whole = index_file.read_bytes()
    index_file.write_bytes(damage(whole))
    assert SessionIndex(Storage(paths)).list("p").sessions == newest_first(infos)
    assert index_file.read_bytes() == whole


def test_index_of_another_store_is_not_used(paths: Paths, infos: list[SessionInfo], tmp_path: Path):
    other = Paths(paths.home, tmp_path / "other", paths.config, paths.state, paths.cache)
    store(other, [session(1)])
    assert SessionIndex(Storage(other)).list("p").sessions == [session(1)]


def test_list_needs_no_cache_that_can_be_written(paths: Paths):
    infos = [session(number) for number in range(MANY)]
    store(paths, infos)
    paths.cache.parent.mkdir(parents=True, exist_ok=True)
    paths.cache.write_text("in the way")
    assert SessionIndex(Storage(paths)).list("p").sessions == newest_first(infos)


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
    assert len(set(read_records(files))) <= 4 + 4  # those of the list, and those that the index file lacks
    assert index.recent("p", 3, is_top=True).sessions == [*used, infos[-1]]
    assert len(index.recent("p", MANY + 1).sessions) == MANY + 1
    assert index.recent("p", 9, is_archived=True).sessions == [archived]
    assert index.recent("p", 1, accept=lambda info: info.id == infos[2].id).sessions == [infos[2]]
    assert index.children("p", infos[0].id).sessions == [child]


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


def test_lists_for_the_screen_need_no_index(paths: Paths):
    store(paths, [session(1), session(2)])
    index = SessionIndex(Storage(paths))
    assert index.listed("p")[0] == shown([session(2), session(1)])
    assert index.listed("q") == ([], [])


@pytest.mark.parametrize("lost", [["p.listed"], ["p.index", "p.listed"], ["p.index"]], ids=", ".join)
@pytest.mark.parametrize("damage", [b"", b"\xff" * 2_000, None], ids=["empty", "noise", "gone"])
def test_lists_for_the_screen_survive_files_that_are_damaged_meanwhile(
    paths: Paths, infos: list[SessionInfo], damage: bytes | None, lost: list[str]
):
    index, _ = reads(paths)
    index.columns("p")
    for name in lost:
        file = paths.cache / "index" / name
        file.unlink() if damage is None else file.write_bytes(damage)
    assert index.listed("p") == (shown(newest_first(infos)), [])
    assert SessionIndex(Storage(paths)).listed("p") == (shown(newest_first(infos)), [])
    later, files = reads(paths)  # they were written again
    assert later.listed("p") == (shown(newest_first(infos)), [])
    assert read_records(files) == []


def test_children_as_of_an_hour_ago_need_no_second_look_at_the_files(paths: Paths, infos: list[SessionInfo]):
    index, files = reads(paths)
    index.recent("p", 1)
    child = session(50, parent_id=infos[0].id)
    store(paths, [child])
    files.log.clear()
    assert index.children("p", infos[0].id, age_s=3600).sessions == []
    assert files.log == []
    assert index.children("p", infos[0].id).sessions == [child]


def test_what_a_record_has_no_more_is_not_kept(paths: Paths, infos: list[SessionInfo]):
    child, costly = infos[3], infos[5]
    store(paths, [child.changed(parent_id=infos[0].id), costly.changed(metadata={COST_KEY: 0.5})])
    index = SessionIndex(Storage(paths))
    assert [info.id for info in index.children("p", infos[0].id).sessions] == [child.id]
    before = index.columns("p")[0].costs
    store(paths, [child, costly], mtime_ns=2 * 10**18)
    assert index.children("p", infos[0].id).sessions == []
    assert (costly.id in before, index.columns("p")[0].costs) == (True, {})


def test_a_record_that_is_damaged_after_a_list_is_in_no_later_one(paths: Paths, infos: list[SessionInfo]):
    index = SessionIndex(Storage(paths))
    assert len(index.list("p").sessions) == MANY
    path(paths, infos[3]).write_bytes(b"{")
    for listing in (index.list("p"), index.list("p")):
        assert listing.sessions == newest_first([info for info in infos if info is not infos[3]])
        assert [str(path(paths, infos[3])) in str(error) for error in listing.damaged] == [True]


def test_a_record_that_changed_behind_the_columns_is_shown_as_it_is(paths: Paths, infos: list[SessionInfo]):
    index, _ = reads(paths)
    index.recent("p", 1)
    store(paths, [infos[0].changed(title="changed", time=infos[0].time.changed(updated=500))])
    (path(paths, infos[-1])).unlink()
    assert [info.title for info in index.recent("p", 2).sessions] == ["changed", infos[-2].title]


def test_an_index_that_was_replaced_meanwhile_is_not_mixed_up(paths: Paths, infos: list[SessionInfo]):
    index, _ = reads(paths)
    index.recent("p", 1)
    for info in infos:
        store(paths, [info.changed(title="changed")])
    SessionIndex(Storage(paths)).list("p")  # another process writes the file
    assert {info.title for info in index.list("p").sessions} == {"changed"}
    store(paths, infos)
    SessionIndex(Storage(paths)).list("p")
    later, _ = reads(paths)
    later.columns("p")
    (paths.cache / "index" / "p.index").unlink()
    assert later.list("p").sessions == newest_first(infos)
