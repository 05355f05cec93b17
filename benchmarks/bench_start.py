"""How long the command line and its settings take to load, compared with bare Python that does the minimum.

    python -m benchmarks.bench_start

Processes are timed from exec to exit. Exit code 1 when a goal is missed.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.comparison import Figure, median_ms, report
from tests.support.world.settings import SettingsWorld

ROUNDS = 15
SETTINGS = {
    "model": "own/coder",
    "provider": {
        "own": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": "http://127.0.0.1:9/v1"},
            "models": {"coder": {"limit": {"context": 100_000, "output": 8_000}}},
        }
    },
    "permission": {"bash": {"*": "ask", "git *": "allow"}},
}
BARE_LOAD = """
import json, pathlib, pydantic
pydantic.TypeAdapter(dict[str, object]).validate_python(json.loads(pathlib.Path({path!r}).read_text()))
"""
OUR_LOAD = """
import os, pathlib
from opencode_tui.config.flags import read_flags
from opencode_tui.config.load import load_config
from opencode_tui.storage.paths import find_paths
load_config(paths=find_paths(os.environ), flags=read_flags(os.environ), directory=pathlib.Path.cwd(), environ=os.environ)
"""


def python(world: SettingsWorld, *arguments: str) -> Callable[[], object]:
    """Return the work of running Python in the world's project."""
    environ = {**world.environ, "PYTHONPATH": os.getcwd()}
    words = [sys.executable, *arguments]
    return partial(subprocess.run, words, cwd=world.project, env=environ, check=True, stdout=subprocess.DEVNULL)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        world = SettingsWorld(Path(folder), {"PATH": os.environ["PATH"], "HOME": str(home)})
        path = world.write(home / ".config" / "opencode-tui" / "opencode.json", SETTINGS)
        bare_pass = python(world, "-c", "pass")
        bare_click = python(world, "-c", "import click")
        bare_load = python(world, "-c", BARE_LOAD.format(path=str(path)))
        version = python(world, "-m", "opencode_tui", "--version")
        help_text = python(world, "-m", "opencode_tui", "--help")
        load = python(world, "-c", OUR_LOAD)
        times = median_ms(bare_pass, version, bare_click, help_text, bare_load, load, rounds=ROUNDS)
    return report(
        [
            Figure("--version, floor `python -c pass`", times[1], 3, floor=times[0]),
            Figure("--help, floor `import click`", times[3], 2, floor=times[2]),
            Figure("settings loaded, floor pydantic reading JSON", times[5], 2, floor=times[4]),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
