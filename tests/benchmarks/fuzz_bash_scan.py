"""Random scripts run by bash, held against the scanner: what was written outside unreported, and how often it had to give up.

Run: python -m tests.benchmarks.fuzz_bash_scan [SEED] [SCRIPTS]. Goal: reliability.md, S2 (no write outside that was neither
reported nor opaque). BENCHMARK_QUICK=1 runs a tenth.
"""

import itertools
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

from opencode_tui.engine.permission.shell.scan import scan
from tests.benchmarks.comparison import Figure, report
from tests.support.shell.scripts import World, random_script, unreported

SCRIPTS = 3_000


def main(seed: int, count: int) -> int:
    """Run them; 1 when a write was missed."""
    print(f"seed {seed}, {count} scripts")
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder).resolve())
        world.build()
        missed, opaque = compare(world, random.Random(seed), count)
    return report(
        [Figure("scripts with an unreported write", missed, 0, unit=""), Figure("opaque", opaque, count, unit="")]
    )


def compare(world: World, chance: random.Random, count: int) -> tuple[int, int]:
    """Return how many scripts wrote unreported, and how many were opaque; prints the former."""
    numbers = itertools.count()
    missed = opaque = 0
    for _ in range(count):
        script = random_script(chance, world.root, lambda: f"f{next(numbers)}")
        found = scan(script, cwd=str(world.project), home=str(world.root / "home"), project_root=str(world.project))
        made = world.run(script)
        opaque += found.opaque
        if lost := unreported(made, found):
            missed += 1
            print(f"missed {sorted(map(str, lost))} in {script!r}")
        for path in made:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    return missed, opaque


if __name__ == "__main__":
    chosen = [int(argument) for argument in sys.argv[1:]]
    quick = 10 if os.environ.get("BENCHMARK_QUICK") else 1
    sys.exit(main(*(chosen + [1, SCRIPTS // quick][len(chosen) :])))
