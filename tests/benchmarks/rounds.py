"""How many rounds a benchmark takes: all, or a few where `python -m tests.benchmarks --quick` asks for it."""

import os


def rounds(full: int, quick: int) -> int:
    """Return the number of rounds for this run."""
    return quick if os.environ.get("BENCHMARK_QUICK") else full
