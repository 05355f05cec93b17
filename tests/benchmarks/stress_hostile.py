"""500 texts that would steer a terminal through every source of text of the screen, in a real terminal: what of them gets through.

Without `--quick` also where each text takes a turn or a question of its own, which takes about half an hour.
"""

import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.support.hostile import hostile_strings
from tests.support.hostile_world import hostile_world

STRINGS = rounds(500, 20)


def show(name: str) -> int:
    """Show all texts through one source and return how many pieces of the output are not the driver's own."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir()
        with hostile_world(Path(folder), isolated_environment(home), hostile_strings(STRINGS)) as world:
            begin = time.monotonic()
            world.sources()[name]()
            found = world.foreign()
            print(
                f"{name:<12} {len(world.terminal.raw):>10} bytes {time.monotonic() - begin:6.1f} s  {list(found[:3])}",
                flush=True,
            )
            return len(found)


def main() -> int:
    """Show and print; return 1 when anything got through."""
    return report(
        [Figure(f"pieces of {STRINGS} texts that got through: {name}", show(name), 0, unit="") for name in SOURCES]
    )


SOURCES = (
    "answers", "code", "thoughts", "tools", "outputs", "changes", "files", "todos", "titles", "permissions", "questions", "tasks",
    "failures", "retries", "pastes", "shell", "lists", "pages",
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(main())
