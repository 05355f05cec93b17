"""A hundred random keys while a turn streams and a question appears: none lost, none reordered, none answers the question.

Each round is a turn of one session; in some, another terminal answers the question while keys are typed. As many rounds open pages,
lists and panels by bursts of keys that come before these are shown.
"""

import asyncio
import random
import sys
import tempfile
from pathlib import Path

from benchmarks.comparison import Figure, report
from benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.support.provider.model_script import Answer
from tests.support.terminal.random_keys import KEYS, stress
from tests.support.terminal.random_pages import PageStress
from tests.support.terminal.screen import screen

ROUNDS = rounds(300, 10)
PER_SCREEN = 10
"""Rounds over pages on one screen."""

PER_SESSION = 10
"""Rounds in one session: its conversation stays short enough for many rounds."""


async def session_faults(seed: int, count: int) -> list[str]:
    """Return what went wrong in some rounds of a new session."""
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder) / "home", Path(folder) / "project"
        home.mkdir()
        project.mkdir()
        async with stress(isolated_environment(home), project, seed) as keys:
            return [fault for number in range(count) for fault in await keys.round(number)]


async def page_faults(seed: int, count: int) -> list[str]:
    """Return what went wrong in some rounds over pages, lists and panels."""
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder) / "home", Path(folder) / "project"
        home.mkdir()
        project.mkdir()
        async with screen(isolated_environment(home), project, Answer(text="Well.")) as page:
            await page.send("begin")
            await page.sees("✓ Done")
            keys = PageStress(page, project, random.Random(seed))
            return [fault for number in range(count) for fault in await keys.round(number)]


def main() -> int:
    """Type and print; return 1 when a key went wrong."""
    faults: list[str] = []
    for seed in range(ROUNDS // PER_SESSION):
        found = asyncio.run(session_faults(seed, PER_SESSION))
        print(f"rounds {seed * PER_SESSION} to {(seed + 1) * PER_SESSION - 1}: {len(found)} faults", flush=True)
        for fault in found:
            print(f"  {fault}", flush=True)
        faults += found
    elsewhere: list[str] = []
    for seed in range(ROUNDS // PER_SCREEN):
        found = asyncio.run(page_faults(seed, PER_SCREEN))
        print(f"pages, rounds {seed * PER_SCREEN} to {(seed + 1) * PER_SCREEN - 1}: {len(found)} faults", flush=True)
        for fault in found:
            print(f"  {fault}", flush=True)
        elsewhere += found
    return report(
        [
            Figure(f"rounds of {KEYS} keys with a fault, of {ROUNDS}", len(faults), 0, unit=""),
            Figure(f"rounds over pages with a fault, of {ROUNDS}", len(elsewhere), 0, unit=""),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
