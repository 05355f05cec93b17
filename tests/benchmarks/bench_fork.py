"""Forks of long sessions, all records copied and on the disk: `python -m tests.benchmarks fork`.

A copy is compared with a plain loop that reads each record, gives it other ids and writes it, one sync at the end.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from opencode_tui.client.local import open_client
from opencode_tui.engine.session.records.stored_history import ForkMap
from opencode_tui.schema.api.request import ForkSession
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.paths import Paths, find_paths
from tests.benchmarks.comparison import Figure, report
from tests.conftest import isolated_environment
from tests.support.sessions.records import write_session

SIZES = {1_000: (500, 5), 20_000: (5_000, 1)}
"""The most milliseconds of a fork with so many messages, of two parts each; and how often it is made."""

TICK_S = 0.002


async def measure_fork(environ: dict[str, str], folder: Path, paths: Paths, messages: int) -> list[Figure]:
    """Return the time of a fork, and how long the loop was held up while it was copied."""
    limit, rounds = SIZES[messages]
    session_id = write_session(paths, turns=messages // 2, directory=str(folder))
    os.sync()
    forks: list[float] = []
    async with open_client(environ, folder) as client:
        ticker = asyncio.create_task(_tick())
        for _ in range(rounds):
            began = time.perf_counter()
            fork = await client.sessions.fork(session_id, ForkSession())
            forks.append((time.perf_counter() - began) * 1000)
            assert len(await client.messages.list(fork.id)) == messages
            await client.sessions.remove(fork.id)
        ticker.cancel()
        lags = (await asyncio.gather(ticker, return_exceptions=True))[0]
    assert isinstance(lags, list)
    floor = _rewrite(paths, session_id)
    return [
        Figure(f"fork of {messages:,} messages", statistics.median(forks), limit),
        Figure(f"fork of {messages:,} messages, floor a plain loop", statistics.median(forks), 2, "ms", floor),
        Figure(f"loop lag p99 while {messages:,} messages are copied", sorted(lags)[int(len(lags) * 0.99)], 40),
    ]


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
    mapping, floor = ForkMap("ses_floor"), paths.storage / "floor"
    for message in sorted((paths.storage / "message" / session_id).iterdir()):
        target = mapping.id(message.stem)
        _put(floor / "message" / f"{target}.json", message)
        for part in sorted((paths.storage / "part" / message.stem).iterdir()):
            _put(floor / "part" / target / f"{mapping.id(part.stem)}.json", part)
    FileSystem().sync_all(str(floor))
    return (time.perf_counter() - began) * 1000


def _put(target: Path, source: Path) -> None:
    record = json.loads(source.read_bytes())
    record["id"], record["sessionID"] = target.stem, "ses_floor"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(record, indent=2))


async def measure(home: Path) -> list[Figure]:
    """Return all figures."""
    figures: list[Figure] = []
    for messages in SIZES:
        environ = isolated_environment(home / str(messages))
        paths, folder = find_paths(environ), home / str(messages) / "project"
        folder.mkdir(parents=True)
        figures += await measure_fork(environ, folder, paths, messages)
    return figures


def main() -> int:
    """Print the table."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCHMARK_FOLDER")) as folder:
        return report(asyncio.run(measure(Path(folder))))


if __name__ == "__main__":
    sys.exit(main())
