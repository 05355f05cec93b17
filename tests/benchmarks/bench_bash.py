"""Figures of the bash tool with their floors: starting, throughput, lag of the loop, memory, and 60 process trees.

Run: python -m tests.benchmarks.bench_bash (Linux).
"""

import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path

from opencode_tui.engine.tool.process.process import Command, find_shell
from opencode_tui.engine.tool.process.running_command import CommandOutput, RunningCommand
from tests.benchmarks.comparison import Figure, median_ms, report
from tests.conftest import isolated_environment
from tests.support.shell.bench import ShellBench, running, until_running
from tests.support.shell.process_trees import TREES

PRINTS_300_MB = "head -c 300000000 /dev/zero | fold -w 100"
TIMEOUT_MS = 250


@dataclass
class Trees:
    """What the process trees came to; times in ms."""

    survivors: int = 0
    over_timeout: float = 0.0
    after_cancel: float = 0.0
    at_end: float = 0.0


def elapsed_ms(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def peak_kib() -> int:
    return int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0])


class FirstByte(CommandOutput):
    """Knows when the first piece came."""

    at = 0.0

    def feed(self, data: bytes) -> None:
        self.at = self.at or time.perf_counter()
        super().feed(data)


def spawning(environ: dict[str, str]) -> Figure:
    """Measure from the call to the first byte that a shell prints."""
    command = Command("echo", Path("/"), environ, 10_000, find_shell(environ, Path("/")))

    async def ours() -> float:
        output = FirstByte(Path)
        began = time.perf_counter()
        async with RunningCommand(command, output) as running:
            await running.wait(10)
        return (output.at - began) * 1000

    def floor() -> float:
        began = time.perf_counter()
        with subprocess.Popen(
            [command.shell, "-c", "echo"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.read(1)
            return elapsed_ms(began)

    with asyncio.Runner() as runner:
        rounds = [(runner.run(ours()), floor()) for _ in range(60)]
    ours_ms, floor_ms = (statistics.median(times) for times in zip(*rounds, strict=True))
    return Figure("until a command prints (floor: subprocess, bash -c)", ours_ms, 2, floor=floor_ms)


def whole_call(shell: ShellBench) -> Figure:
    """Measure a call with its permission scan and the search for what it left."""
    with asyncio.Runner() as runner:

        def ours() -> None:
            runner.run(shell.run("true"))

        def floor() -> None:
            subprocess.run(["bash", "-c", "true"], check=True, stdin=subprocess.DEVNULL, capture_output=True)

        ours_ms, floor_ms = median_ms(ours, floor, rounds=60)
    return Figure("a whole call of `true` (floor: the same)", ours_ms, 5, floor=floor_ms)


def throughput(shell: ShellBench, folder: Path) -> tuple[Figure, float]:
    """Return the figure, and the 99th percentile of the loop's lag in ms meanwhile."""
    lags: list[float] = []

    def floor() -> None:
        with open(folder / "floor", "wb") as file:
            subprocess.run(["bash", "-c", PRINTS_300_MB], check=True, stdout=file)

    def ours() -> None:
        lags.extend(asyncio.run(with_lag(lambda: shell.run(PRINTS_300_MB))))

    ours_ms, floor_ms = median_ms(ours, floor, rounds=5)
    lag = sorted(lags)[int(len(lags) * 0.99)]
    return Figure("300 MB of lines (floor: straight to a file)", ours_ms, 1 / 0.7, floor=floor_ms), lag


async def with_lag(work: Callable[[], Coroutine[object, object, object]]) -> list[float]:
    """Do the work and return by how many ms the loop was late, looked at each 2 ms."""
    lags: list[float] = []
    task = asyncio.create_task(work())
    while not task.done():
        began = time.perf_counter()
        await asyncio.sleep(0.002)
        lags.append(elapsed_ms(began) - 2)
    await task
    return lags


def memory(shell: ShellBench, command: str) -> float:
    """Return by how many MiB the peak rises over what the process has at rest."""
    Path("/proc/self/clear_refs").write_text("5")
    before = peak_kib()
    asyncio.run(shell.run(command))
    return (peak_kib() - before) / 1024


async def trees(shell: ShellBench) -> Trees:
    """Let every tree come to its end, to a timeout, and to a cancel."""
    result = Trees()
    for number, command in enumerate(TREES.values()):
        tokens = [f"5{os.getpid()}.{number:02}{way}" for way in range(3)]
        await to_its_end(shell, command.format(n=tokens[0]), result)
        await to_a_timeout(shell, command.format(n=tokens[1]), tokens[1], result)
        await to_a_cancel(shell, command.format(n=tokens[2]), tokens[2], result)
        result.survivors += sum(len(running(token)) for token in tokens)
    return result


async def to_its_end(shell: ShellBench, command: str, result: Trees) -> None:
    began = time.perf_counter()
    await shell.run(command)
    result.at_end = max(result.at_end, elapsed_ms(began))


async def to_a_timeout(shell: ShellBench, command: str, token: str, result: Trees) -> None:
    began = time.perf_counter()
    await shell.run(f"({command}); sleep {token}", timeout=TIMEOUT_MS)
    result.over_timeout = max(result.over_timeout, elapsed_ms(began) - TIMEOUT_MS)


async def to_a_cancel(shell: ShellBench, command: str, token: str, result: Trees) -> None:
    task = asyncio.create_task(shell.run(f"({command}); exec -a last sleep {token}"))
    await until_running(f"last {token}")
    began = time.perf_counter()
    task.cancel()
    await asyncio.wait({task})
    result.after_cancel = max(result.after_cancel, elapsed_ms(began))


def measure(folder: Path) -> list[Figure]:
    environ = isolated_environment(folder)
    shell = ShellBench(folder / "project", environ=environ)
    shell.folder.mkdir()
    starts = [spawning(environ), whole_call(shell)]
    speed, lag = throughput(shell, folder)
    found = asyncio.run(trees(shell))
    return [
        *starts,
        speed,
        Figure("lag of the loop meanwhile, p99", lag, 10),
        Figure("memory for 2 GB of output", memory(shell, "head -c 2000000000 /dev/zero"), 50, "MiB"),
        Figure("memory for a line of 200 MB", memory(shell, "head -c 200000000 /dev/zero | tr '\\0' x"), 50, "MiB"),
        Figure(f"{3 * len(TREES)} process trees: survivors", found.survivors, 0, ""),
        Figure("  longest call of a command that ends at once", found.at_end, 1_000),
        Figure("  longest time over the timeout", found.over_timeout, 2_000),
        Figure("  longest cancel", found.after_cancel, 300),
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        sys.exit(report(measure(Path(name))))
