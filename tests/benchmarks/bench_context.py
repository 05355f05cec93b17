"""A session of 400 steps against a window of 32 k: refusals, compactions, facts that must be kept; and the wait at the limit.

The server counts every request with a real tokenizer and refuses what exceeds the window with the answer's room. Compactions are
held to ceil((tokens added - usable) / (usable - size after a compaction)) + 2. The wait is compared with that of the same session
without preparation.
"""

import asyncio
import statistics
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.support.provider.model_script import Answer
from tests.support.provider.token_counter import Window
from tests.support.sessions.long_session import Course, LongSession
from tests.support.world.engine import opened
from tests.support.world.repo import make_repo

WINDOW, OUTPUT = 32_000, 8_000
SUMMARY = "The work of the earlier turns is done as it was asked for; the requests say what is left. " * 20
SUMMARY_DELTAS, SUMMARY_MS = 20, 100
STEP_MS = 150
WAIT_GOAL = 0.1


async def play(plan: LongSession, folder: Path, *, prepare: float | bool, summary: Answer, step_ms: float) -> Course:
    """Play a session in a fresh home."""
    home = folder / f"home-{prepare}-{step_ms}"
    home.mkdir()
    repo = make_repo(folder / f"project-{prepare}-{step_ms}")
    repo.commit(**{"a.py": "x = 1\n"})
    async with opened(
        isolated_environment(home),
        repo.path,
        window=Window(WINDOW, counts_output=True),
        limit=(WINDOW, OUTPUT),
        settings={"compaction": {"prepare": prepare}},
    ) as world:
        return await plan.run(world, repo.path, usable=WINDOW - OUTPUT, summary=summary, step_ms=step_ms)


async def measure() -> list[Figure]:
    """Play the long session, then a shorter one with and without preparation."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        turns = rounds(40, 8)
        quick = Answer(text=SUMMARY, is_burst=True)
        long = await play(LongSession(turns=turns, steps=10, size=900), folder, prepare=0.75, summary=quick, step_ms=0)
        slow = Answer(text=SUMMARY, delta_size=len(SUMMARY) // SUMMARY_DELTAS, delay_ms=SUMMARY_MS)
        short = LongSession(turns=4, steps=10, size=900)
        prepared = await play(short, folder, prepare=0.75, summary=slow, step_ms=STEP_MS)
        demanded = await play(short, folder, prepare=False, summary=slow, step_ms=STEP_MS)
    print(f"{turns * 10} steps in {turns} turns, {long.added} tokens added, usable {long.usable}")
    print(f"sizes after the compactions: {long.after}")
    print(f"waits at the limit, ms: {whole(prepared.waits)} prepared, {whole(demanded.waits)} on demand")
    return [
        Figure("refusals that a request met", long.refused, 0, ""),
        Figure("compactions", len(long.after), long.allowed, ""),
        Figure(f"facts lost of {long.facts} that had to be kept", len(long.lost), 0, ""),
        Figure(
            "wait at the limit with preparation, median",
            statistics.median(prepared.waits),
            WAIT_GOAL,
            floor=statistics.median(demanded.waits),
        ),
    ]


def whole(numbers: list[float]) -> str:
    """Return numbers without their fractions."""
    return " ".join(str(round(number)) for number in numbers)


def main() -> int:
    """Measure and return the exit code."""
    return report(asyncio.run(measure()))


if __name__ == "__main__":
    sys.exit(main())
