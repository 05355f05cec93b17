"""How long the prompt holds up the screen: a megabyte pasted, and names found among a hundred thousand files.

    python -m benchmarks.bench_prompt

A block is CPU that the event loop's thread spends between two turns of a ticker; other processes cannot make it longer. Times until
something is seen are wall times and depend on the machine's load.
"""

import asyncio
import contextlib
import gc
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path

from textual import events

from benchmarks.comparison import Figure, report
from tests.conftest import isolated_environment
from tests.support.terminal.screen import Page, screen

FOLDERS, FILES = 100, 1_000
MEGABYTE = 1_000_000
TICK_S = 0.005


class Blocks:
    """The longest stretches of the loop's CPU between two ticks."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def watch(self) -> None:
        """Tick until cancelled."""
        last = time.thread_time()
        while True:
            await asyncio.sleep(TICK_S)
            now = time.thread_time()
            self.longest = max(self.longest, now - last)
            last = now

    async def during(self, work: Awaitable[object]) -> tuple[float, float]:
        """Return the seconds that the work took, and the longest block meanwhile."""
        await asyncio.sleep(0.3)
        self.longest = 0.0
        begin = time.perf_counter()
        await work
        took = time.perf_counter() - begin
        await asyncio.sleep(0.2)
        return took, self.longest


async def measure(folder: Path) -> list[Figure]:
    """Work at one prompt."""
    home = folder / "home"
    home.mkdir()
    work = folder / "work"
    for number in range(FOLDERS):
        (work / f"dir{number}").mkdir(parents=True)
        for file in range(FILES):
            (work / f"dir{number}" / f"file_{file}.py").touch()
    figures: list[Figure] = []
    async with screen(isolated_environment(home), work) as page:
        gc.freeze()  # as the program does once everything is loaded
        blocks = Blocks()
        ticker = asyncio.create_task(blocks.watch())
        acts = (
            ("a megabyte of lines pasted", paste(page, "a line that is pasted\n" * (MEGABYTE // 22)), 1_000),
            ("a megabyte in one line pasted", paste(page, "x" * MEGABYTE), 1_000),
            (f"first `@` among {FOLDERS * FILES:,} files", find(page, "@", "dir0/"), 3_000),
            ("a name of seven letters, from the first one on", find(page, "file_77", "file_77.py"), 3_000),
            ("one letter more", find(page, "7", "file_777.py"), 500),
        )
        for name, act, goal in acts:
            took, block = await blocks.during(act)
            figures.append(Figure(f"{name}: longest block", block * 1000, 50))
            figures.append(Figure(f"{name}: seen after", took * 1000, goal))
        ticker.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await ticker
    return figures


async def paste(page: Page, text: str) -> None:
    """Paste into the empty prompt and wait for the marker."""
    page.app.chat.prompt.editor.put("")
    page.app.chat.prompt.editor.post_message(events.Paste(text))
    await page.sees("[Pasted ")


async def find(page: Page, typed: str, words: str) -> None:
    """Type and wait for a name."""
    if typed == "@":
        page.app.chat.prompt.editor.put("")
    await page.type(typed)
    await page.sees(words, timeout=30)


def main() -> int:
    """Measure and report."""
    with tempfile.TemporaryDirectory() as name:
        return report(asyncio.run(measure(Path(name))))


if __name__ == "__main__":
    sys.exit(main())
