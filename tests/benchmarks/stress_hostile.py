"""500 texts that would steer a terminal through every source of text of the screen, in a real terminal: what of them gets through.

Each source has a screen of its own. Where a text takes a turn or a question, a quick run takes a few of them.
"""

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.support.hostile.sources import SOURCES, Shown, show
from tests.support.hostile.strings import hostile_strings
from tests.support.hostile.world import Texts, hostile_world

STRINGS = 500
ONE_BY_ONE = rounds(500, 20)
AT_ONCE = 2
"""Screens; each waits for its program most of the time."""


def show_alone(name: str) -> Shown:
    """Show all texts through one source, on a new screen."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir()
        texts = Texts(hostile_strings(STRINGS), ONE_BY_ONE)
        with hostile_world(Path(folder), isolated_environment(home), texts) as world:
            begin = time.monotonic()
            shown = show(world, name)
    seconds = time.monotonic() - begin
    print(
        f"{name:<12} {seconds:6.1f} s {shown.bytes:>10} bytes, {shown.share:.0%} to be read {shown.leaks[:3]}",
        flush=True,
    )
    return shown


def figures(name: str) -> list[Figure]:
    """What got through, and how much was there to get through."""
    shown = show_alone(name)
    return [
        Figure(f"pieces of {STRINGS} texts that got through: {name}", len(shown.leaks), 0, unit=""),
        Figure(f"texts that could not be read: {name}", 1 - shown.share, round(1 - SOURCES[name].least, 2), unit=""),
    ]


def main() -> int:
    """Show and print; return 1 when anything got through."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return report([figure for some in pool.map(figures, SOURCES) for figure in some])


if __name__ == "__main__":
    sys.exit(main())
