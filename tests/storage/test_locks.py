import asyncio
import os
import threading
import time
from pathlib import Path

import pytest
from filelock import lock_descriptor

from opencode_tui.schema.error import LockTimeoutError, StorageError
from opencode_tui.storage import process_lock
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.process_lock import ProcessLock
from tests.storage.load import fork, wait_for
from tests.support.faults.file_log import LoggedFiles
from tests.support.faults.file_system import FaultyFiles
from tests.support.world.waiting import PATIENCE_S


def hold_in_another_process(paths: Paths) -> int:
    """Return the id of a child that holds the `store` lock until it is killed."""
    reading, writing = os.pipe()

    def hold() -> None:
        with Locks(paths).store():
            os.write(writing, b"!")
            time.sleep(60)

    child = fork(hold)
    os.read(reading, 1)
    os.close(reading)
    os.close(writing)
    return child


def test_lock_excludes_another_process_and_its_holder_is_named(paths: Paths, locks: Locks):
    child = hold_in_another_process(paths)
    assert not locks.store().try_acquire()
    with pytest.raises(LockTimeoutError, match=rf"lock/store has been held by process {child} for more than 20 ms"):
        locks.store().acquire_sync(20)
    os.kill(child, 9)
    assert wait_for(child) == -9
    assert locks.store().try_acquire()


def test_killed_holder_frees_its_lock(paths: Paths, locks: Locks):
    child = hold_in_another_process(paths)
    os.kill(child, 9)
    wait_for(child)
    locks.store().acquire_sync(500)
    assert not Locks(paths).store().try_acquire()


async def test_lock_excludes_tasks_of_one_process(locks: Locks):
    inside = 0
    most = 0

    async def work() -> None:
        nonlocal inside, most
        async with locks.session_write("ses_1"):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.001)
            inside -= 1

    await asyncio.gather(*(work() for _ in range(10)))
    assert (most, inside) == (1, 0)


async def test_two_sets_of_locks_in_one_process_exclude_each_other(paths: Paths, locks: Locks):
    async with locks.store():
        with pytest.raises(LockTimeoutError):
            await Locks(paths).store().acquire(30)
    await Locks(paths).store().acquire(30)


async def test_waiting_leaves_the_event_loop_free_and_ends_when_cancelled(paths: Paths, locks: Locks):
    async with locks.store():
        task = asyncio.create_task(Locks(paths).store().acquire(600_000))
        await asyncio.sleep(0.05)
        task.cancel()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()


class Hanging(ProcessLock):
    """A lock on a disk that does not open the file until `opens` is set."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.opens = threading.Event()

    def try_acquire(self) -> bool:
        assert self.opens.wait(PATIENCE_S)
        return super().try_acquire()


async def test_a_disk_that_does_not_open_the_file_keeps_neither_the_loop_nor_the_lock(tmp_path: Path):
    lock = Hanging(tmp_path / "hanging")
    for _ in range(3):
        lock.opens.clear()
        task = asyncio.create_task(lock.acquire())
        await asyncio.sleep(0.01)
        task.cancel()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled() and not lock.opens.is_set()

        lock.opens.set()
        async with asyncio.timeout(PATIENCE_S), lock:
            assert not ProcessLock(lock.path).try_acquire()


def test_thread_waits_for_the_lock_and_gets_it(locks: Locks):
    lock = locks.worktree("w1")
    lock.acquire_sync(100)
    with pytest.raises(LockTimeoutError):
        lock.acquire_sync(10)
    lock.release()
    with lock:
        pass
    assert lock.try_acquire()


def test_names_do_not_collide_and_files_stay(paths: Paths, locks: Locks):
    with locks.store(), locks.worktree("a"), locks.session_write("a"):
        locks.session_run("a").try_acquire()
    assert sorted(os.listdir(paths.lock)) == ["a.owner", "a.run", "a.worktree", "a.write", "running", "store"]
    assert {path.stat().st_mode & 0o777 for path in paths.lock.rglob("*") if path.is_file()} == {0o600}
    assert os.listdir(paths.lock / "running") == ["a"]


def test_the_files_of_a_deleted_session_go_with_it(paths: Paths, locks: Locks):
    with locks.session_write("a"), locks.session_fork("a"), locks.session_write("b"):
        for session in ("a", "b"):
            locks.session_run(session).try_acquire()
            locks.session_run(session).release()
    locks.delete("a")
    assert sorted(os.listdir(paths.lock)) == ["b.owner", "b.run", "b.write", "running"]


@pytest.mark.parametrize("kind", ["run", "write", "fork", "copy"])
def test_the_files_of_a_session_that_is_in_use_stay(paths: Paths, locks: Locks, kind: str):
    locks.session_run("a").try_acquire()
    locks.session_run("a").release()
    with ProcessLock(f"{paths.lock}/a.{kind}"):
        locks.delete("a")
        assert {"a.owner", "a.run", f"a.{kind}"} <= set(os.listdir(paths.lock))
    locks.delete("a")
    assert os.listdir(paths.lock) == ["running"] and os.listdir(paths.lock / "running") == []


def test_a_session_that_was_restored_and_killed_is_still_known_as_killed(paths: Paths, locks: Locks):
    assert wait_for(fork(lambda: Locks(paths).session_run("a").try_acquire())) == 0
    locks.delete("a")
    assert locks.killed_runs() == list(locks.run_owners()) == ["a"]


def test_a_failure_to_delete_them_is_logged(paths: Paths, caplog: pytest.LogCaptureFixture):
    locks = Locks(paths, files=FaultyFiles(at=1, error=5, only="unlink"))
    locks.session_write("a").acquire_sync()
    locks.session_write("a").release()
    locks.delete("a")
    assert "cannot delete" in caplog.text


def test_what_a_run_before_the_deletion_has_in_memory_is_not_current_after_it(paths: Paths, locks: Locks):
    run = locks.session_run("a")
    run.try_acquire()
    run.release()
    seen = locks.look("a")
    assert locks.is_current("a", seen) and run.is_current()
    Locks(paths).delete("a")
    assert not locks.is_current("a", seen) and not run.is_current()
    assert Locks(paths).session_run("a").try_acquire().generation != run.last_generation
    assert not locks.is_current("a", seen) and not run.is_current()


def test_what_could_not_be_looked_at_is_not_current(paths: Paths):
    files = FaultyFiles(error=24, only="open")
    locks = Locks(paths, files=files)
    locks.session_run("a").try_acquire()
    locks.session_run("a").release()
    seen = locks.look("a")
    files.at, files.lasting = files.calls + 1, True
    assert not locks.is_current("a", seen)
    files.heal()
    assert locks.is_current("a", seen)


@pytest.mark.parametrize("is_made", [False, True])
def test_a_file_that_was_deleted_before_it_was_locked_locks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_made: bool
):
    """Its holder deletes it between the moments when another one opens and locks it; a third one may make it again."""
    path = tmp_path / "a"

    def lock(descriptor: int, *, blocking: bool) -> bool:
        monkeypatch.undo()
        path.unlink()
        if is_made:
            assert ProcessLock(str(path)).try_acquire()
        return lock_descriptor(descriptor, blocking=blocking)

    monkeypatch.setattr(process_lock, "lock_descriptor", lock)
    assert ProcessLock(str(path)).try_acquire() == (not is_made)
    assert not ProcessLock(str(path)).try_acquire()


def test_a_list_of_runs_reads_no_owner_of_a_session_that_is_idle(paths: Paths):
    files = LoggedFiles()
    locks = Locks(paths, files=files)
    for number in range(20):
        locks.session_run(f"idle-{number}").try_acquire()
        locks.session_run(f"idle-{number}").release()
    locks.session_run("works").try_acquire()
    files.calls.clear()
    assert list(locks.run_owners()) == ["works"]
    assert len(files.times("read")) == 1


def test_a_killed_run_that_an_older_version_left_is_found(paths: Paths, locks: Locks):
    assert wait_for(fork(lambda: Locks(paths).session_run("a").try_acquire())) == 0
    (paths.lock / "running" / "a").unlink()
    assert locks.killed_runs() == locks.killed_of(["a"]) == ["a"]


def test_unsafe_name_is_refused(locks: Locks):
    for take in (locks.session_write, locks.session_run, locks.worktree):
        with pytest.raises(StorageError, match="is not a valid name of a lock"):
            take("../evil")


def test_unusable_lock_folder_is_an_error_with_a_remedy(paths: Paths, locks: Locks):
    Path(paths.data).mkdir(parents=True)
    paths.lock.write_text("in the way")
    with pytest.raises(StorageError, match=r"cannot create .*lock"):
        locks.store()
