import asyncio
import os
import socket
import threading
from collections.abc import Callable

import pytest

from opencode_tui.schema.error import BusyError, LockTimeoutError, StorageError
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.process_identity import ProcessIdentity, current_process, is_alive
from opencode_tui.storage.process_lock import RunGrant, RunLock
from tests.storage.load import fork, wait_for
from tests.support.faults.file_system import FaultyFiles
from tests.support.world.waiting import PATIENCE_S


def run_elsewhere(paths: Paths, session_id: str) -> None:
    """Have another process run the session, once."""
    child = fork(lambda: Locks(paths).session_run(session_id).try_acquire())
    assert wait_for(child) == 0


def test_second_run_is_refused_at_once_and_told_who_is_busy(paths: Paths, locks: Locks):
    locks.session_run("s").try_acquire()
    with pytest.raises(BusyError, match=rf"session s is in use by process {os.getpid()} on {socket.gethostname()}"):
        Locks(paths).session_run("s").try_acquire()
    with pytest.raises(BusyError):
        locks.session_run("s").try_acquire()


async def test_waiting_run_is_told_who_is_busy(paths: Paths, locks: Locks):
    locks.session_run("s").try_acquire()
    with pytest.raises(LockTimeoutError, match=f"process {os.getpid()} .* for more than 20 ms"):
        await Locks(paths).session_run("s").acquire(20)


async def test_every_holder_raises_the_generation(locks: Locks):
    run = locks.session_run("s")
    grants: list[RunGrant] = []
    for _ in range(3):
        grants.append(await run.acquire(100))
        run.release()
    first = grants[0].generation
    assert grants == [RunGrant(first + number, was_elsewhere=False) for number in range(3)]


def test_run_of_another_process_in_between_is_noticed_once(paths: Paths, locks: Locks):
    run = locks.session_run("s")
    first = run.try_acquire().generation
    run.release()
    run_elsewhere(paths, "s")
    assert run.try_acquire() == RunGrant(first + 2, was_elsewhere=True)
    run.release()
    assert run.try_acquire() == RunGrant(first + 3, was_elsewhere=False)


def test_first_run_here_of_a_session_that_others_ran_is_elsewhere(paths: Paths, locks: Locks):
    run_elsewhere(paths, "s")
    assert locks.session_run("s").try_acquire().was_elsewhere


def test_owner_is_set_while_a_run_lasts_and_after_a_kill(paths: Paths, locks: Locks):
    assert locks.read_owner("s") is None
    run = locks.session_run("s")
    run.try_acquire()
    owner = locks.read_owner("s")
    assert owner is not None
    assert owner.process == current_process()
    run.release()
    owner = locks.read_owner("s")
    assert owner is not None
    assert not owner.is_set
    run_elsewhere(paths, "s")
    killed = locks.read_owner("s")
    assert killed is not None
    assert (killed.is_set, is_alive(killed.process)) == (True, False)
    assert not run.was_killed
    locks.session_run("s").try_acquire()
    assert run.was_killed


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"pid":"x"}', b"\0\0"])
def test_damaged_owner_file_counts_as_a_run_elsewhere(locks: Locks, paths: Paths, data: bytes):
    run = locks.session_run("s")
    run.try_acquire()
    run.release()
    (paths.lock / "s.owner").write_bytes(data)
    assert run.try_acquire().was_elsewhere


def test_run_whose_owner_cannot_be_written_does_not_keep_the_lock(paths: Paths, locks: Locks):
    with pytest.raises(StorageError, match=r"cannot write .*s\.owner: the disk is full"):
        Locks(paths, files=FaultyFiles(at=1, error=28, only="write")).session_run("s").try_acquire()
    assert not locks.session_run("s").try_acquire().was_elsewhere


def test_lock_is_given_back_although_the_owner_cannot_be_cleared(paths: Paths, locks: Locks):
    files = FaultyFiles(at=2, error=28, only="write")
    run = Locks(paths, files=files).session_run("s")
    first = run.try_acquire().generation
    run.release()
    assert locks.session_run("s").try_acquire() == RunGrant(first + 1, was_elsewhere=True)


class Watched(FileSystem):
    """Calls a function before a file is replaced."""

    def __init__(self) -> None:
        self.on_replace: Callable[[], object] = lambda: None

    def replace(self, source: str, target: str) -> None:
        self.on_replace()
        super().replace(source, target)


async def test_a_run_that_begins_while_a_kept_lock_is_released_waits_for_that(paths: Paths):
    """The disk takes records again, and at that moment the user sends the next prompt."""
    files, releases, got = Watched(), list[Callable[[], None]](), list[RunGrant | BusyError]()

    def keep(release: Callable[[], None]) -> bool:
        releases.append(release)
        return True

    def acquire() -> None:
        try:
            got.append(run.try_acquire())
        except BusyError as error:
            got.append(error)

    run = Locks(paths, files=files, keep=keep).session_run("s")
    first = (await run.try_acquire_on_thread()).generation
    await run.release_on_thread()
    thread = threading.Thread(target=acquire)

    def begin() -> None:
        files.on_replace = lambda: None
        thread.start()
        thread.join(0.1)  # it is refused by now, or waits

    files.on_replace = begin
    [release] = releases
    release()
    thread.join()
    assert got == [RunGrant(first + 1, was_elsewhere=False)]


async def leave_while_the_disk_signs(run: RunLock, files: Watched) -> Callable[[], object]:
    """Cancel an acquisition that the disk holds; return what ends that."""
    opens, signs = threading.Event(), threading.Event()

    def hang() -> None:
        signs.set()
        assert opens.wait(PATIENCE_S)

    files.on_replace = hang
    task = asyncio.create_task(run.try_acquire_on_thread())
    assert await asyncio.to_thread(signs.wait, PATIENCE_S)
    files.on_replace = lambda: None
    await cancel(task)
    return opens.set


async def cancel(task: asyncio.Task[RunGrant]) -> None:
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()


async def test_a_run_that_is_canceled_while_the_disk_signs_it_gives_the_lock_back(paths: Paths):
    files = Watched()
    heal = await leave_while_the_disk_signs(Locks(paths, files=files).session_run("s"), files)
    with pytest.raises(BusyError):
        Locks(paths).session_run("s").try_acquire()
    heal()
    await Locks(paths).session_run("s").acquire(round(PATIENCE_S * 1000))


async def test_a_disk_that_hangs_keeps_a_released_lock_but_not_its_holder(paths: Paths):
    files, opens = Watched(), threading.Event()
    run = Locks(paths, files=files).session_run("s")
    async with run.hold() as grant:
        files.on_replace = lambda: opens.wait(PATIENCE_S)
    again = asyncio.create_task(run.try_acquire_on_thread())
    await asyncio.sleep(0.05)
    assert not again.done()
    opens.set()
    assert (await again).generation == grant.generation + 1


def test_process_is_known_by_its_start_time_not_by_its_id_alone():
    me = current_process()
    assert is_alive(me)
    assert is_alive(ProcessIdentity(me.pid, "1", me.host)) == (not me.started)
    assert is_alive(ProcessIdentity(1, "1", "another-host"))
    assert not is_alive(ProcessIdentity(2**22 + 5, "1", me.host))
    assert not is_alive(ProcessIdentity(2**80, "1", me.host))
