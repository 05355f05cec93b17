"""What one `run` costs, with its floor: from exec to the request, from the last chunk to the exit, and that litellm stays out.

The floor is `python -c "import httpx, pydantic, click"`, started in turns with ours. Every run is a new session in a git project.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.support.provider.canned_server import CannedServer, answer_packets
from tests.support.world.cli import CommandLine
from tests.support.world.repo import make_repo

ROUNDS = 15
WARM_UP = 2
FLOOR = "import httpx, pydantic, click"
REQUEST_GOAL = 2
EXIT_GOAL_MS = 60


@dataclass(frozen=True, slots=True)
class Round:
    """Milliseconds of one round."""

    request: float
    leave: float
    floor: float


def provider(base_url: str) -> dict[str, object]:
    """Return the settings of the provider that is asked directly."""
    options = {"baseURL": base_url, "apiKey": "fake-key-for-tests"}
    models = {"fake-model": {"name": "Canned", "limit": {"context": 200_000, "output": 8_000}, "tool_call": True}}
    return {"fake": {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}}


def measure(line: CommandLine, server: CannedServer) -> Round:
    """Run ours, then the floor."""
    command = [sys.executable, "-m", "opencode_tui", *line.turn_arguments("hello")]
    environ = line.variables()
    begin = time.monotonic()
    _call(command, line.folder, environ)
    end = time.monotonic()
    _call([sys.executable, "-c", FLOOR], line.folder, environ)
    floor = time.monotonic() - end
    return Round((server.arrived[-1] - begin) * 1000, (end - server.ended[-1]) * 1000, floor * 1000)


def _call(command: list[str], folder: Path, environ: Mapping[str, str]) -> None:
    subprocess.run(command, cwd=folder, env=environ, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def litellm_processes(line: CommandLine, server: CannedServer) -> int:
    """Return how many modules of litellm a run loads, and processes besides its own that it has while it is answered."""
    besides: list[int] = []
    server.on_request = lambda: besides.append(len(line.survivors()) - 1)
    command = [sys.executable, "-X", "importtime", "-m", "opencode_tui", *line.turn_arguments("hello")]
    done = subprocess.run(command, cwd=line.folder, env=line.variables(), check=True, capture_output=True, text=True)
    server.on_request = lambda: None
    modules = [line for line in done.stderr.splitlines() if line.rpartition("|")[2].strip().startswith("litellm")]
    return len(modules) + sum(besides)


def main() -> int:
    """Measure in rounds and return the exit code."""
    with tempfile.TemporaryDirectory() as name, CannedServer(answer_packets(20)) as server:
        home = Path(name) / "home"
        home.mkdir()
        repo = make_repo(Path(name) / "project")
        repo.commit(**{"a.py": "x = 1\n"})
        line = CommandLine(repo.path, isolated_environment(home), provider=provider(server.base_url))
        taken = [measure(line, server) for _ in range(rounds(ROUNDS, 5) + WARM_UP)][WARM_UP:]
        loaded = litellm_processes(line, server)
    floor = statistics.median(one.floor for one in taken)
    request = statistics.median(one.request for one in taken)
    least = min(one.request for one in taken), min(one.floor for one in taken)
    return report(
        [
            Figure("exec to the request's arrival, median", request, REQUEST_GOAL, floor=floor),
            Figure("exec to the request's arrival, least", least[0], REQUEST_GOAL, floor=least[1]),
            Figure("last chunk to exit, median", statistics.median(one.leave for one in taken), EXIT_GOAL_MS),
            Figure("modules and processes of litellm", loaded, 0, ""),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
