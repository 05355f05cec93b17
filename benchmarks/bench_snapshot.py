"""Snapshots of 50,000 files, each figure compared with `git diff-files --quiet` on the same tree in the same run.

The goals are those of the performance document, section 4: first track at most 20 times the floor and half of a plain `git add`,
a scan after a shell 5 times, touched paths and one restored file half, the event loop never kept for more than 20 ms.
"""

import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.comparison import Figure, report
from benchmarks.rounds import rounds
from opencode_tui.engine.snapshot.record.write import FileWrite
from opencode_tui.storage.paths import find_paths
from tests.support.snapshot.worktree import World, patch_of
from tests.support.world.repo import Repo, make_repo

FOLDERS = rounds(1000, 100)
FILES_A_FOLDER = 50
REPEATS = rounds(9, 5)


def make_tree(repo: Repo, chance: random.Random) -> int:
    """Fill a repository with small files of 0.1 to 3.4 KB and commit them; return the number of bytes."""
    total = 0
    for folder in range(FOLDERS):
        place = repo.path / f"area{folder % 20}" / f"part{folder}"
        place.mkdir(parents=True)
        for number in range(FILES_A_FOLDER):
            data = chance.randbytes(chance.randint(50, 1700)).hex().encode()
            (place / f"module_{number}.py").write_bytes(data)
            total += len(data)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "all")
    return total


def floor_ms(repo: Repo) -> float:
    """Return the median of `git diff-files --quiet`, the start of its process included."""
    repo.git("status")
    return statistics.median(
        timed(lambda: subprocess.run(["git", "diff-files", "--quiet"], cwd=repo.path)) for _ in range(REPEATS)
    )


def add_ms(repo: Repo, folder: Path) -> float:
    """Return what a plain `git add` and `write-tree` into a fresh git folder take."""
    environ = {**os.environ, "GIT_DIR": str(folder), "GIT_WORK_TREE": str(repo.path)}
    subprocess.run(["git", "init", "-q"], env=environ, check=True)
    started = time.perf_counter()
    subprocess.run(["git", "add", "."], cwd=repo.path, env=environ, check=True)
    subprocess.run(["git", "write-tree"], cwd=repo.path, env=environ, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - started) * 1000


def timed(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return (time.perf_counter() - started) * 1000


async def timed_async(act: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await act()
    return (time.perf_counter() - started) * 1000


async def lag_during(act: Callable[[], Awaitable[object]]) -> float:
    """Return the 99th percentile of how late the event loop is, in ms, while something happens."""
    late: list[float] = []

    async def watch() -> None:
        while True:
            started = time.perf_counter()
            await asyncio.sleep(0.001)
            late.append((time.perf_counter() - started) * 1000 - 1)

    watcher = asyncio.create_task(watch())
    await act()
    watcher.cancel()
    return sorted(late)[int(len(late) * 0.99)]


async def measure(base: Path) -> list[Figure]:
    repo = make_repo(base / "project")
    total = make_tree(repo, random.Random(7))
    plain = add_ms(repo, base / "plain.git")
    paths = find_paths({"HOME": str(base / "home")})
    world = World(repo.path, paths)
    floor = floor_ms(repo)
    print(
        f"{FOLDERS * FILES_A_FOLDER} files, {total / 1e6:.0f} MB; git diff-files --quiet {floor:.0f} ms, git add {plain:.0f} ms"
    )

    lag = await lag_during(world.snapshots.track)
    again = World(repo.path, find_paths({"HOME": str(base / "home2")}))
    first = await timed_async(again.snapshots.track)
    file = repo.path / "area3" / "part3" / "module_3.py"
    await asyncio.sleep(0.1)
    await world.snapshots.track()

    scans: list[float] = []
    touched: list[float] = []
    restores: list[float] = []
    for number in range(REPEATS):
        before = await world.snapshots.track()
        file.write_text(f"changed {number}\n")
        scans.append(await timed_async(lambda before=before.id: world.snapshots.patch(before)))
        recording, content = world.recording(message=f"msg_{number}"), f"changed again {number}\n".encode()
        write = FileWrite(file, content, file.stat().st_mode & 0o777)
        touched.append(await timed_async(lambda recording=recording, write=write: recording.before_write([write], [])))
        file.write_bytes(content)
        patch = patch_of(recording)
        restores.append(await timed_async(lambda patch=patch: world.snapshots.revert([patch])))
    return [
        Figure("first track", first, 20, floor=floor),
        Figure("first track, floor git add and write-tree", first, 0.5, floor=plain),
        Figure("scan after a shell, one file changed", statistics.median(scans), 5, floor=floor),
        Figure("touched path only", statistics.median(touched), 0.5, floor=floor),
        Figure("revert of one file", statistics.median(restores), 0.5, floor=floor),
        Figure("event loop lag in a first track, p99", lag, 20),
    ]


def main() -> int:
    """Measure and print; return 1 when a goal is missed."""
    with tempfile.TemporaryDirectory() as folder:
        return report(asyncio.run(measure(Path(folder))))


if __name__ == "__main__":
    sys.exit(main())
