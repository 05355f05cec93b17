"""Undo of 200, 600 and 3,000 nested folders with a file in each: processor time of the snapshot, the preview, undo and redo.

The longest path has 6,000 characters, more than a system call accepts. Each folder may cost 2 ms in all.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path

from opencode_tui.storage.paths import find_paths
from opencode_tui.storage.safe_folder import Disk, OpenFolders
from tests.benchmarks.comparison import Figure, report
from tests.support.snapshot.worktree import World

LEVELS = (200, 600, 3000)
EACH_MS = 2


def make_folders(root: Path, levels: int) -> None:
    """Make nested folders, each with a file."""
    folder = os.open(root, os.O_RDONLY)
    for number in range(levels):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
        file = os.open("f", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=folder)
        os.write(file, b"%d\n" % number)
        os.close(file)
    os.close(folder)


def remove_folders(root: Path, levels: int) -> None:
    """Remove them, which no program that uses paths can."""
    with OpenFolders(Disk(os.path.realpath(root))) as folders:
        for level in range(levels, 0, -1):
            folders.open("/".join(["d"] * level)).remove("f")
            folders.open("/".join(["d"] * (level - 1))).remove_folder("d")


async def cpu_ms(act: Awaitable[object]) -> float:
    started = time.process_time()
    await act
    return (time.process_time() - started) * 1000


async def measure(base: Path, levels: int) -> list[Figure]:
    world = World(base / "project", find_paths({"HOME": str(base / "home")}))
    world.write("a")
    before = await world.snapshots.track()
    make_folders(world.root, levels)
    started = time.process_time()
    patch = await world.snapshots.patch(before.id)
    times = {"snapshot": (time.process_time() - started) * 1000}
    times["preview"] = await cpu_ms(world.snapshots.preview([patch]))
    started = time.process_time()
    done = await world.snapshots.revert([patch])
    times["undo"] = (time.process_time() - started) * 1000
    assert os.listdir(world.root) == ["a"]
    times["redo"] = await cpu_ms(world.snapshots.unrevert(done))
    remove_folders(world.root, levels)
    return [Figure(f"{name} of {levels} nested folders", spent, levels * EACH_MS) for name, spent in times.items()]


def main() -> int:
    """Measure and print; return 1 when a goal is missed."""
    figures: list[Figure] = []
    for levels in LEVELS:
        with tempfile.TemporaryDirectory() as folder:
            figures += asyncio.run(measure(Path(folder), levels))
    return report(figures)


if __name__ == "__main__":
    sys.exit(main())
