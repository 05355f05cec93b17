"""Edits that models quote inexactly: how many land, how many the edit tool refuses, how many change something else.

The cases are differences between two releases of published packages, each disturbed in one way (`tests.support.source`).
`RELEASES=FOLDER` names the folder into which the packages are fetched from npm, PyPI and Debian; what is there is not fetched
again. Without it the differences are made of our own modules and of a small sample in other languages.
"""

import os
import sys
from collections import Counter
from pathlib import Path

from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.support.source.edit_cases import Hunk, make_cases, outcome_of, own_hunks, read_hunks, sample_hunks
from tests.support.source.releases import fetch

ROOT = Path(__file__).parents[2]
CASES, QUICK_CASES = 9_000, 1_000
REFUSED_GOAL = 0.146
"""Half of the share that the tool refused of the first 120 cases: 35."""


def find_hunks() -> list[Hunk]:
    """Return the differences of the fetched packages where a folder for them is named, else those that need no network."""
    folder = os.environ.get("RELEASES")
    if folder is None:
        return [*own_hunks(ROOT / "opencode_tui"), *sample_hunks()]
    Path(folder).mkdir(parents=True, exist_ok=True)
    return [hunk for package in fetch(Path(folder).resolve()) for hunk in read_hunks(package)]


def main() -> int:
    """Print a line for each disturbance and for each language, then the figures."""
    hunks = find_hunks()
    cases = make_cases(hunks, rounds(CASES, QUICK_CASES))
    kinds: dict[str, Counter[str]] = {}
    languages: dict[str, Counter[str]] = {}
    for case in cases:
        outcome = outcome_of(case)
        kinds.setdefault(case.kind, Counter())[outcome] += 1
        languages.setdefault(Path(case.name).suffix, Counter())[outcome] += 1
    for group in (kinds, languages):
        for name, counted in sorted(group.items()):
            print(f"{name:36} " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(counted.items())))
        print()
    total = sum(kinds.values(), Counter[str]())
    applicable = sum(case.want is not None for case in cases)
    print(f"{len(cases)} edits from {len(hunks)} differences; {applicable} of them should be applied")
    return report(
        [
            Figure("edits that change something else than was meant", total["wrong"], 0, ""),
            Figure("refused of those that should be applied", total["refused"] / max(applicable, 1), REFUSED_GOAL, ""),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
