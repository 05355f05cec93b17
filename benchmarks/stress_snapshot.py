"""Undo under stress: thousands of random histories, and `kill -9` at random moments of real track and revert commands.

Nothing that the user made may be lost, no file may be half written, at most one temporary file may be left, and the next
command must find its way. `BENCHMARK_SEED` repeats a run.
"""

import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.comparison import Figure, report
from benchmarks.histories import run_histories
from benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.support.snapshot.machine import SnapshotMachine
from tests.support.snapshot.worktree import facts_of
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.repo import make_repo

HISTORIES = rounds(5000, 60)
KILLS = rounds(300, 10)
STEPS = 20
FILES = 60


def make_line(base: Path) -> CommandLine:
    """Return the command in a repository with some files."""
    home = base / "home"
    home.mkdir()
    repo = make_repo(base / "project")
    repo.commit(**{f"d{number % 7}/f{number}": f"old {number}\n" * 50 for number in range(FILES)})
    return CommandLine(repo.path, isolated_environment(home))


def work(folder: Path) -> None:
    """Do what an agent might: change a third of the files, delete a third, make new ones."""
    for number in range(FILES):
        file = folder / f"d{number % 7}" / f"f{number}"
        if number % 3 == 0:
            file.write_text(f"new {number}\n" * 60)
        elif number % 3 == 1:
            file.unlink()
    (folder / "made").mkdir()
    for number in range(FILES // 3):
        (folder / "made" / f"n{number}").write_text("made\n")


def kill_at_random(line: CommandLine, chance: random.Random) -> list[str]:
    """Return what was wrong after killing track and revert at random moments."""
    before = json.loads(line.run("debug", "snapshot", "track").stdout)["snapshot"]
    old = facts_of(line.folder)
    work(line.folder)
    patch = json.loads(line.run("debug", "snapshot", "patch", before).stdout)
    new = facts_of(line.folder)
    given = json.dumps([patch])
    redo = json.dumps([{"hash": patch["after"], "after": patch["hash"], "files": patch["files"]}])
    started = time.monotonic()
    line.run("debug", "snapshot", "revert", stdin=given)
    length = time.monotonic() - started
    complaints = [] if facts_of(line.folder) == old else ["a whole revert did not bring everything back"]
    line.run("debug", "snapshot", "revert", stdin=redo)
    for number in range(KILLS):
        verb = ("revert", "track")[number % 4 == 0]
        with tempfile.TemporaryFile() as stdin:
            stdin.write(given.encode())
            stdin.seek(0)
            process = line.start("debug", "snapshot", verb, stdin=stdin)
            time.sleep(chance.uniform(0.3, 1.05) * length)
            kill_session(process)
        complaints += check(line, f"kill {number} of {verb}", old, new)
        line.run("debug", "snapshot", "revert", stdin=redo)
    return complaints


def check(line: CommandLine, name: str, old: object, new: object) -> list[str]:
    """Return what is wrong after a kill, before and after the next command."""
    left = [file for _, _, files in os.walk(line.folder) for file in files if file.endswith(".tmp")]
    found = [f"{name}: temporary files {left}"] if len(left) > 1 else []
    verdict = line.run("debug", "snapshot", "verify")
    if verdict.code:
        found.append(f"{name}: {verdict.stdout}{verdict.stderr}")
    if facts_of(line.folder) not in (old, new):
        found.append(f"{name}: the files are neither as before nor as after")
    return found


def main() -> int:
    """Run both and print; return 1 when anything was lost."""
    seed = int(os.environ.get("BENCHMARK_SEED") or random.randrange(1 << 30))
    print(f"{HISTORIES} histories, {KILLS} kills, seed {seed}", flush=True)
    run_histories(SnapshotMachine, count=HISTORIES, steps=STEPS, first_seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        complaints = kill_at_random(make_line(Path(folder)), random.Random(seed))
    print("\n".join(complaints))
    return report([Figure("complaints", len(complaints), 0, unit="")])


if __name__ == "__main__":
    sys.exit(main())
