"""Short lists of many sessions, which look only at what may have changed since the last look at all of them."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencode_tui.schema.session.session import COST_KEY, SessionInfo
from opencode_tui.storage import session_changes, session_index
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.session_index import SessionIndex
from opencode_tui.storage.storage import Storage
from tests.support.faults.file_system import FaultyFiles
from tests.support.sessions.records import session_info
from tests.support.world.waiting import PATIENCE_S

MANY = 60
"""Sessions of the project; more than `FEW`, and than the index file may lack."""

FEW = 20
LAST_USED = 3
HOUR_MS = 3_600_000
TICK_S = 0.02
"""Longer than a tick of the clock of a file system: what another program changes in the same one as we do is not noticed."""

WRITES = """
import asyncio, sys
from pathlib import Path
from opencode_tui.storage.paths import find_paths
from opencode_tui.storage.storage import Storage
import os

async def write(source):
    storage = Storage(find_paths(os.environ))
    for path in sorted(Path(source).iterdir()):
        await storage.write(("session", "p", path.stem), path.read_bytes())
    await storage.close()

print(flush=True)
sys.stdin.readline()
asyncio.run(write(sys.argv[1]))
"""


@pytest.fixture(autouse=True)
def few_are_used_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_index, "_USED_LAST", LAST_USED)


class Clock:
    """The time in ms."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def session(number: int, **fields: object) -> SessionInfo:
    given = {"project_id": "p", "directory": "/place", **fields}
    return session_info(f"ses_{number:04d}", created=number, updated=number, **given)


def used(info: SessionInfo, updated: int) -> SessionInfo:
    return info.changed(time=info.time.changed(updated=updated))


def folder(paths: Paths) -> Path:
    return paths.storage / "session" / "p"


def path(paths: Paths, info: SessionInfo) -> Path:
    return folder(paths) / f"{info.id}.json"


def looked(paths: Paths) -> Path:
    return paths.cache / "index" / "p.looked"


def age(paths: Paths, ns: int = 10**18 + 1) -> None:
    """Let the folder be as if nothing had changed in it lately."""
    os.utime(folder(paths), ns=(ns, ns))


@pytest.fixture
def infos(paths: Paths, clock: Clock) -> list[SessionInfo]:
    """Sessions that are in the index file, and were all looked at."""
    infos = [session(number) for number in range(MANY)]
    folder(paths).mkdir(parents=True)
    for info in infos:
        path(paths, info).write_bytes(info.to_json())
        os.utime(path(paths, info), ns=(10**18, 10**18))
    age(paths)
    opened(paths, clock)[0].list("p")
    return infos


def opened(paths: Paths, clock: Clock) -> tuple[SessionIndex, FaultyFiles]:
    files = FaultyFiles()
    return SessionIndex(Storage(paths, files=files), clock=clock, many=FEW), files


def short(index: SessionIndex) -> dict[str, int]:
    """Return the last use of each session by the columns."""
    columns, _ = index.columns("p")
    return {columns.id_of(row): updated for row, updated in enumerate(columns.updated)}


def stored(paths: Paths) -> dict[str, int]:
    """Return the last use of each session by its record."""
    infos = [SessionInfo.model_validate_json(one.read_bytes()) for one in folder(paths).glob("ses_*.json")]
    return {info.id: info.time.updated for info in infos}


def has_looked_at_all(files: FaultyFiles) -> bool:
    return any(act == "open" and str(name).endswith("/session/p") for act, name in files.log)


def replace_elsewhere(paths: Paths, info: SessionInfo) -> None:
    """Do what another program does that replaces files atomically."""
    time.sleep(TICK_S)
    temporary = folder(paths) / "new"
    temporary.write_bytes(info.to_json())
    temporary.replace(path(paths, info))


def start_writing(paths: Paths, infos: list[SessionInfo], source: Path) -> "subprocess.Popen[str]":
    """Start another process of the program that writes sessions once it gets a line."""
    source.mkdir()
    for info in infos:
        (source / f"{info.id}.json").write_bytes(info.to_json())
    variables = {"XDG_DATA_HOME": paths.data.parent, "XDG_CACHE_HOME": paths.cache.parent, "HOME": paths.home}
    process = subprocess.Popen(
        [sys.executable, "-c", WRITES, str(source)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **{name: str(value) for name, value in variables.items()}},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "\n"
    return process


def go(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_short_lists_do_not_look_at_all_sessions_again(paths: Paths, infos: list[SessionInfo], clock: Clock):
    index, files = opened(paths, clock)
    assert index.recent("p", 2).sessions == [infos[-1], infos[-2]]
    assert index.recent("p", 2).sessions == [infos[-1], infos[-2]]
    assert not has_looked_at_all(files)
    assert short(index) == stored(paths)


def test_projects_of_few_sessions_are_looked_at_as_a_whole(paths: Paths, infos: list[SessionInfo], clock: Clock):
    for _ in range(2):
        files = FaultyFiles()
        assert short(SessionIndex(Storage(paths, files=files), clock=clock, many=MANY)) == stored(paths)
        assert has_looked_at_all(files)
        looked(paths).unlink(missing_ok=True)
    assert not looked(paths).exists()


async def test_what_this_process_changes_is_looked_at(paths: Paths, infos: list[SessionInfo], clock: Clock):
    index, files = opened(paths, clock)
    short(index)
    storage = Storage(paths)
    await storage.write(("session", "p", infos[5].id), used(infos[5], 500).to_json())
    await storage.write(("session", "p", session(900).id), session(900, parent_id=infos[5].id).to_json(), durable=True)
    await storage.remove(("session", "p", infos[-1].id))
    await storage.remove(("session", "p", "ses_unknown"))
    later, more = opened(paths, clock)
    for one, log in ((index, files), (later, more)):
        assert [info.id for info in one.recent("p", 3).sessions] == [session(900).id, infos[5].id, infos[-2].id]
        assert [info.id for info in one.children("p", infos[5].id).sessions] == [session(900).id]
        assert short(one) == stored(paths)
        assert not has_looked_at_all(log)
    assert later.list("p").sessions == opened(paths, clock)[0].list("p").sessions
    await storage.close()


async def test_what_a_session_has_no_more_is_not_kept(paths: Paths, infos: list[SessionInfo], clock: Clock):
    storage, (index, files) = Storage(paths), opened(paths, clock)
    special = infos[5].changed(parent_id=infos[4].id, metadata={COST_KEY: 0.5})
    await storage.write(("session", "p", special.id), special.to_json())
    columns, _ = index.columns("p")
    assert (columns.parents, columns.costs) == ({special.id: infos[4].id}, {special.id: 0.5})
    await storage.write(("session", "p", special.id), infos[5].to_json())
    columns, _ = index.columns("p")
    assert (columns.parents, columns.costs) == ({}, {})
    assert not has_looked_at_all(files)
    await storage.close()


def test_what_two_other_processes_change_at_once_is_looked_at(
    paths: Paths, infos: list[SessionInfo], clock: Clock, tmp_path: Path
):
    index, _ = opened(paths, clock)
    short(index)
    halves = (
        [used(info, 500 + info.time.updated) for info in infos[:20:2]],
        [session(number) for number in range(900, 910)],
    )
    writers = [start_writing(paths, half, tmp_path / f"records{at}") for at, half in enumerate(halves)]
    for writer in writers:
        go(writer)
    assert [writer.wait(PATIENCE_S) for writer in writers] == [0, 0]
    for one in (index, opened(paths, clock)[0]):
        assert short(one) == stored(paths)


def test_what_another_process_changes_needs_no_look_at_all(
    paths: Paths, infos: list[SessionInfo], clock: Clock, tmp_path: Path
):
    index, files = opened(paths, clock)
    writer = start_writing(paths, [used(infos[3], 500), session(900)], tmp_path / "records")
    go(writer)
    assert writer.wait(PATIENCE_S) == 0
    assert short(index) == stored(paths)
    assert not has_looked_at_all(files)


def _add(paths: Paths, infos: list[SessionInfo]) -> None:
    path(paths, session(900)).write_bytes(session(900).to_json())


def _remove(paths: Paths, infos: list[SessionInfo]) -> None:
    path(paths, infos[5]).unlink()


def _replace(paths: Paths, infos: list[SessionInfo]) -> None:
    replace_elsewhere(paths, used(infos[5], 500))


def _replace_folder(paths: Paths, infos: list[SessionInfo]) -> None:
    state = folder(paths).stat()
    shutil.copytree(folder(paths), folder(paths).with_name("copy"))
    shutil.move(folder(paths), paths.data / "old")
    shutil.move(folder(paths).with_name("copy"), folder(paths))
    _replace(paths, infos)
    os.utime(folder(paths), ns=(state.st_atime_ns, state.st_mtime_ns))


RECORDS = pytest.mark.parametrize("change", [_add, _remove, _replace])
FOREIGN = pytest.mark.parametrize("change", [_add, _remove, _replace, _replace_folder])


@FOREIGN
def test_what_another_program_changes_is_noticed(
    paths: Paths, infos: list[SessionInfo], clock: Clock, change: Callable[[Paths, list[SessionInfo]], None]
):
    index, _ = opened(paths, clock)
    short(index)
    change(paths, infos)
    later, files = opened(paths, clock)
    assert short(later) == stored(paths)
    assert has_looked_at_all(files)
    assert short(index) == stored(paths)


@FOREIGN
async def test_what_another_program_changes_between_ours_is_noticed(
    paths: Paths, infos: list[SessionInfo], clock: Clock, change: Callable[[Paths, list[SessionInfo]], None]
):
    storage = Storage(paths)
    await storage.write(("session", "p", infos[7].id), used(infos[7], 700).to_json())
    time.sleep(TICK_S)
    change(paths, infos)
    await storage.write(("session", "p", infos[8].id), used(infos[8], 800).to_json())
    assert short(opened(paths, clock)[0]) == stored(paths)
    await storage.close()


class Meddling(FileSystem):
    """Another program changes the folder while a record is written here."""

    def __init__(self, meddle: Callable[[], None]) -> None:
        self.meddle = meddle

    def write(self, descriptor: int, data: memoryview) -> int:
        written = super().write(descriptor, data)
        self.meddle()
        self.meddle = lambda: None
        return written


@RECORDS
async def test_what_another_program_changes_while_we_write_is_noticed(
    paths: Paths, infos: list[SessionInfo], clock: Clock, change: Callable[[Paths, list[SessionInfo]], None]
):
    def meddle() -> None:
        time.sleep(TICK_S)
        change(paths, infos)
        time.sleep(TICK_S)

    storage = Storage(paths, files=Meddling(meddle))
    await storage.write(("session", "p", infos[7].id), used(infos[7], 700).to_json())
    assert short(opened(paths, clock)[0]) == stored(paths)
    await storage.close()


def test_change_in_place_of_an_old_record_is_noticed_after_an_hour_and_by_whole_lists(
    paths: Paths, infos: list[SessionInfo], clock: Clock
):
    index, _ = opened(paths, clock)
    short(index)
    path(paths, infos[5]).write_bytes(used(infos[5], 500).to_json())
    clock.now += HOUR_MS - 1
    assert short(index)[infos[5].id] == 5
    clock.now += 1
    assert short(index) == stored(paths)
    path(paths, infos[6]).write_bytes(used(infos[6], 600).to_json())
    assert short(index)[infos[6].id] == 6
    assert index.list("p").sessions[-7].time.updated == 600
    assert short(opened(paths, clock)[0]) == stored(paths)
    path(paths, infos[7]).write_bytes(used(infos[7], 700).to_json())
    assert index.listed("p")[0][-8].updated == 700


def test_change_in_place_of_a_session_used_last_is_noticed_at_once(
    paths: Paths, infos: list[SessionInfo], clock: Clock
):
    index, files = opened(paths, clock)
    short(index)
    path(paths, infos[-LAST_USED]).write_bytes(used(infos[-LAST_USED], 500).to_json())
    assert short(index) == stored(paths)
    assert not has_looked_at_all(files)


def test_clock_that_went_back_costs_a_look_at_all(paths: Paths, infos: list[SessionInfo], clock: Clock):
    clock.now -= 1
    index, files = opened(paths, clock)
    short(index)
    assert has_looked_at_all(files)


def _of_another_version(data: bytes) -> bytes:
    line, _, rest = data.partition(b"\n")
    head = line.rpartition(b"\t")[0].replace(b"look 1", b"look 2")
    return b"%s\t%08x\n%s" % (head, zlib.crc32(head), rest)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: b"\0" * len(data),
        lambda data: data.replace(b"ses_0005", b"ses_0007"),
        lambda data: data.replace(b"ses_0059", b"ses_0007"),
        lambda data: data + b"ses_0009.json\t1 2\t00000000\n",
        lambda data: data + b"\n",
        lambda data: data + b"x",
        lambda data: data.replace(b"session look 1", b"session look 2"),
        lambda data: _of_another_version(data),
        lambda data: b"".join(data.splitlines(keepends=True)[:-1]),
        lambda data: data * 2,
        lambda data: data + b"\xff\n" * session_changes._MOST_BYTES,
    ],
)
async def test_damaged_or_lost_lines_cost_a_look_at_all(
    paths: Paths, infos: list[SessionInfo], clock: Clock, damage: Callable[[bytes], bytes]
):
    storage = Storage(paths)
    await storage.write(("session", "p", infos[5].id), used(infos[5], 500).to_json())
    await storage.close()
    whole = looked(paths).read_bytes()
    looked(paths).write_bytes(damage(whole))
    index, files = opened(paths, clock)
    assert short(index) == stored(paths)
    assert has_looked_at_all(files)


def test_without_the_file_all_are_looked_at_and_it_is_made_anew(paths: Paths, infos: list[SessionInfo], clock: Clock):
    looked(paths).unlink()
    (index, files), (later, more) = opened(paths, clock), opened(paths, clock)
    assert short(index) == short(later) == stored(paths)
    assert (has_looked_at_all(files), has_looked_at_all(more)) == (True, False)


def test_folder_that_changed_just_now_is_not_looked_at_once_for_all(
    paths: Paths, infos: list[SessionInfo], clock: Clock
):
    looked(paths).unlink()
    age(paths, time.time_ns() + 10**10)  # as if it was now for as long as the test lasts
    short(opened(paths, clock)[0])
    assert not looked(paths).exists()


def test_folder_on_a_file_system_of_whole_seconds_is_not_looked_at_once_for_all(
    paths: Paths, infos: list[SessionInfo], clock: Clock
):
    looked(paths).unlink()
    age(paths, 10**18)
    short(opened(paths, clock)[0])
    assert not looked(paths).exists()


def test_folder_behind_a_link_is_looked_at_as_a_whole(paths: Paths, infos: list[SessionInfo], clock: Clock):
    folder(paths).rename(paths.data / "elsewhere")
    folder(paths).symlink_to(paths.data / "elsewhere")
    os.utime(folder(paths), ns=(10**18 + 1, 10**18 + 1), follow_symlinks=False)
    for _ in range(2):
        index, files = opened(paths, clock)
        assert short(index) == stored(paths)
        assert has_looked_at_all(files)


async def test_record_that_is_damaged_is_named_by_each_list(paths: Paths, infos: list[SessionInfo], clock: Clock):
    path(paths, infos[5]).write_bytes(b"{")
    opened(paths, clock)[0].list("p")
    storage, (index, files) = Storage(paths), opened(paths, clock)
    await storage.write(("session", "p", infos[6].id), b"[]")
    for _ in range(2):
        columns, damaged = index.columns("p")
        assert len(columns.names) == MANY - 2
        assert sorted(str(error).partition(" is damaged (")[0] for error in damaged) == [
            str(path(paths, info)) for info in infos[5:7]
        ]
    assert not has_looked_at_all(files)
    await storage.close()


async def test_record_that_is_young_is_read_again_later(paths: Paths, infos: list[SessionInfo], clock: Clock):
    os.utime(path(paths, infos[5]), ns=(now := time.time_ns() + 10**10, now))
    age(paths)
    for info in infos[6:50]:  # more than may be missing in the index file, which then has the one without its state
        path(paths, info).write_bytes(info.to_json())
        os.utime(path(paths, info), ns=(10**17, 10**17))
    opened(paths, clock)[0].list("p")
    path(paths, infos[5]).write_bytes(used(infos[5], 7).to_json())
    os.utime(path(paths, infos[5]), ns=(now, now))
    index, files = opened(paths, clock)
    assert short(index) == stored(paths)
    assert short(index)[infos[5].id] == 7
    assert not has_looked_at_all(files)


async def test_many_changes_are_written_to_the_index_file(paths: Paths, infos: list[SessionInfo], clock: Clock):
    storage = Storage(paths)
    index, files = opened(paths, clock)
    for info in infos[:50]:
        await storage.write(("session", "p", info.id), used(info, 500).to_json())
        os.utime(path(paths, info), ns=(10**17, 10**17))
        assert short(index)[info.id] == 500
    await storage.close()
    assert has_looked_at_all(files)
    files.log.clear()
    age(paths)
    index.list("p")
    assert len(looked(paths).read_bytes().splitlines()) < 40
    later, more = opened(paths, clock)
    assert short(later) == stored(paths)
    assert not has_looked_at_all(more)


async def test_file_does_not_grow_without_a_list(
    paths: Paths, infos: list[SessionInfo], clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(session_changes, "_MOST_BYTES", 2_000)
    storage = Storage(paths)
    for updated in range(500, 540):
        await storage.write(("session", "p", infos[5].id), used(infos[5], updated).to_json())
        assert not looked(paths).exists() or looked(paths).stat().st_size < 2_200
    await storage.close()
    assert not looked(paths).exists()
    assert short(opened(paths, clock)[0]) == stored(paths)


def test_index_that_another_process_saves_serves_both(paths: Paths, infos: list[SessionInfo], clock: Clock):
    index, _ = opened(paths, clock)
    index.list("p")
    for info in infos[:50]:
        path(paths, info).write_bytes(used(info, 500).to_json())
        os.utime(path(paths, info), ns=(10**17, 10**17))
    age(paths)
    opened(paths, clock)[0].list("p")  # it writes the index file
    assert short(index) == stored(paths)
    path(paths, infos[5]).unlink()
    age(paths, 10**18 + 2)
    assert len(index.list("p").sessions) == MANY - 1
    for one in (index, opened(paths, clock)[0]):
        assert short(one) == stored(paths)
    (later, more) = opened(paths, clock)
    assert short(later) == stored(paths)
    assert not has_looked_at_all(more)


def change_saved(paths: Paths, infos: list[SessionInfo], updated: int) -> None:
    """Change sessions in place some time ago, more than the index file may lack."""
    for info in infos[:50]:
        path(paths, info).write_bytes(used(info, updated).to_json())
        os.utime(path(paths, info), ns=(10**17 + updated, 10**17 + updated))


def test_whole_list_writes_for_others_what_the_index_file_lacks(paths: Paths, infos: list[SessionInfo], clock: Clock):
    path(paths, infos[5]).write_bytes(used(infos[5], 7).to_json())
    os.utime(path(paths, infos[5]), ns=(10**17, 10**17))
    opened(paths, clock)[0].list("p")
    index, files = opened(paths, clock)
    assert short(index) == stored(paths)
    assert not has_looked_at_all(files)


async def test_whole_list_writes_for_others_what_was_removed_before(
    paths: Paths, infos: list[SessionInfo], clock: Clock
):
    storage, (index, _) = Storage(paths), opened(paths, clock)
    await storage.remove(("session", "p", infos[5].id))
    await storage.close()
    assert infos[5].id not in short(index)
    age(paths, 10**18 + 2)
    index.list("p")
    later, files = opened(paths, clock)
    assert short(later) == stored(paths)
    assert not has_looked_at_all(files)


def test_whole_list_after_another_process_saved_the_index_serves_others(
    paths: Paths, infos: list[SessionInfo], clock: Clock
):
    index, _ = opened(paths, clock)
    index.list("p")
    path(paths, infos[5]).write_bytes(used(infos[5], 7).to_json())
    os.utime(path(paths, infos[5]), ns=(10**17, 10**17))
    (paths.cache / "index" / "p.index").unlink()
    opened(paths, clock)[0].list("p")
    index.list("p")
    later, files = opened(paths, clock)
    assert short(later) == stored(paths)
    assert not has_looked_at_all(files)


def test_index_file_of_another_look_costs_a_look_at_all(paths: Paths, infos: list[SessionInfo], clock: Clock):
    file = paths.cache / "index" / "p.index"
    before = file.read_bytes()
    change_saved(paths, infos, 500)
    opened(paths, clock)[0].list("p")
    file.write_bytes(before)  # as a slower process may write it
    assert short(opened(paths, clock)[0]) == stored(paths)


def test_damaged_record_is_named_after_the_index_file_was_written(paths: Paths, infos: list[SessionInfo], clock: Clock):
    change_saved(paths, infos, 500)
    path(paths, infos[55]).write_bytes(b"{")
    opened(paths, clock)[0].list("p")
    index, files = opened(paths, clock)
    assert len(index.columns("p")[1]) == 1
    assert not has_looked_at_all(files)


async def test_whole_lists_know_what_short_ones_have_read(paths: Paths, infos: list[SessionInfo], clock: Clock):
    storage, (index, _), (other, _) = Storage(paths), opened(paths, clock), opened(paths, clock)
    index.list("p")
    await storage.write(("session", "p", infos[5].id), used(infos[5], 500).to_json())
    await storage.close()
    os.utime(path(paths, infos[5]), ns=(10**17, 10**17))
    assert short(index) == short(other) == stored(paths)
    whole = opened(paths, clock)[0]
    assert index.list("p") == whole.list("p")
    assert other.listed("p") == whole.listed("p")
    assert index.list("p").sessions[-6].time.updated == 500


async def test_record_that_was_written_just_now_is_read_again(paths: Paths, infos: list[SessionInfo], clock: Clock):
    storage, (index, _) = Storage(paths), opened(paths, clock)
    await storage.write(("session", "p", infos[5].id), used(infos[5], 500).to_json())
    await storage.close()
    now = time.time_ns() + 10**10
    os.utime(path(paths, infos[5]), ns=(now, now))
    assert short(index)[infos[5].id] == 500
    path(paths, infos[5]).write_bytes(used(infos[5], 700).to_json())
    os.utime(path(paths, infos[5]), ns=(now, now))
    assert short(index)[infos[5].id] == 700


async def test_session_that_is_removed_and_restored_as_it_was_is_listed(
    paths: Paths, infos: list[SessionInfo], clock: Clock
):
    storage, (index, _) = Storage(paths), opened(paths, clock)
    os.link(path(paths, infos[5]), paths.data / "kept")
    await storage.remove(("session", "p", infos[5].id))
    assert infos[5].id not in short(index)
    await storage.close()
    (paths.data / "kept").rename(path(paths, infos[5]))
    age(paths, 10**18 + 2)
    opened(paths, clock)[0].list("p")
    assert short(index) == stored(paths)


async def test_failed_write_costs_a_look_at_all(paths: Paths, infos: list[SessionInfo], clock: Clock):
    storage = Storage(paths, files=FaultyFiles(at=1, error=28, only="replace"))
    with pytest.raises(Exception, match="cannot write"):
        await storage.write(("session", "p", infos[5].id), used(infos[5], 500).to_json())
    await storage.close()
    index, files = opened(paths, clock)
    assert short(index) == stored(paths)
    assert has_looked_at_all(files)


@pytest.mark.parametrize("only", ["open", "lstat", "write", "close"])
async def test_failure_to_record_a_change_does_not_fail_its_write(
    paths: Paths, infos: list[SessionInfo], clock: Clock, only: str
):
    at = {"open": 1, "lstat": 2, "write": 2, "close": 2}[only]
    storage = Storage(paths, files=FaultyFiles(at=at, error=5, only=only))
    await storage.write(("session", "p", infos[5].id), used(infos[5], 500).to_json())
    await storage.close()
    assert short(opened(paths, clock)[0]) == stored(paths)
    assert stored(paths)[infos[5].id] == 500


LEAST = 36
"""Sessions of the projects below, which the index file is written for."""

OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ["write", "write", "write", "remove", "short", "list", "hour", "replaced", "edited", "unlinked"]
        ),
        st.integers(0, LEAST + 5),
    ),
    max_size=12,
)


@settings(max_examples=30, deadline=None)
@given(OPERATIONS)
def test_short_lists_know_what_a_look_at_all_knows(operations: list[tuple[str, int]]):
    with tempfile.TemporaryDirectory() as root:
        asyncio.run(_check(_paths_in(Path(root)), operations))


def _paths_in(root: Path) -> Paths:
    return Paths(root, root / "data", root / "config", root / "state", root / "cache")


async def _check(paths: Paths, operations: list[tuple[str, int]]) -> None:
    """Do what this and another program do, and compare what a long-lived and a new process know after each step."""
    clock, storage = Clock(), Storage(paths)
    folder(paths).mkdir(parents=True)
    for number in range(LEAST):
        path(paths, session(number)).write_bytes(session(number).to_json())
        os.utime(path(paths, session(number)), ns=(10**18, 10**18))
    age(paths)
    index, _ = opened(paths, clock)
    index.list("p")
    for step, (act, number) in enumerate(operations, 1_000):
        info = used(session(number), step)
        if act == "write":
            await storage.write(("session", "p", info.id), info.to_json())
        elif act == "remove":
            await storage.remove(("session", "p", info.id))
        elif act == "short":
            assert short(index) == stored(paths)
        elif act == "list":
            age(paths, 10**18 + step)
            assert {one.id: one.time.updated for one in index.list("p").sessions} == stored(paths)
        elif act == "hour":
            clock.now += HOUR_MS
        elif act == "replaced":
            replace_elsewhere(paths, info)
        elif act == "unlinked":
            time.sleep(TICK_S)
            path(paths, info).unlink(missing_ok=True)
        else:
            path(paths, info).write_bytes(info.to_json())
            clock.now += HOUR_MS
        assert short(opened(paths, clock)[0]) == stored(paths), act
    assert short(index) == stored(paths)
    await storage.close()


def test_atomic_writes_enter_the_context_around_each_change_of_the_folder(tmp_path: Path):
    class Seen:
        def __init__(self) -> None:
            self.names: list[list[str]] = []

        def __enter__(self) -> None:
            self.names.append(sorted(os.listdir(tmp_path)))

        def __exit__(self, *_: object) -> None:
            self.names.append(sorted(os.listdir(tmp_path)))

    AtomicWriter(FileSystem()).write(f"{tmp_path}/a", b"1", around=(seen := Seen()))
    begin, between, before, end = seen.names
    assert (begin, len(between), between, end) == ([], 1, before, ["a"])
