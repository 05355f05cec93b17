"""The conversation view compared with a plain text widget of the same run: streaming, flat out, long histories, huge outputs.

Each side is a program on a terminal of 120 × 40 of its own.
"""

import asyncio
import fcntl
import gc
import json
import os
import pty
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.comparison import Figure, report
from benchmarks.rounds import rounds
from benchmarks.typist import Typist
from opencode_tui.tui.state.transcript import Transcript
from tests.support.terminal.conversation import SESSION, ConversationApp, Story, edit, look, read
from tests.support.terminal.warm import warm

SIZE = (120, 40)
TURNS = 1_000


def main() -> int:
    """Measure and return the exit code."""
    figures = [*streaming(), *histories(), *large()]
    return report(figures)


def streaming() -> list[Figure]:
    """200 tokens a second, and as fast as it goes."""
    tokens = rounds(2_000, 800)
    sides = ("plain", "ours", "repainting")
    paced = [[_side(side, "paced", tokens) for side in sides] for _ in range(rounds(3, 1))]
    plain, ours, _ = (statistics.median(one[side]["cpu_per_1000"] for one in paced) for side in range(3))
    thin, written, repainted = (
        statistics.median(one[side]["kb"] for one in paced) * 1000 / tokens for side in range(3)
    )
    echo = [(_echo_p99("plain", tokens), _echo_p99("ours", tokens)) for _ in range(rounds(5, 1))]
    slow, quick = (statistics.median(pair[index] for pair in echo) * 1000 for index in (1, 0))
    flat = [(_side("plain", "flat", 20_000), _side("ours", "flat", 20_000)) for _ in range(rounds(3, 1))]
    swift, fence = (_side("ours", act, tokens)["quarters"] for act, tokens in (("swift", 20_000), ("fence", 6_000)))
    wall = _median(flat, 0, "wall")
    return [
        Figure("200 tokens/s: CPU per 1,000 tokens (floor: 30 fps)", ours, 1.0, "s", plain),
        Figure("200 tokens/s: written per 1,000 tokens", written, 60, "KB"),
        Figure("200 tokens/s: the same, to Textual's output", written, 0.2, "KB", repainted),
        Figure("200 tokens/s: the same, to a plain text", written, 1.0, "KB", thin),
        Figure("200 tokens/s: a key's echo, p99", slow, 1.5, floor=quick),
        Figure("20,000 tokens flat out: until on the screen", _median(flat, 1, "wall"), 2, "s", wall),
        Figure(
            "20,000 tokens flat out: written", _median(flat, 1, "kb") / 1000, 0.2, "MB", _median(flat, 0, "kb") / 1000
        ),
        Figure("20,000 tokens flat out: peak memory", _median(flat, 1, "rss_mb"), 150, "MB"),
        Figure("20,000 tokens flat out: the loop's worst hold-up", _median(flat, 1, "lag_ms"), 50),
        Figure("the last 5,000 of 20,000 tokens (floor: the first)", swift[-1], 1.3, "s", swift[0]),
        Figure("the last 1,500 of 6,000 tokens of one fence", fence[-1], 1.3, "s", fence[0]),
    ]


def histories() -> list[Figure]:
    """10,000 parts from memory, and at another width."""
    warm()
    messages = long_history(TURNS)
    figures = [asyncio.run(_settle(messages)) for _ in range(rounds(5, 3))]
    return [
        Figure("10,000 parts: CPU until idle", statistics.median(one[0] for one in figures) * 1000, 100, "ms"),
        Figure("10,000 parts: CPU of a resize", statistics.median(one[1] for one in figures) * 1000, 100, "ms"),
        Figure("10,000 parts: CPU of a page up, at most", max(one[2] for one in figures) * 1000, 50, "ms"),
    ]


def large() -> list[Figure]:
    """Outputs and answers of a megabyte."""
    facts = _side("ours", "large", 0)
    return [Figure("100,000 lines, lines of 1 MB: the loop's worst hold-up", facts["lag_ms"], 50, "ms")]


def long_history(turns: int) -> Story:
    """Return a history of ten parts a turn."""
    story = Story()
    for number in range(turns):
        story.user(f"Question {number}: what does this do, and why?", str(number % 60))
        story.answer(
            [
                story.thought("Let me look."),
                read(story, f"src/file_{number}.py", 20),
                edit(story),
                story.tool("bash", {"command": "pytest -q"}, seconds=2, output="3 passed in 1s", exit=0),
                "Some **prose** with `code` in it. " * 12,
                story.tool("grep", {"pattern": "x"}, "Found 2 matches\n", matches=2),
                "More text\n\n- a\n- b\n\n```py\nx = 1\n```\nand an end",
                story.tool("list", {"path": "."}, "src/\n", count=1),
                "A last word. " * 30,
            ],
            at=str(number % 60),
            cost=0.01,
        )
    return story


async def _settle(story: Story) -> tuple[float, float, float]:
    app = ConversationApp(Transcript(SESSION), look())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(0.2)
        spent = time.process_time()
        app.view.transcript.load(story.messages)
        await pilot.pause(0.15)
        until_idle = time.process_time() - spent
        gc.freeze()  # as the program does when a session was loaded
        spent = time.process_time()
        await pilot.resize_terminal(100, 40)
        await pilot.pause(0.1)
        resized = time.process_time() - spent
        pages: list[float] = []
        for _ in range(30):
            spent = time.process_time()
            app.view.action_page_up()
            await pilot.pause()
            pages.append(time.process_time() - spent)
        return until_idle, resized, max(pages)


def _echo_p99(side: str, tokens: int) -> float:
    """Return the seconds from a key to its letter on the terminal, p99 over keys that are typed while an answer streams."""
    typist = Typist()
    _side(side, "paced", tokens, typist)
    return statistics.quantiles(typist.echoes, n=100)[98]


def _side(side: str, act: str, tokens: int, typist: Typist | None = None) -> dict[str, Any]:
    """Run one side on a terminal of its own, where somebody may type."""
    with tempfile.TemporaryDirectory() as name:
        result = Path(name) / "result.json"
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
        command = [sys.executable, "-m", "benchmarks.transcript_sides", side, act, str(tokens), str(result)]
        environ = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environ) as process:
            os.close(slave)
            sizes: list[int] = []
            reader = threading.Thread(target=_drain, args=(master, typist, sizes), daemon=True)
            reader.start()
            while typist is not None and process.poll() is None:
                typist.type(master)
            process.wait(timeout=180)
        os.close(master)
        return {**json.loads(result.read_text()), "kb": sum(sizes) / 1000}


def _drain(descriptor: int, typist: Typist | None, sizes: list[int]) -> None:
    """Read what the program draws, as a terminal would."""
    try:
        while data := os.read(descriptor, 65_536):
            sizes.append(len(data))
            if typist is not None:
                typist.see(data)
    except OSError:  # the program has ended
        return


def _median(pairs: list[tuple[dict[str, Any], dict[str, Any]]], side: int, name: str) -> float:
    return statistics.median(pair[side][name] for pair in pairs)


if __name__ == "__main__":
    sys.exit(main())
