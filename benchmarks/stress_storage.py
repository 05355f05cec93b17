"""What the default tests sample, in full: `python -m benchmarks.stress_storage [PART…]`; minutes.

16 processes with 500 operations each · every file call of three scenarios failing in each way, once and from then on · 200 kills of
a writer · a kill at every file call of the migrations · a million reads during writes. Exit code 1 when anything was lost, torn
or late.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.comparison import Figure, report
from benchmarks.rounds import rounds
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.storage import Storage
from tests.storage.fault_scenarios import FAULTS, SCENARIOS, complaint, count_calls
from tests.storage.legacy_store import expected_store, make_legacy_store, make_project, migrate, read_store
from tests.storage.load import BODY, fork, kill_while_writing, run_processes, wait_for
from tests.support.faults.file_system import DEATH, FaultyFiles

KILLS = rounds(200, 20)
READS = rounds(1_000_000, 50_000)
PROCESSES, OPERATIONS = rounds(16, 8), rounds(500, 50)


def many_processes(paths: Paths) -> list[Figure]:
    """Processes with mixed operations on one store."""
    outcome = run_processes(paths, processes=PROCESSES, operations=OPERATIONS)
    name = f"{PROCESSES} x {OPERATIONS} operations"
    return [
        Figure(f"{name}: lost updates", outcome["lost"], 0, ""),
        Figure(f"{name}: failed processes", outcome["failed"], 0, ""),
        Figure(f"{name}: longest wait", outcome["longest_s"], 2, "s"),
    ]


def every_fault(paths: Paths) -> list[Figure]:
    """Every file call of every scenario failing, once and from then on."""
    faults, complaints = 0, list[str]()
    for scenario in SCENARIOS:
        for at in range(1, count_calls(paths, scenario) + 1):
            for fault in FAULTS:
                for lasting in (False, True):
                    faults += 1
                    problem = complaint(paths, scenario, at=at, fault=fault, lasting=lasting)
                    if problem:
                        complaints.append(f"{scenario}, call {at}, {fault}: {problem}")
    print(*complaints, sep="\n")
    return [Figure(f"{faults} faults: wrong outcomes", len(complaints), 0, "")]


def torn_reads(paths: Paths) -> list[Figure]:
    """Reads while another process replaces the record all the time."""
    key = ("part", "m", "p")
    asyncio.run(_replace_for(paths, key, seconds=0))
    writer = fork(lambda: asyncio.run(_replace_for(paths, key, seconds=600)))
    reader = Storage(paths)
    torn = 0
    try:
        for _ in range(READS):
            data = reader.read_sync(key)
            torn += not (data.startswith(b'{"body": "x') and data.endswith(b'x"}') and len(data) == len(BODY) + 12)
    finally:
        os.kill(writer, 9)
        wait_for(writer)
    return [Figure(f"{READS} reads during writes: torn", torn, 0, "")]


async def _replace_for(paths: Paths, key: tuple[str, ...], *, seconds: float) -> None:
    storage, end = Storage(paths), time.monotonic() + seconds
    await storage.write(key, json.dumps({"body": BODY}).encode())
    while time.monotonic() < end:
        await storage.write(key, json.dumps({"body": BODY}).encode())


def many_kills(paths: Paths) -> list[Figure]:
    """A writer killed at a random moment, again and again on the same store."""
    rng = random.Random(1)
    problems = [problem for _ in range(KILLS) if (problem := kill_while_writing(paths, after_s=rng.uniform(0, 0.1)))]
    print(*problems, sep="\n")
    return [Figure(f"{KILLS} kills while writing: lost or torn", len(problems), 0, "")]


def killed_migrations(paths: Paths) -> list[Figure]:
    """The migrations killed at every file call, and run again."""
    repo = make_project(paths.home / "proj")
    make_legacy_store(paths, repo)
    files = FaultyFiles()
    migrate(paths, files)
    wrong = 0
    for at in range(1, files.calls + 1):
        make_legacy_store(paths, repo)
        dying = FaultyFiles(at=at, error=DEATH)
        wait_for(fork(lambda dying=dying: migrate(paths, dying)))
        wrong += migrate(paths) != [] or read_store(paths) != expected_store(repo)
    return [Figure(f"migrations killed at {files.calls} calls: wrong ends", wrong, 0, "")]


PARTS: dict[str, Callable[[Paths], list[Figure]]] = {
    "processes": many_processes,
    "faults": every_fault,
    "kills": many_kills,
    "migrations": killed_migrations,
    "reads": torn_reads,
}


def main() -> int:
    """Run the parts that are named, or all, each in a folder of its own, and return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS])
    figures: list[Figure] = []
    for work in [PARTS[name] for name in parser.parse_args().parts or PARTS]:
        with tempfile.TemporaryDirectory() as name:
            figures += work(find_paths({"HOME": str(Path(name))}))
    return report(figures)


if __name__ == "__main__":
    sys.exit(main())
