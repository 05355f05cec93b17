"""Undo of sessions under stress: thousands of random histories, and `kill -9` at random moments of undo and redo.

Nothing that the user made may be lost, and the record of a session and the files of its project must agree after the next start.
`BENCHMARK_SEED` repeats a run.
"""

import os
import random
import sys
import tempfile
from pathlib import Path

from benchmarks.comparison import Figure, report
from benchmarks.histories import run_histories
from benchmarks.rounds import counted, rounds
from tests.support.provider.model_server import ModelServer
from tests.support.undo.kills import make_undone
from tests.support.undo.machine import UndoMachine

HISTORIES = rounds(5000, 60)
KILLS = rounds(300, 10)
STEPS = 15


def run_kills(chance: random.Random) -> list[str]:
    """Return what was wrong after a kill."""
    with tempfile.TemporaryDirectory() as folder, ModelServer() as server:
        undone = make_undone(Path(folder), server.config())
        return [what for _ in counted(KILLS, of=KILLS + HISTORIES) for what in undone.kill(chance)]


def main() -> int:
    """Run both and print; return 1 when anything was wrong."""
    seed = int(os.environ.get("BENCHMARK_SEED") or random.randrange(1 << 30))
    print(f"{HISTORIES} histories, {KILLS} kills, seed {seed}", flush=True)
    complaints = run_kills(random.Random(seed))
    print("\n".join(complaints))
    run_histories(UndoMachine, count=HISTORIES, steps=STEPS, first_seed=seed, after=KILLS)
    return report([Figure("complaints", len(complaints), 0, unit="")])


if __name__ == "__main__":
    sys.exit(main())
