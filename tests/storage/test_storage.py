import asyncio
import gc
import json
import os
import threading
from pathlib import Path

import pytest

from opencode_tui.schema.error import CorruptRecordError, NotFoundError, StorageError
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage
from tests.support.faults.file_system import FaultyFiles, StalledDisk
from tests.support.world.waiting import until

KEY = ("session", "p", "ses_1")


def tree(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def put_folder_in_place_of(record: str) -> None:
    Path(record).mkdir(parents=True)


async def test_written_record_is_read_back_from_the_documented_file(storage: Storage, paths: Paths):
    await storage.write(KEY, b'{"id":"ses_1"}')
    assert await storage.read(KEY) == b'{"id":"ses_1"}'
    assert (paths.data / "storage/session/p/ses_1.json").read_bytes() == b'{"id":"ses_1"}'


async def test_missing_record_is_not_found(storage: Storage):
    with pytest.raises(NotFoundError, match=r"session/p/ses_1\.json"):
        await storage.read(KEY)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is empty"),
        (b"\0" * 512, "it is empty"),
        (b'{"id":"se', "it is not JSON"),
        (b'{"id":1}{', "it is not JSON"),
        (b'{"id":"\xff"}', "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
    ],
)
async def test_damaged_record_is_named_with_its_reason(storage: Storage, data: bytes, reason: str):
    await storage.write(KEY, data)
    with pytest.raises(CorruptRecordError) as caught:
        await storage.read(KEY)
    assert caught.value.path == storage.path_of(KEY)
    assert caught.value.reason.startswith(reason)
    assert "\n" not in str(caught.value)


async def test_folder_in_a_records_place_is_damage(storage: Storage):
    put_folder_in_place_of(storage.path_of(KEY))
    with pytest.raises(CorruptRecordError, match="a folder is in its place"):
        await storage.read(KEY)


async def test_half_a_surrogate_pair_is_replaced_not_refused(storage: Storage):
    await storage.write(KEY, b'{"text":"cut \\ud83d"}')
    assert json.loads(await storage.read(KEY)) == {"text": "cut ?"}


async def test_refused_read_names_file_and_remedy(paths: Paths):
    storage = Storage(paths, files=FaultyFiles(at=1, error=13))
    with pytest.raises(StorageError, match=r"cannot read .*ses_1\.json: permission denied; try chmod u\+rwX") as caught:
        await storage.read(KEY)
    assert not isinstance(caught.value, NotFoundError | CorruptRecordError)


@pytest.mark.parametrize("segment", ["..", ".", "", "a/b", "-x", ".hidden", "a..b", "a\n", "ä", "x" * 202, "a\0b"])
async def test_unsafe_key_never_reaches_the_disk(storage: Storage, tmp_path: Path, segment: str):
    with pytest.raises(StorageError, match="is not a valid name of a record"):
        await storage.write(("message", segment), b"{}")
    with pytest.raises(StorageError, match="is not a valid name of a record"):
        await storage.remove_tree((segment,))
    assert tree(tmp_path) == []


async def test_whole_store_cannot_be_removed_by_an_empty_prefix(storage: Storage):
    await storage.write(KEY, b"{}")
    with pytest.raises(StorageError, match="needs at least one segment"):
        await storage.remove_tree(())
    assert await storage.list(()) == [KEY]


async def test_list_is_recursive_and_sorted_by_segments(storage: Storage):
    keys = [("part", "m1", "b"), ("part", "m1", "a"), ("part", "m0", "z"), ("part", "m-", "c"), ("project", "x")]
    for key in keys:
        await storage.write(key, b"{}")
    assert await storage.list(("part",)) == sorted(keys[:4])
    assert await storage.list(("part", "m1")) == [("part", "m1", "a"), ("part", "m1", "b")]
    assert await storage.list(("todo",)) == []


async def test_list_passes_by_what_is_no_record(storage: Storage, paths: Paths):
    await storage.write(("todo", "ses_1"), b"[]")
    for name in (".12.1.tmp", "note.txt", ".hidden.json", "-x.json"):
        (paths.storage / "todo" / name).write_text("{}")
    assert await storage.list(()) == [("todo", "ses_1")]


async def test_folder_is_read_whole_and_a_damaged_record_hides_no_other(storage: Storage):
    for name, data in (("prt_1", b'{"n":1}'), ("prt_2", b""), ("prt_4", b'{"n":4}')):
        await storage.write(("part", "m", name), data)
    put_folder_in_place_of(storage.path_of(("part", "m", "prt_3")))
    found = storage.read_folder(("part", "m"))
    assert found.records == [(("part", "m", "prt_1"), b'{"n":1}'), (("part", "m", "prt_4"), b'{"n":4}')]
    assert [str(failure).split(" is damaged")[0] for failure in found.failures] == [
        storage.path_of(("part", "m", "prt_2")),
        storage.path_of(("part", "m", "prt_3")),
    ]


async def test_large_record_is_read_whole(storage: Storage):
    data = json.dumps({"text": "x" * 1_000_000}).encode()
    await storage.write(KEY, data)
    assert await storage.read(KEY) == data


async def test_remove_forgives_a_missing_record(storage: Storage):
    await storage.write(KEY, b"{}")
    await storage.remove(KEY)
    await storage.remove(KEY)
    assert await storage.list(()) == []


async def test_remove_tree_leaves_nothing_behind_and_follows_no_link(storage: Storage, paths: Paths, tmp_path: Path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "keep.json").write_text("{}")
    await storage.write(("message", "s", "m"), b"{}")
    (paths.storage / "message/s/link").symlink_to(precious)
    (paths.storage / "message/s/.1.1.tmp").write_text("")
    await storage.remove_tree(("message", "s"))
    await storage.remove_tree(("message", "s"))
    assert list((paths.storage / "message").iterdir()) == []
    assert (precious / "keep.json").exists()


async def test_update_changes_under_the_lock_and_keeps_the_rest(storage: Storage, locks: Locks):
    await storage.write(KEY, b'{"id":"ses_1","extra":[1]}')
    lock = locks.session_write("ses_1")
    seen: list[bool] = []

    def change(record: dict[str, object]) -> dict[str, object]:
        seen.append(lock.try_acquire())
        return {**record, "title": "neu ✓"}

    new = await storage.update(KEY, change, lock)
    assert new == {"id": "ses_1", "extra": [1], "title": "neu ✓"} == json.loads(await storage.read(KEY))
    assert seen == [False]
    assert "neu ✓" in (await storage.read(KEY)).decode()


async def test_update_of_a_missing_record_needs_a_default(storage: Storage, locks: Locks):
    with pytest.raises(NotFoundError):
        await storage.update(KEY, dict, locks.store())
    default = {"n": 0}
    await storage.update(KEY, lambda record: {"n": record["n"] + 1}, locks.store(), default=default)
    assert (json.loads(await storage.read(KEY)), default) == ({"n": 1}, {"n": 0})


async def test_failed_change_frees_the_lock_and_leaves_the_record(storage: Storage, locks: Locks):
    await storage.write(KEY, b'{"n":1}')
    with pytest.raises(ZeroDivisionError):
        await storage.update(KEY, lambda record: {"n": 1 / 0}, locks.store())
    await storage.update(KEY, lambda record: {"n": record["n"] + 1}, locks.store())
    assert json.loads(await storage.read(KEY)) == {"n": 2}


async def test_updates_leave_less_garbage_than_there_are_of_them_and_write_what_is_not_unicode(
    storage: Storage, locks: Locks
):
    await storage.write(KEY, b'{"n":0}')
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            await storage.update(KEY, lambda record: {"n": record["n"] + 1, "list": [1.5]}, locks.store())
        found = gc.collect()
    finally:
        gc.enable()
    assert found < 20
    assert await storage.read(KEY) == b'{\n  "n": 20,\n  "list": [\n    1.5\n  ]\n}'
    await storage.update(KEY, lambda record: {**record, "n": "a\ud800"}, locks.store())
    assert json.loads(await storage.read(KEY)) == {"n": "a?", "list": [1.5]}


async def test_many_updates_at_once_lose_none(storage: Storage, locks: Locks):
    await storage.write(KEY, b'{"n":0}')
    add = storage.update(KEY, lambda record: {"n": record["n"] + 1}, locks.store())
    more = (storage.update(KEY, lambda record: {"n": record["n"] + 1}, locks.store()) for _ in range(19))
    await asyncio.gather(add, *more)
    assert json.loads(await storage.read(KEY)) == {"n": 20}


async def test_writes_happen_in_the_order_of_their_calls(storage: Storage):
    await asyncio.gather(*(storage.write(KEY, json.dumps(number).encode()) for number in range(50)))
    assert await storage.read(KEY) == b"49"


async def test_write_is_done_although_its_caller_was_cancelled(storage: Storage):
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    task = asyncio.create_task(storage.write(KEY, b"1"))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await storage.flush()
    assert (task.cancelled(), await storage.read(KEY), complaints) == (True, b"1", [])


async def test_write_that_fails_after_its_caller_has_gone_is_told_in_the_log(
    paths: Paths, caplog: pytest.LogCaptureFixture
):
    storage = Storage(paths, files=FaultyFiles(at=1, error=28, only="write"))
    task = asyncio.create_task(storage.write(KEY, b"1"))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await storage.close()
    assert [record.message for record in caplog.records] == ["a write failed after its caller was canceled"]


async def test_cancelled_update_keeps_its_lock_until_the_write_is_done(paths: Paths, locks: Locks):
    storage = Storage(paths, files=(disk := StalledDisk()))
    task = asyncio.create_task(storage.update(KEY, dict, locks.store(), default={"n": 1}))
    await until(disk.has_begun.is_set)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0.01)
    assert not locks.store().try_acquire()
    disk.may_end.set()
    await asyncio.gather(task, return_exceptions=True)
    await until(locks.store().try_acquire)  # a caller that is canceled does not wait for a slow write
    assert (task.cancelled(), json.loads(await storage.read(KEY))) == (True, {"n": 1})
    await storage.close()


async def test_files_and_folders_are_for_their_owner_alone(storage: Storage, paths: Paths):
    before = os.umask(0)
    try:
        await storage.write(KEY, b"{}")
    finally:
        os.umask(before)
    modes = {path.relative_to(paths.data): path.stat().st_mode & 0o777 for path in paths.data.rglob("*")}
    assert modes == {
        Path("storage"): 0o700,
        Path("storage/session"): 0o700,
        Path("storage/session/p"): 0o700,
        Path("storage/session/p/ses_1.json"): 0o600,
    }


async def test_nothing_is_created_before_the_first_write(storage: Storage, tmp_path: Path):
    await storage.list(())
    await storage.remove(KEY)
    await storage.flush()
    assert tree(tmp_path) == []


async def test_closed_store_refuses_to_write_and_still_reads(paths: Paths):
    before = threading.enumerate()
    storage = Storage(paths)
    await storage.write(KEY, b"1")
    await storage.close()
    await storage.close()
    with pytest.raises(StorageError, match="the store is closed"):
        await storage.write(KEY, b"2")
    assert await storage.read(KEY) == b"1"
    assert not [thread for thread in threading.enumerate() if thread.name == "storage-writer" and thread not in before]


def test_one_store_serves_several_event_loops_one_after_the_other(paths: Paths):
    storage = Storage(paths)
    for number in range(3):
        asyncio.run(storage.write(("todo", f"s{number}"), b"[]"))
    assert asyncio.run(storage.list(())) == [("todo", "s0"), ("todo", "s1"), ("todo", "s2")]
    asyncio.run(storage.close())


async def test_link_to_nowhere_in_place_of_a_folder_is_an_error(storage: Storage, paths: Paths):
    paths.storage.mkdir(parents=True)
    (paths.storage / "todo").symlink_to(paths.home / "gone")
    with pytest.raises(StorageError, match="cannot write"):
        await storage.write(("todo", "s"), b"[]")


async def test_left_over_temporary_file_with_the_next_name_is_passed_by(storage: Storage, paths: Paths):
    (paths.storage / "todo").mkdir(parents=True)
    left = paths.storage / "todo" / f".{os.getpid()}.1.tmp"
    left.write_text("old")
    await storage.write(("todo", "s"), b"[1]")
    assert (await storage.read(("todo", "s")), left.read_text()) == (b"[1]", "old")
