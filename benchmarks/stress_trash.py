"""kill -9 between deleting and restoring a session: it is in the store or in the trash, whole, after 1,000 kills.

The random kills strike a process that deletes and restores without pause through the engine, as the command does.
"""

import asyncio
import logging
import os
import random
import signal
import sys
import time
from itertools import product
from pathlib import Path

from benchmarks.comparison import Figure, report
from benchmarks.rounds import counted, folder_in_memory, report_progress, rounds
from opencode_tui.client.local import open_client
from opencode_tui.schema.error import OpencodeError
from opencode_tui.storage.paths import Paths, find_paths
from tests.conftest import isolated_environment
from tests.storage.load import fork, wait_for
from tests.storage.trash_scenarios import FAULTS, MOVES, Scene, open_trash
from tests.support.sessions.families import Family, files_in, misplaced, write_family

KILLS = rounds(1_000, 40)
QUICK_POINTS = 6
"""File calls of a move, evenly spread, at which a quick run tries it; in full it is tried at each."""

LONGEST_S = 0.08
"""Seconds from the first move of the process to its kill, at most."""


def every_call(paths: Paths, move: str, *, two_disks: bool, part: int) -> list[Figure]:
    """The process dies at every file call of a move, and every call fails, once and from then on; `part` of 5, for the progress."""
    scene = Scene(paths, move, two_disks=two_disks)
    calls = scene.count_calls()
    points = range(1, calls + 1, rounds(1, max(1, calls // QUICK_POINTS)))
    wrong: list[tuple[int, str]] = []
    failed: list[tuple[int, str, str]] = []
    for done, at in enumerate(points):
        report_progress(part * len(points) + done, 5 * len(points))
        wrong += [(at, words)] if (words := scene.complaint_after_death(at=at)) else []
        failed += [
            (at, fault, words)
            for fault in FAULTS
            for lasting in (False, True)
            if (words := scene.complaint_after_fault(at=at, fault=fault, lasting=lasting))
        ]
    for problem in (*wrong[:10], *failed[:10]):
        print(problem)
    name = f"{move}{', copied' if two_disks else ''}"
    return [
        Figure(f"{name}: killed at {len(points)} of {calls} calls: wrong", len(wrong), 0, ""),
        Figure(f"{name}: {len(points)} of {calls} calls failing in {2 * len(FAULTS)} ways: wrong", len(failed), 0, ""),
    ]


async def _moves(environ: dict[str, str], folder: Path, session_id: str, ready: int) -> None:
    async with open_client(environ, folder) as client:
        os.write(ready, b".")
        while True:
            for move in (client.sessions.remove, client.trash.restore):
                try:
                    await move(session_id)
                except OpencodeError:
                    continue


def random_kills(home: Path) -> list[Figure]:
    """Kill a process that deletes and restores, again and again on the same session."""
    folder = home / "project"
    folder.mkdir(parents=True)
    environ = isolated_environment(home)
    paths = find_paths(environ)
    family = write_family(paths, parents=(0, 0, 1), messages=6, directory=str(folder))
    asyncio.run(_start(environ, folder))
    others = {name: data for name, data in files_in(paths.storage).items() if name not in family.files}
    chance, wrong, unfinished, in_trash = random.Random(time.time_ns()), 0, 0, 0
    for number in counted(KILLS, after=4 * KILLS):
        _kill(environ, folder, family, chance)
        unfinished += open_trash(paths).is_unfinished()
        asyncio.run(_start(environ, folder))
        in_trash += bool(open_trash(paths).entries())
        if problem := misplaced(paths, family, others):
            wrong += 1
            print(f"kill {number}: {problem}")
    print(f"{KILLS} kills: {unfinished} in the middle of a move; {in_trash} ended in the trash")
    return [Figure(f"{KILLS} random kills: wrong", wrong, 0, "")]


async def _start(environ: dict[str, str], folder: Path) -> None:
    async with open_client(environ, folder):
        pass


def _kill(environ: dict[str, str], folder: Path, family: Family, chance: random.Random) -> None:
    reader, writer = os.pipe()
    child = fork(lambda: asyncio.run(_moves(environ, folder, family.infos[0].id, writer)))
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)
    time.sleep(chance.uniform(0, LONGEST_S))
    os.kill(child, signal.SIGKILL)
    wait_for(child)


def main() -> int:
    """Run everything, each in a folder of its own, and return the exit code."""
    logging.getLogger("opencode_tui").setLevel(logging.CRITICAL)  # each failing call is a line, thousands in all
    figures: list[Figure] = []
    for part, (move, two_disks) in enumerate(product(MOVES, (False, True))):
        with folder_in_memory() as name:
            figures += every_call(find_paths({"HOME": name}), move, two_disks=two_disks, part=part)
    with folder_in_memory() as name:
        figures += random_kills(Path(name))
    return report(figures)


if __name__ == "__main__":
    sys.exit(main())
