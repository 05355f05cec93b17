"""Forks of long sessions, compared with one file write and a plain rewrite loop: `python -m tests.benchmarks fork`.

Usable means: the fork's record is on the disk and its newest messages can be read; copying comes after that. The rewrite loop reads
each record, gives it other ids, and replaces a file as every write of ours does, one sync of the files and folders at the end.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path

from opencode_tui.client.local import LocalClient, open_client
from opencode_tui.engine.session.records.stored_history import ForkMap
from opencode_tui.schema.api.request import ForkSession
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.storage import Storage
from tests.benchmarks.comparison import Figure, report
from tests.conftest import isolated_environment
from tests.support.sessions.records import write_session

SHORT, LONG = 500, 2_500
"""Turns of two messages and four parts each."""

ROUNDS = 30
TICK_S = 0.002
PAUSE_S = 0.02
"""Both sides of a comparison begin with a disk at rest."""


async def measure_usable(environ: dict[str, str], folder: Path, paths: Paths, turns: int) -> list[Figure]:
    """The verb itself, in turns with the writing of a new session's record; each fork is deleted before the next one."""
    session_id = write_session(paths, turns=turns, directory=str(folder))
    forks: list[float] = []
    writes: list[float] = []
    async with open_client(environ, folder) as client:
        info = await client.sessions.get(session_id)
        storage = Storage(paths)
        for number in range(ROUNDS):
            await asyncio.sleep(PAUSE_S)
            writes.append(await _ms(storage.write(("session", "bench", f"ses{number}"), info.to_json())))
            await asyncio.sleep(PAUSE_S)
            began = time.perf_counter()
            fork = await client.sessions.fork(session_id, ForkSession())
            forks.append((time.perf_counter() - began) * 1000)
            await client.sessions.remove(fork.id)
        await storage.close()
    name = f"fork of {turns * 2:,} messages"
    return [
        Figure(f"{name}, until it is usable", statistics.median(forks[1:]), 10),
        Figure(f"{name}, floor one file write", statistics.median(forks[1:]), 1.5, "ms", statistics.median(writes[1:])),
    ]


async def measure_copy(environ: dict[str, str], folder: Path, paths: Paths) -> list[Figure]:
    """10,000 parts copied in the background, and how long the loop was held up meanwhile."""
    session_id = write_session(paths, turns=LONG, directory=str(folder))
    async with open_client(environ, folder) as client:
        ticker = asyncio.create_task(_tick())
        fork = await client.sessions.fork(session_id, ForkSession())
        tail = await _ms(client.messages.list(fork.id, 20))
        whole = await _ms(client.sessions.wait_copied(fork.id))
        ticker.cancel()
        lags = (await asyncio.gather(ticker, return_exceptions=True))[0]
        await _check(client, session_id, fork.id)
    floor = _rewrite(paths, session_id)
    assert isinstance(lags, list)
    return [
        Figure("first 20 messages of an uncopied fork of 5,000", tail, 150),
        Figure("copy of 10,000 parts, 5,000 messages", whole + tail, 1.5, "ms", floor),
        Figure("loop lag p99 while it is copied", sorted(lags)[int(len(lags) * 0.99)], 20),
    ]


async def _check(client: LocalClient, source: str, fork: str) -> None:
    source_count, fork_count = [len(await client.messages.list(one)) for one in (source, fork)]
    assert source_count == fork_count == LONG * 2


async def _tick() -> list[float]:
    lags: list[float] = []
    try:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(TICK_S)
            lags.append((time.perf_counter() - began - TICK_S) * 1000)
    except asyncio.CancelledError:
        return lags


def _rewrite(paths: Paths, session_id: str) -> float:
    began = time.perf_counter()
    atomic, mapping = AtomicWriter(FileSystem()), ForkMap("ses_floor")
    for message in sorted((paths.storage / "message" / session_id).iterdir()):
        target = mapping.id(message.stem)
        _put(atomic, paths.storage / "floor" / "message" / f"{target}.json", message)
        for part in sorted((paths.storage / "part" / message.stem).iterdir()):
            _put(atomic, paths.storage / "floor" / "part" / target / f"{mapping.id(part.stem)}.json", part)
    atomic.sync()
    return (time.perf_counter() - began) * 1000


def _put(atomic: AtomicWriter, target: Path, source: Path) -> None:
    record = json.loads(source.read_bytes())
    record["id"], record["sessionID"] = target.stem, "ses_floor"
    atomic.write(str(target), json.dumps(record, indent=2).encode())


async def _ms(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return (time.perf_counter() - began) * 1000


async def measure(home: Path) -> list[Figure]:
    """Return all figures."""
    environ = isolated_environment(home)
    paths, folder = find_paths(environ), home / "project"
    folder.mkdir()
    figures = [figure for turns in (SHORT, LONG) for figure in await measure_usable(environ, folder, paths, turns)]
    return [*figures, *await measure_copy(environ, folder, paths)]


def main() -> int:
    """Print the table."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCHMARK_FOLDER")) as folder:
        return report(asyncio.run(measure(Path(folder))))


if __name__ == "__main__":
    sys.exit(main())
