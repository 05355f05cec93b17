"""What a long day costs: memory of the whole program after 500 streamed answers and after 50, and what it does while idle.

    python -m tests.benchmarks.bench_screen_memory

The real program on a terminal of 120 x 40, engine and screen in one process, in one session; the answers come from a scripted model
over HTTP. The memory is the process's PSS after a rest of two seconds.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.bench_screen_start import Screen
from tests.benchmarks.comparison import Figure, report
from tests.conftest import isolated_environment
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer, provider_config

FEW, MANY = (10, 60) if os.environ.get("BENCHMARK_QUICK") else (50, 500)
REST_S, IDLE_S, TURN_S = 2.0, 10.0, 0.1
TEXT = (
    "The loop stopped one short of the end: `range(len(rows) - 1)` leaves the last row out. I moved the bound and "
    "added a test for it.\n\n- read the parser\n- wrote the test\n\n```python\nfor row in rows:\n    yield parse(row)\n```\n\n"
)


def settings(server: ModelServer) -> str:
    """The settings that the program is started with; nothing is compacted meanwhile."""
    return json.dumps(
        {
            "provider": provider_config(server.base_url),
            "model": "fake/fake-model",
            "compaction": {"auto": False, "prune": False},
        }
    )


def answers(screen: Screen, server: ModelServer, first: int, last: int) -> None:
    """Have it answer requests number `first` to `last`, one after the other."""
    for number in range(first, last + 1):
        server.script(Answer(text=f"{TEXT}answered-{number}-now"))
        screen.type(f"request {number}\r")
        screen.wait_for(f"answered-{number}-now")
        screen.rest(TURN_S)


def idle_percent(screen: Screen) -> float:
    """Percent of one core that the resting program takes."""
    before = screen.cpu_ms()
    screen.rest(IDLE_S)
    return (screen.cpu_ms() - before) / IDLE_S / 10


def main() -> int:
    """Measure one long session."""
    if not Path("/proc/self/smaps_rollup").exists():
        print("needs /proc; nothing measured")
        return 0
    with tempfile.TemporaryDirectory() as name, ModelServer() as server:
        home, folder = Path(name) / "home", Path(name) / "work"
        home.mkdir()
        folder.mkdir()
        environ = {
            **isolated_environment(home),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "OPENCODE_CONFIG_CONTENT": settings(server),
            "PYTHONPATH": os.getcwd(),
        }
        screen = Screen([sys.executable, "-m", "opencode_tui"], folder, environ)
        try:
            screen.wait_for("fake-model")
            answers(screen, server, 1, FEW)
            screen.rest(REST_S)
            early = screen.pss_mb()
            idle_early = idle_percent(screen)
            answers(screen, server, FEW + 1, MANY)
            screen.rest(REST_S)
            late = screen.pss_mb()
            idle_late = idle_percent(screen)
        finally:
            screen.close()
    print(f"PSS after {FEW} answers {early:.1f} MB, after {MANY} {late:.1f} MB")
    return report(
        [
            Figure(f"memory that answers {FEW + 1} to {MANY} left", late - early, 50, "MB"),
            Figure(f"CPU at rest after {FEW} answers", idle_early, 1, "%"),
            Figure(f"CPU at rest after {MANY} answers", idle_late, 1, "%"),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
