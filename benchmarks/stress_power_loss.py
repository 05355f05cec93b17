"""A power cut at any moment of random work on a store: what was synced before is there and whole, in 50,000 possible states.

The work and its states are those of `tests/support/faults/power_cuts.py`. `BENCHMARK_SEED` repeats a run.

A record that is replaced after it was synced has its old or its new bytes, also after a further sync, unless it is written with
`durable`; how often it had the old ones is printed, without a goal.
"""

import os
import random
import sys
from pathlib import Path

from benchmarks.comparison import Figure, report
from benchmarks.rounds import folder_in_memory, report_progress, rounds
from tests.support.faults.power_cuts import cut_power

WORKS = 10
STATES = rounds(50_000, 2_000)


def main() -> int:
    """Cut the power of each work so often; return 1 when anything that was promised is gone."""
    seed = int(os.environ.get("BENCHMARK_SEED") or random.randrange(1 << 30))
    print(f"{STATES} states of {WORKS} works, seed {seed}", flush=True)
    wrong, old = list[str](), 0
    for work in range(WORKS):
        with folder_in_memory() as name:
            complaints, times = cut_power(Path(name), STATES // WORKS, random.Random(seed + work))
        wrong, old = wrong + complaints, old + times
        report_progress(work + 1, WORKS)
        print(f"work {work + 1} of {WORKS}: {len(complaints)} wrong", flush=True)
    print(*wrong[:10], sep="\n")
    print(f"{old} states have a replaced record as it was before the last sync")
    return report([Figure(f"{STATES} states after a power cut: promises broken", len(wrong), 0, "")])


if __name__ == "__main__":
    sys.exit(main())
