"""The goals of storage as ratios to SQLite in the same run: `python -m benchmarks.bench_storage`.

Exit code 1 when a goal is missed. Records are as large as those of a real session: parts of 750 bytes, sessions of 400.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.comparison import Figure, median_ms, report
from benchmarks.storage_floor import KeptLock, SqliteFloor
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.message import MESSAGE, MessageTime, UserMessage
from opencode_tui.schema.session.part import PART, TextPart
from opencode_tui.schema.session.session import SessionInfo, SessionSummary, SessionTime
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.process_lock import ProcessLock
from opencode_tui.storage.session_index import SessionIndex
from opencode_tui.storage.storage import Storage
from tests.storage.load import fork, wait_for

DELTAS = 5_000
TOKENS_A_SECOND = 200
MESSAGES, PARTS = 1_000, 10
SESSIONS = 5_000
FIRST_LIST = 1.5
"""The goal of later lists too; looking at the state of every file alone costs half of what SQLite needs for everything."""

SESSION_ID = "ses_1f6d4ea16001hmnruI3ZcV5RTW"


def measure_growth(paths: Paths, folder: Path) -> list[Figure]:
    """A 20 KB part in 5,000 deltas: ours flushed as at 250 ms, the floor replaced as at 100 ms."""
    floor = SqliteFloor(folder / "growth.db")
    pieces: list[str] = []

    def render() -> str:
        return json.dumps({"id": "prt_1", "type": "text", "text": "".join(pieces)})

    def grow_row() -> None:
        pieces.clear()
        for number in range(DELTAS):
            pieces.append("four")
            if number % (TOKENS_A_SECOND // 10) == 0:
                floor.replace("msg", "prt_1", render())

    async def grow_record() -> None:
        pieces.clear()
        storage = Storage(paths)
        for number in range(DELTAS):
            pieces.append("four")
            storage.write_behind(("part", "msg", "prt_1"), lambda: render().encode())
            if number % (TOKENS_A_SECOND // 4) == 0:
                await storage.flush()
        await storage.close()

    ours, theirs = median_ms(lambda: asyncio.run(grow_record()), grow_row)
    before = time.process_time()
    asyncio.run(grow_record())
    share = (time.process_time() - before) / (DELTAS / TOKENS_A_SECOND) * 100
    a_delta = 1000 / DELTAS
    return [
        Figure("write cost of a delta", ours * a_delta, 4, "us", theirs * a_delta),
        Figure("share of a core at 200 deltas a second", share, 2, "%"),
    ]


def measure_loading(paths: Paths, folder: Path) -> list[Figure]:
    """10,000 parts of one session, whole and the newest 20 messages."""
    floor = SqliteFloor(folder / "parts.db")
    names = _store_messages(paths, floor)
    storage = Storage(paths)

    def load_whole() -> list[object]:
        return [json.loads(data) for name in names for _, data in storage.read_folder(("part", name)).records]

    def load_tail() -> None:
        for key in storage.list_sync(("message", SESSION_ID))[-20:]:
            MESSAGE.validate_json(storage.read_sync(key))
            for _, data in storage.read_folder(("part", key[-1])).records:
                PART.validate_json(data)

    ours, theirs, tail = median_ms(load_whole, floor.load, load_tail)
    assert load_whole() == floor.load()
    return [Figure("whole load of 10,000 parts", ours, 3.5, "ms", theirs), Figure("tail of 20 messages", tail, 10)]


def measure_listing(paths: Paths, folder: Path) -> list[Figure]:
    """5,000 sessions of one project."""
    floor = SqliteFloor(folder / "sessions.db")
    infos = [_session(number, identifier=Identifier()) for number in range(SESSIONS)]
    root = paths.storage / "session" / "p"
    root.mkdir(parents=True)
    for info in infos:
        (root / f"{info.id}.json").write_bytes(info.to_json())
        os.utime(root / f"{info.id}.json", (10**9, 10**9))
    floor.fill(("p", info.id, info.to_line().decode()) for info in infos)
    index = SessionIndex(Storage(paths))
    assert {info.id for info in index.list("p").sessions} == {info.id for info in floor.sessions()}
    again, first, theirs = median_ms(
        lambda: index.list("p"), lambda: SessionIndex(Storage(paths)).list("p"), floor.sessions
    )
    return [
        Figure("list of 5,000 sessions", again, 1.5, "ms", theirs),
        Figure("list of 5,000 sessions, first of a process", first, FIRST_LIST, "ms", theirs),
    ]


def measure_locks(paths: Paths, folder: Path) -> list[Figure]:
    """A free lock, and one that two other processes take 200 us at a time."""
    lock, floor = Locks(paths).session_write("free"), KeptLock(folder / "kept")
    ours, theirs = _median_us(lambda: _lock_and_unlock(lock), floor.lock_and_unlock)
    waits = _contended_waits_ms(paths)
    return [
        Figure("lock and unlock, free", ours, 40, "us", theirs),
        Figure("lock, contended, 99 of 100 within", statistics.quantiles(waits, n=100)[98], 60),
    ]


def _lock_and_unlock(lock: ProcessLock) -> None:
    lock.try_acquire()
    lock.release()


def _median_us(*works: Callable[[], object]) -> list[float]:
    medians: list[float] = []
    for work in works:
        taken: list[int] = []
        for _ in range(3_000):
            started = time.perf_counter_ns()
            work()
            taken.append(time.perf_counter_ns() - started)
        medians.append(statistics.median(taken) / 1000)
    return medians


def _contended_waits_ms(paths: Paths) -> list[float]:
    others = [fork(lambda: _hold_for_a_while(paths, seconds=6)) for _ in range(2)]
    waits = asyncio.run(_wait_often(paths, seconds=5))
    assert [wait_for(other) for other in others] == [0, 0]
    return waits


def _hold_for_a_while(paths: Paths, *, seconds: float) -> None:
    lock, end = Locks(paths).store(), time.monotonic() + seconds
    while time.monotonic() < end:
        with lock:
            time.sleep(0.0002)
        time.sleep(0.0001)


async def _wait_often(paths: Paths, *, seconds: float) -> list[float]:
    lock, end, waits = Locks(paths).store(), time.monotonic() + seconds, list[float]()
    while time.monotonic() < end:
        started = time.perf_counter()
        async with lock:
            waits.append((time.perf_counter() - started) * 1000)
        await asyncio.sleep(0.0005)
    return waits


def _session(number: int, *, identifier: Identifier) -> SessionInfo:
    return SessionInfo(
        id=identifier.descending("ses"),
        slug="shiny-island",
        version="1.1.65",
        project_id="7" * 40,
        directory="/home/someone/projects/something",
        title=f"Session number {number} about something or other",
        time=SessionTime(created=1_795_142_494_440 + number, updated=1_795_142_497_255 + number),
        summary=SessionSummary(additions=3, deletions=2, files=2),
    )


def _store_messages(paths: Paths, floor: SqliteFloor) -> list[str]:
    """Put a session's messages and parts onto the disk and into the floor; return the messages' ids."""
    ids = Identifier()
    names: list[str] = []
    messages = paths.storage / "message" / SESSION_ID
    messages.mkdir(parents=True)
    for _ in range(MESSAGES):
        model = ModelRef(provider_id="p", model_id="m")
        info = UserMessage(
            id=ids.ascending("msg"), session_id=SESSION_ID, time=MessageTime(created=1), agent="build", model=model
        )
        (messages / f"{info.id}.json").write_bytes(info.to_json())
        names.append(info.id)
        folder = paths.storage / "part" / info.id
        folder.mkdir(parents=True)
        parts = [
            TextPart(id=ids.ascending("prt"), session_id=SESSION_ID, message_id=info.id, text="words " * 100)
            for _ in range(PARTS)
        ]
        for part in parts:
            (folder / f"{part.id}.json").write_bytes(part.to_json())
        floor.fill((info.id, part.id, part.to_json().decode()) for part in parts)
    return names


def main() -> int:
    """Measure everything in a folder of its own and return the exit code."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as name:
        for measure in (measure_growth, measure_loading, measure_listing, measure_locks):
            folder = Path(name) / measure.__name__
            folder.mkdir()
            figures += measure(find_paths({"HOME": str(folder / "home")}), folder)
    return report(figures)


if __name__ == "__main__":
    sys.exit(main())
