"""Ctrl-C at 30 random moments of a stream, a tool and a wait: exit 130 within 300 ms, records closed, no process left."""

import random
import statistics
import sys
import tempfile
from pathlib import Path

from opencode_tui.storage.paths import find_paths
from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.support.faults.interrupt import Interrupted, Interruption
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.repo import make_repo

EACH = 10
LATEST_S = 0.8
GOAL_MS = 300


def interrupt_all(folder: Path, server: ModelServer, each: int) -> list[Interrupted]:
    """Interrupt so often in each of the three situations and return how it ended."""
    (folder / "home").mkdir()
    environ = isolated_environment(folder / "home")
    line = CommandLine(make_repo(folder / "project").path, environ, provider=server.config())
    interruption = Interruption(line, server, find_paths(environ).storage)
    ended: list[Interrupted] = []
    for _ in range(each):
        for situation in (interruption.stream, interruption.tool, interruption.retry):
            ended.append(situation(random.uniform(0, LATEST_S)))
    return ended


def main() -> int:
    """Print the slowest of each situation and return the exit code."""
    with tempfile.TemporaryDirectory() as name, ModelServer() as server:
        ended = interrupt_all(Path(name), server, rounds(EACH, 3))
    figures: list[Figure] = []
    for situation in ("stream", "tool", "retry"):
        these = [end for end in ended if end.situation == situation]
        times = [end.milliseconds for end in these]
        figures.append(Figure(f"{situation}: median of {len(these)}", statistics.median(times), GOAL_MS))
        figures.append(Figure(f"{situation}: slowest", max(times), GOAL_MS))
        wrong = [f"{situation}: exit {end.code}" for end in these if end.code != 130]
        wrong += [f"{situation}: {complaint}" for end in these for complaint in end.complaints]
        figures.append(Figure(f"{situation}: wrong ends", len(wrong), 0, ""))
        for complaint in wrong[:10]:
            print(complaint)
    return report(figures)


if __name__ == "__main__":
    sys.exit(main())
