import asyncio
import json
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from types import FrameType
from typing import TYPE_CHECKING

import pytest

from opencode_tui.schema.error import StorageError
from opencode_tui.storage.keys import Key
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage
from opencode_tui.storage.writer import INTERVAL_MS, WriteBehind
from tests.support.faults.file_system import FaultyFiles, StalledDisk
from tests.support.world.waiting import PATIENCE_S

if TYPE_CHECKING:
    from _typeshed import TraceFunction

KEY = ("part", "msg_1", "prt_1")


def writes_of(files: FaultyFiles) -> list[float]:
    """The moments at which the record reached its file, in seconds."""
    calls = zip(files.log, files.moments, strict=True)
    return [
        moment for (name, path), moment in calls if name == "replace" and str(path).endswith("/".join(KEY) + ".json")
    ]


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.005)


def holds(storage: Storage, key: Key, data: bytes) -> bool:
    return key in storage.list_sync(()) and storage.read_sync(key) == data


class Growing:
    """A record that grows; `rendered` has the moments at which a write asked for its state, in seconds.

    The store compares the same clock before each of them, so the gap between two is never shorter than its interval, however
    late a busy machine lets either happen.
    """

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.rendered: list[float] = []

    def render(self) -> bytes:
        self.rendered.append(time.monotonic())
        return json.dumps({"text": "".join(self.pieces)}).encode()

    def grow(self, storage: Storage) -> None:
        self.pieces.append("four")
        storage.write_behind(KEY, self.render)


async def test_eight_thousand_deltas_flat_out_write_at_most_once_an_interval(paths: Paths):
    storage = Storage(paths, files=(files := FaultyFiles()))
    part = Growing()
    started = time.monotonic()
    for number in range(8_000):
        part.grow(storage)
        if number % 10 == 0:
            await asyncio.sleep(0)
    await storage.flush()
    assert await storage.read(KEY) == part.render()
    intervals = (time.monotonic() - started) * 1000 / INTERVAL_MS
    assert (
        1 <= len(writes_of(files)) <= intervals + 2
    )  # that of the flush, and one before the first interval has passed
    await storage.close()


async def test_steady_growth_writes_at_most_once_an_interval(paths: Paths):
    storage = Storage(paths, files=(files := FaultyFiles()))
    part = Growing()
    await storage.write(KEY, part.render())
    while len(part.rendered) < 5:
        part.grow(storage)
        await asyncio.sleep(0.005)
    gaps = [later - sooner for sooner, later in pairwise(part.rendered)]
    assert min(gaps) >= INTERVAL_MS / 1000
    await storage.close()
    assert len(writes_of(files)) == len(part.rendered)


async def test_growth_reaches_the_file_within_an_interval_without_a_flush(storage: Storage):
    part = Growing()
    part.grow(storage)
    await eventually(lambda: holds(storage, KEY, part.render()))


async def test_newest_state_is_rendered_when_it_is_written(storage: Storage):
    storage.write_behind(KEY, lambda: b"1")
    storage.write_behind(KEY, lambda: b"2")
    await storage.flush()
    assert await storage.read(KEY) == b"2"


async def test_write_supersedes_pending_growth(storage: Storage):
    storage.write_behind(KEY, lambda: b'"half"')
    await storage.write(KEY, b'"whole"')
    await storage.flush()
    await asyncio.sleep(0.05)
    assert await storage.read(KEY) == b'"whole"'


async def test_update_sees_pending_growth(storage: Storage, locks):
    storage.write_behind(KEY, lambda: b'{"text":"grown"}')
    assert await storage.update(KEY, lambda record: record, locks.store()) == {"text": "grown"}


async def test_growth_waits_an_interval_after_a_write(paths: Paths):
    storage = Storage(paths)
    started = time.monotonic()
    await storage.write(KEY, b"1")
    storage.write_behind(KEY, lambda: b"2")
    await eventually(lambda: holds(storage, KEY, b"2"))
    assert time.monotonic() >= started + INTERVAL_MS / 1000
    await storage.close()


async def test_stalled_disk_gets_one_write_and_then_the_newest_state(paths: Paths):
    storage = Storage(paths, files=(disk := StalledDisk()))
    part = Growing()
    part.grow(storage)
    await eventually(disk.has_begun.is_set)
    for _ in range(60):
        part.grow(storage)
        await asyncio.sleep(0.01)
    begun = disk.begun
    disk.may_end.set()
    await storage.close()
    assert (begun, disk.begun) == (1, 2)
    assert storage.read_sync(KEY) == part.render()


async def test_growth_that_fails_after_a_newer_write_does_not_come_back(paths: Paths):
    storage = Storage(paths, files=(disk := StalledDisk()))
    told: list[Key] = []
    storage.write_behind(KEY, lambda: b'"old"', failed=lambda key, _: told.append(key))
    await eventually(disk.has_begun.is_set)
    disk.fails = True
    newer = asyncio.create_task(storage.remove(KEY))
    await asyncio.sleep(0)
    disk.may_end.set()
    await newer
    disk.fails = False
    await storage.close()
    assert (await storage.list(()), told) == ([], [])


@pytest.mark.parametrize("prefix", [KEY, KEY[:2], KEY[:1]])
async def test_removed_record_does_not_grow_again(storage: Storage, prefix: Key):
    await storage.write(KEY, b"1")
    storage.write_behind(KEY, lambda: b"2")
    await (storage.remove(prefix) if prefix == KEY else storage.remove_tree(prefix))
    await storage.flush()
    assert await storage.list(()) == []


async def test_failed_growth_is_told_kept_and_tried_again(paths: Paths):
    files = FaultyFiles(at=1, error=28, lasting=True, only="write")
    storage = Storage(paths, files=files)
    told: list[tuple[Key, str]] = []
    storage.write_behind(KEY, lambda: b'"kept"', failed=lambda key, error: told.append((key, str(error))))
    with pytest.raises(StorageError, match="the disk is full; free some space"):
        await storage.flush()
    assert {key for key, _ in told} == {KEY}
    files.heal()
    await eventually(lambda: holds(storage, KEY, b'"kept"'))
    await storage.close()


async def test_owner_without_a_listener_is_told_through_the_store(paths: Paths):
    told: list[Key] = []
    files = FaultyFiles(at=1, error=5, only="write")
    storage = Storage(paths, files=files, failed=lambda key, _: told.append(key))
    storage.write_behind(KEY, lambda: b"1")
    await eventually(lambda: told == [KEY])
    await storage.close()
    assert await storage.read(KEY) == b"1"


async def test_render_that_fails_is_told_and_stops_no_other(storage: Storage):
    told: list[str] = []
    storage.write_behind(KEY, lambda: b"%d" % (1 // 0), failed=lambda _, error: told.append(str(error)))
    storage.write_behind(("todo", "s"), lambda: b"[]")
    await eventually(lambda: holds(storage, ("todo", "s"), b"[]"))
    assert told == [
        "cannot render the record part/msg_1/prt_1: ZeroDivisionError('integer division or modulo by zero')"
    ]


async def test_close_writes_what_is_pending(paths: Paths):
    storage = Storage(paths)
    storage.write_behind(KEY, lambda: b"1")
    await storage.close()
    assert await storage.read(KEY) == b"1"


def test_growth_left_by_an_ended_loop_is_written_in_the_next(paths: Paths):
    storage = Storage(paths)

    async def grow() -> None:
        storage.write_behind(KEY, lambda: b"1")

    asyncio.run(grow())
    asyncio.run(storage.close())
    assert storage.read_sync(KEY) == b"1"


def test_growth_that_goes_on_in_another_loop_is_written_by_its_timer(paths: Paths):
    storage = Storage(paths)

    async def grow(*, is_written: bool) -> None:
        storage.write_behind(KEY, lambda: b"1")
        if is_written:
            await eventually(lambda: holds(storage, KEY, b"1"))

    asyncio.run(grow(is_written=False))
    asyncio.run(grow(is_written=True))
    asyncio.run(storage.close())


def test_growth_of_another_loop_is_written_after_a_write_whose_loop_has_ended(paths: Paths):
    storage = Storage(paths, files=(disk := StalledDisk()))

    async def begin() -> None:
        storage.write_behind(KEY, lambda: b"1")
        await eventually(disk.has_begun.is_set)

    async def go_on() -> None:
        storage.write_behind(KEY, lambda: b"2")
        disk.may_end.set()
        await eventually(lambda: holds(storage, KEY, b"2"))
        await storage.close()

    asyncio.run(begin())
    asyncio.run(go_on())
    assert storage.read_sync(KEY) == b"2"


def lines_of(work: Callable[[], None]) -> int:
    """Return how many lines run."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> "TraceFunction":
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def test_a_burst_of_writes_costs_each_the_same():
    behind = WriteBehind(write=lambda key, data: None)

    def record(numbers: range) -> None:
        for number in numbers:
            behind.record_write(("part", "msg_1", str(number)))

    assert 10_000 < lines_of(lambda: record(range(10_000))) <= 20 * 10_000
