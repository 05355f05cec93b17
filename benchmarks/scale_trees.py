"""A tree of a chosen size for `bench_scale`: its first snapshot and later steps beside git, in processor time of the same run."""

import asyncio
import math
import os
import random
import resource
import subprocess
import time
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path

from benchmarks.comparison import Figure
from opencode_tui.engine.project.git import SafeGit
from opencode_tui.storage.paths import find_paths
from tests.support.snapshot.worktree import World
from tests.support.world.repo import Repo, make_repo

_A_FOLDER = 50
_IGNORED = 500
_STEPS = 5
_YOUNG_S = 0.1
"""Seconds after which no file counts as changed just now."""


def make_tree(repo: Repo, files: int) -> None:
    """Fill a repository with so many small files, and with ignored ones that are kept for undo; nothing is committed."""
    chance = random.Random(7)
    for number in range(files // _A_FOLDER):
        folder = repo.path / f"area{number % 20}" / f"part{number}"
        folder.mkdir(parents=True)
        for name in range(_A_FOLDER):
            (folder / f"module_{name}.py").write_bytes(chance.randbytes(chance.randint(50, 1700)).hex().encode())
    (repo.path / ".gitignore").write_text("/data/\n")
    for number in range(_IGNORED):
        folder = repo.path / "data" / str(number % 20)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.db").write_bytes(b"x" * 2_000)


def measure_tree(base: Path, files: int) -> list[Figure]:
    """Return the figures of a tree of so many files."""
    repo = make_repo(base / "tree")
    make_tree(repo, files)
    environ = {**os.environ, "GIT_DIR": str(base / "plain.git"), "GIT_WORK_TREE": str(repo.path)}
    _git(["init", "-q"], repo.path, environ)
    added = _git(["add", "-A"], repo.path, environ)
    repo.git("add", "-A")
    repo.git("commit", "-qm", "all")
    time.sleep(_YOUNG_S)
    git = SafeGit(
        repo.path, environ=os.environ
    ).run_strictly  # as an engine has it: git compares the files of a large tree
    world = World(repo.path, find_paths({"HOME": str(base / "tree-home")}), git=git)
    first, steps, states = asyncio.run(_measure(repo, world))
    name = f"{files:,} files"
    return [
        Figure(f"{name}: first snapshot, processor, over git add -A", first, 1.2, "s", floor=added),
        Figure(f"{name}: step of a command, processor, over git status", steps, 2, "s", floor=states),
        Figure(f"{name}: git status, processor", states, math.inf, "s"),
    ]


async def _measure(repo: Repo, world: World) -> tuple[float, float, float]:
    """Return the processor seconds of the first snapshot, and of the best step and the best `git status`, done in turns."""
    first = await _spent(world.snapshots.track())
    await world.snapshots.track()
    steps: list[float] = []
    states: list[float] = []
    for number in range(_STEPS):
        recording = world.recording(message=f"msg_{number}")
        before = await _spent(recording.begin_command())
        (repo.path / "area0" / "made.txt").write_text(f"{number}\n")
        steps.append(before + await _spent(recording.end_command()))
        states.append(_git(["status", "--porcelain"], repo.path, os.environ))
    return first, min(steps), min(states)


async def _spent(act: Awaitable[object]) -> float:
    """Return the seconds of the processor in this process and in the ones that it started."""
    begin = time.process_time() + _of_children()
    await act
    return time.process_time() + _of_children() - begin


def _git(words: Sequence[str], folder: Path, environ: Mapping[str, str]) -> float:
    begin = _of_children()
    subprocess.run(["git", *words], cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL)
    return _of_children() - begin


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
