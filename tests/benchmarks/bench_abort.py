"""Aborts at 200 random moments of a turn with stubborn tools: idle within 300 ms, no process left, the next prompt works."""

import asyncio
import random
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.support.faults.abort import Ended, abort_after, open_aborting

LATEST_S = 1.2
GOAL_MS = 300


async def abort_all(folder: Path, count: int) -> list[Ended]:
    """Return how each turn ended."""
    (folder / "home").mkdir()
    (folder / "project").mkdir()
    async with open_aborting(isolated_environment(folder / "home"), folder / "project") as client:
        return [await abort_after(client, random.uniform(0, LATEST_S)) for _ in range(count)]


def main() -> int:
    """Print the slowest and return the exit code."""
    with tempfile.TemporaryDirectory() as name:
        ended = asyncio.run(abort_all(Path(name), rounds(200, 20)))
    problems = [problem for end in ended for problem in end.problems]
    for problem in problems[:10]:
        print(problem)
    times = sorted(end.milliseconds for end in ended)
    figures = [
        Figure(f"slowest of {len(times)}", times[-1], GOAL_MS),
        Figure("median", times[len(times) // 2], GOAL_MS),
        Figure("wrong ends", len(problems), 0, ""),
    ]
    return report(figures)


if __name__ == "__main__":
    sys.exit(main())
