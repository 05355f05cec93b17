"""kill -9 while the index of the search is built, 200 times: afterwards it is usable or made anew, and never wrong."""

import os
import random
import sys
import tempfile
from pathlib import Path

from benchmarks.comparison import Figure, report
from benchmarks.rounds import counted
from opencode_tui.storage.paths import Paths
from tests.support.search.kills import KilledBuild

KILLS = 20 if os.environ.get("BENCHMARK_QUICK") else 200


def main() -> int:
    """Kill and compare; return 1 when anything was wrong."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        paths = Paths(home=folder, data=folder / "d", config=folder / "c", state=folder / "s", cache=folder / "cache")
        killed = KilledBuild(paths, sessions=30)
        chance = random.Random(3)
        wrong = [what for _ in counted(KILLS) for what in killed.kill(chance)]
    print(f"{KILLS} kills within {killed.seconds:.2f} s of a build each; wrong: {wrong[:5]}")
    return report([Figure("words with wrong hits after a kill", len(wrong), goal=0, unit="")])


if __name__ == "__main__":
    sys.exit(main())
