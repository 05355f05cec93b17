"""What a benchmark prints: each figure with its floor of the same run, the ratio, the goal, and whether it is met."""

import gc
import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured thing. The goal is a ratio to the floor, or without a floor a limit in the figure's own unit."""

    name: str
    ours: float
    goal: float
    unit: str = "ms"
    floor: float | None = None

    @property
    def measured(self) -> float:
        """What is compared with the goal."""
        return self.ours if self.floor is None else self.ours / self.floor

    @property
    def is_met(self) -> bool:
        """Tell whether the goal is met."""
        return self.measured <= self.goal


def median_ms(*works: Callable[[], object], rounds: int = 7) -> list[float]:
    """Return the median milliseconds of each work, done in turns so that a loaded moment meets all; one round warms up.

    The garbage collector rests meanwhile, as in `timeit`: it would charge the one that runs when its turn has come.
    """
    times: list[list[float]] = [[] for _ in works]
    gc.collect()
    gc.disable()
    for number in range(rounds + 1):
        for work, taken in zip(works, times, strict=True):
            started = time.perf_counter()
            work()
            if number:
                taken.append((time.perf_counter() - started) * 1000)
    gc.enable()
    return [statistics.median(taken) for taken in times]


def report(figures: Sequence[Figure]) -> int:
    """Print the table and return the exit code: 1 when a goal is missed.

    The figures are also appended to the file that BENCHMARK_FIGURES names, a JSON object per line.
    """
    if path := os.environ.get("BENCHMARK_FIGURES"):
        with open(path, "a", encoding="utf-8") as output:
            output.writelines(json.dumps(asdict(figure) | {"measured": figure.measured}) + "\n" for figure in figures)
    print(f"{'':<52} {'ours':>11} {'floor':>11} {'measured':>10} {'goal':>8}")
    for figure in figures:
        floor = "" if figure.floor is None else f"{figure.floor:.3g} {figure.unit}"
        sign = "" if figure.floor is None else "x"
        print(
            f"{figure.name:<52} {f'{figure.ours:.3g} {figure.unit}':>11} {floor:>11} {figure.measured:>9.2f}{sign or ' '}"
            f" {f'{figure.goal:g}{sign}':>8} {'ok' if figure.is_met else 'MISSED'}"
        )
    return 0 if all(figure.is_met for figure in figures) else 1
