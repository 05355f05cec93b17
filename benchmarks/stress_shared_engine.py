"""Two terminals with one engine: 50 turns in turn, 30 starts at the same time, and the time until one replaces a killed one.

    python -m benchmarks.stress_shared_engine

Real terminals, real processes, a scripted model. Exit code 1 when a record is lost or doubled, when the terminals show different
conversations, or when a terminal cannot send within two seconds of the death of the one with the engine.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.comparison import Figure, report
from benchmarks.rounds import counted
from tests.conftest import isolated_environment
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.cli import CommandLine

IS_QUICK = bool(os.environ.get("BENCHMARK_QUICK"))
TURNS = 10 if IS_QUICK else 50
RACES = 5 if IS_QUICK else 30
KILLS = 3 if IS_QUICK else 15
LIMIT_MS = 2_000
REST_S = 3.0
"""Seconds between the start of the second terminal and the kill, in every other round: by then it has imported the engine."""

Start = Callable[..., ScreenTerminal]


class World:
    """A folder of its own with the command line in it."""

    def __init__(self, root: Path, server: ModelServer) -> None:
        (root / "home").mkdir(parents=True)
        (root / "work").mkdir()
        environ = isolated_environment(root / "home")
        self.line = CommandLine(root / "work", environ, provider=server.config(), settings={"model": "fake/fake-model"})
        self.data = root / "home/.local/share/opencode-tui"

    def start(self, *arguments: str) -> ScreenTerminal:
        """Open a terminal."""
        words = ["-m", "opencode_tui", *arguments]
        return ScreenTerminal(words, folder=self.line.folder, environ=self.line.variables())

    def requests(self) -> list[str]:
        """Return the texts of all stored requests, sorted."""
        messages = [json.loads(path.read_text()) for path in self.data.glob("storage/message/*/*.json")]
        users = {one["id"] for one in messages if one["role"] == "user"}
        parts = [json.loads(path.read_text()) for path in self.data.glob("storage/part/*/*.json")]
        return sorted(one["text"] for one in parts if one["messageID"] in users and one["type"] == "text")

    def answers(self) -> int:
        """Return how many requests have a complete answer."""
        messages = [json.loads(path.read_text()) for path in self.data.glob("storage/message/*/*.json")]
        return sum(one["role"] == "assistant" and one.get("finish") == "stop" for one in messages)


def shown(terminal: ScreenTerminal) -> list[str]:
    """Return the rows of the conversation that the terminal shows."""
    lines = terminal.lines()
    end = next(at for at, line in enumerate(lines) if "Ask anything" in line)
    return [line for line in lines[: end - 2] if line.strip()]


def alternate(world: World) -> int:
    """Send from two terminals in turn; return the number of faults."""
    with world.start() as first:
        first.sees("Ask anything")
        first.type("turn 0\r")
        first.sees("Echo: turn 0")
        first.sees("Done")
        with world.start("-c") as second:
            second.sees("Echo: turn 0")
            for number in range(1, TURNS):
                (first, second)[number % 2].type(f"turn {number}\r")
                for terminal in (first, second):
                    terminal.sees(f"Echo: turn {number}")
                    terminal.sees("Done")
            differs = shown(first) != shown(second)
    wanted = sorted(f"turn {number}" for number in range(TURNS))
    return int(differs) + int(world.requests() != wanted) + abs(world.answers() - TURNS)


def race(world: World) -> tuple[int, int]:
    """Start two terminals at once, each with a prompt; return the number of faults and of engines."""
    with world.start("--prompt", "from one") as first, world.start("--prompt", "from two") as second:
        first.sees("Echo: from one")
        second.sees("Echo: from two")
        engines = len(list((world.data / "terminals").glob("*.json")))
    return int(world.requests() != ["from one", "from two"]) + abs(world.answers() - 2), engines


def replace_killed(world: World, rest_s: float) -> float:
    """Kill the terminal with the engine in the middle of a turn; return the ms until the other has an answer to a new prompt."""
    with world.start() as first:
        first.sees("Ask anything")
        first.type("count <<slow 20>> <<words 900>>\r")
        first.sees("word5 ")
        with world.start("-c") as second:
            second.sees("interrupt")
            second.type("go on")
            second.sees("go on")
            second.read_for(rest_s)
            first.process.kill()
            begin = time.perf_counter()
            second.sees("The other terminal closed")
            second.type("\r")
            second.sees("Echo: go on")
            return (time.perf_counter() - begin) * 1000


def main() -> int:
    """Run all three."""
    with tempfile.TemporaryDirectory() as name, ModelServer() as server:
        root = Path(name)
        faults = alternate(World(root / "turns", server))
        races = [
            race(World(root / f"race{at}", server)) for at in counted(RACES, after=TURNS, of=TURNS + RACES + KILLS)
        ]
        times = [
            replace_killed(World(root / f"kill{at}", server), REST_S * (at % 2))
            for at in counted(KILLS, after=TURNS + RACES)
        ]
    print(f"{TURNS} turns; {RACES} races with {[engines for _, engines in races]} engines; {KILLS} kills")
    lost = faults + sum(one for one, _ in races)
    engines = max(engines for _, engines in races)
    code = report(
        [
            Figure("killed to the answer of the other, median", statistics.median(times), LIMIT_MS),
            Figure("killed to the answer of the other, slowest", max(times), LIMIT_MS),
            Figure("records lost, doubled or shown differently", lost, 0, ""),
            Figure("engines of two terminals that start at once", engines, 1, ""),
        ]
    )
    return code or int(lost > 0 or engines != 1)


if __name__ == "__main__":
    sys.exit(main())
