"""Edits that models quote inexactly: how many land, how many the edit tool refuses, how many change something else.

The cases are differences between two releases of published packages, each disturbed in one way (`tests.support.source`).
`RELEASES=FOLDER` names a folder with `NAME/old` and `NAME/new` for each package, for example two wheels of one project that
`pip download` brought and `unzip` unpacked, or two tarballs of `npm pack`. Without it the differences are made of our own modules.
"""

import os
import sys
from collections import Counter
from pathlib import Path

from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.support.source.edit_cases import make_cases, outcome_of, own_hunks, read_hunks

ROOT = Path(__file__).parents[2]
CASES, QUICK_CASES = 9_000, 1_000
REFUSED_GOAL = 0.146
"""Half of the share that the tool refused of the first 120 cases: 35."""


def main() -> int:
    """Print a line for each disturbance, then the figures."""
    folder = os.environ.get("RELEASES")
    hunks = list(read_hunks(Path(folder)) if folder else own_hunks(ROOT / "opencode_tui"))
    cases = make_cases(hunks, rounds(CASES, QUICK_CASES))
    outcomes: dict[str, Counter[str]] = {}
    for case in cases:
        outcomes.setdefault(case.kind, Counter())[outcome_of(case)] += 1
    for kind, counted in sorted(outcomes.items()):
        print(f"{kind:36} " + ", ".join(f"{count} {name}" for name, count in sorted(counted.items())))
    total = sum(outcomes.values(), Counter[str]())
    applicable = sum(case.want is not None for case in cases)
    print(f"\n{len(cases)} edits from {len(hunks)} differences; {applicable} of them should be applied")
    return report(
        [
            Figure("edits that change something else than was meant", total["wrong"], 0, ""),
            Figure("refused of those that should be applied", total["refused"] / max(applicable, 1), REFUSED_GOAL, ""),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
