"""How many rounds a benchmark takes: all, or a few where `python -m benchmarks --quick` asks for it; and how far it is."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

_MEMORY = "/dev/shm"


def rounds(full: int, quick: int) -> int:
    """Return the number of rounds for this run."""
    return quick if os.environ.get("BENCHMARK_QUICK") else full


def report_progress(done: int, of: int) -> None:
    """Write which part of a benchmark is done to the file that `BENCHMARK_PROGRESS` names, if any, for `reliability`."""
    if name := os.environ.get("BENCHMARK_PROGRESS"):
        Path(name).write_text(f"{done / of:.4f}")


def counted(count: int, *, after: int = 0, of: int | None = None) -> Iterator[int]:
    """Yield the numbers below `count` and report the progress after each: `after` rounds of `of` were done before."""
    for number in range(count):
        yield number
        report_progress(after + number + 1, of or after + count)


def folder_in_memory() -> "tempfile.TemporaryDirectory[str]":
    """Return a temporary folder in memory where the system has such a file system.

    For what outlives a process but need not outlive the machine: kills and failing calls are the same there, syncs are faster.
    """
    return tempfile.TemporaryDirectory(dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None)
