"""The figures of reliability in full, as one command with one report.

    python -m benchmarks reliability [--quick] [--only NAME] [--report FILE] [--resume] [--write]

Each part is a benchmark in a process of its own, one after the other. The first lines say how long each takes on two idle cores;
then a line every half minute, whose estimate follows from how far the part says it is. A part that fails does not end the others;
the exit code is 1 when any did. The report is a Markdown table, written after each part; with `--resume` the parts that are in it
are not run again. `--write` puts the table of all parts into docs/reliability.md. In full it takes hours, with `--quick` minutes.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.page_section import PageSection

PROGRESS_S = 30
SECTION = PageSection("reliability", "reliability.md")
_HEAD = "| part | wanted | seen | verdict | seconds | command |\n|---|---|---|---|---|---|\n"


@dataclass(frozen=True, slots=True)
class Part:
    """A benchmark, what is wanted of it in full, and about how many seconds it takes quick and in full."""

    wanted: str
    command: tuple[str, ...]
    quick_s: int
    full_s: int


PARTS: dict[str, Part] = {
    "processes": Part(
        "16 processes × 500 operations: no lost update, no failure, no wait over 2 s",
        ("stress_storage", "processes"),
        3,
        60,
    ),
    "faults": Part("every file call failing in every way: old or new state", ("stress_storage", "faults"), 20, 20),
    "migrations": Part("killed at every file call: the next one completes", ("stress_storage", "migrations"), 10, 10),
    "reads": Part("1,000,000 reads during writes: none torn", ("stress_storage", "reads"), 5, 60),
    "store-kills": Part("200 kills of a writer: nothing acknowledged is lost", ("stress_storage", "kills"), 5, 40),
    "mutations": Part(
        "10,000 mutations of a store of 200 sessions: each named alone, the others listed", ("stress_damage",), 5, 120
    ),
    "power": Part("50,000 states after a power cut: nothing that was synced is gone", ("stress_power_loss",), 30, 120),
    "trash": Part("1,000 kills between deleting and restoring: whole in one place", ("stress_trash",), 60, 900),
    "search": Part("200 kills of a build of the index: no wrong hit", ("stress_search_kill",), 30, 140),
    "undo-kills": Part("100 kills of a step: every path as before the turn, or named", ("stress_undo_kill",), 30, 200),
    "undo": Part(
        "5,000 random histories and 300 kills of undo and redo: no byte of the user lost", ("stress_undo",), 90, 1600
    ),
    "terminals": Part(
        "two terminals with one engine: 50 turns, 30 races, 15 kills: nothing lost or doubled",
        ("stress_shared_engine",),
        90,
        160,
    ),
    "soak": Part("5,000 turns in one process: memory flat within 20 MB", ("stress_soak",), 60, 1800),
    "kills": Part(
        "2,000 kills of a run: nothing printed is lost, all is readable, the next run works",
        ("bench_crash", "--kills", "2000"),
        60,
        3000,
    ),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the report; `text` is its Markdown."""

    name: str
    is_met: bool
    text: str


def read_rows(report: Path, title: str) -> list[Row]:
    """Return the rows of an earlier report; exits when it is one of another kind of run."""
    if not report.exists():
        return []
    text = report.read_text(encoding="utf-8")
    if not text.startswith(title):
        sys.exit(f"{report} is no report of this kind of run (it does not begin with {title!r}); name another --report")
    rows = [_read_row(line) for line in text.splitlines() if line.startswith("| ")]
    return [row for row in rows if row.name in PARTS and "no figures" not in row.text]


def _read_row(line: str) -> Row:
    cells = [cell.strip() for cell in line.strip("|").split(" | ")]
    return Row(cells[0], cells[3:4] == ["met"], line)


class Progress:
    """Prints what runs and about how long the rest takes; the estimates are scaled by how long the parts before took."""

    def __init__(self, names: list[str], *, is_quick: bool) -> None:
        self._expected = {name: PARTS[name].quick_s if is_quick else PARTS[name].full_s for name in names}
        self._names = names
        self._spent = 0.0
        self._planned = 0

    def plan(self) -> None:
        """Print how long each part takes."""
        for name in self._names:
            print(f"{name:>12} {_duration(self._expected[name]):>8}  {PARTS[name].wanted}")
        print(f"{'in all':>12} {_duration(sum(self._expected.values())):>8}  on two idle cores", flush=True)

    def show(self, name: str, seconds: float, done: float | None) -> None:
        """Print a line for the part that has run for so long and is `done` so far (0 to 1; None: it does not say)."""
        at = self._names.index(name)
        expected = seconds / done if done else max(self._expected[name] * self._scale(0, 0), seconds)
        scale = self._scale(expected, self._expected[name]) if done else self._scale(0, 0)
        rest = sum(self._expected[after] for after in self._names[at + 1 :]) * scale
        share = "" if done is None else f", {done:.0%}"
        print(
            f"[{at + 1} of {len(self._names)}] {name}: {_duration(seconds)}{share}, about {_duration(expected - seconds)} left,"
            f" {_duration(expected - seconds + rest)} in all",
            flush=True,
        )

    def _scale(self, seconds: float, planned: float) -> float:
        """Return how much longer than planned the parts take, from those that ended and from one that is running."""
        planned += self._planned
        return (self._spent + seconds) / planned if planned else 1.0

    def ended(self, name: str, seconds: float) -> None:
        """Learn from a part."""
        self._spent += seconds
        self._planned += self._expected[name]


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def run_part(name: str, *, is_quick: bool, progress: Progress) -> Row:
    """Run one to its end and return its row; its own output goes where ours goes."""
    part, begun = PARTS[name], time.monotonic()
    words = ["-m", f"benchmarks.{part.command[0]}", *part.command[1:]]
    with tempfile.TemporaryDirectory() as folder:
        seen, far = Path(folder) / "figures", Path(folder) / "progress"
        environ = {key: value for key, value in os.environ.items() if key != "BENCHMARK_QUICK"}
        environ |= {"BENCHMARK_FIGURES": str(seen), "BENCHMARK_PROGRESS": str(far)}
        environ |= {"BENCHMARK_QUICK": "1"} if is_quick else {}
        with subprocess.Popen([sys.executable, *words], env=environ) as process:
            while process.poll() is None:
                try:
                    process.wait(PROGRESS_S)
                except subprocess.TimeoutExpired:
                    progress.show(name, time.monotonic() - begun, _read_share(far))
        figures = [json.loads(line) for line in seen.read_text().splitlines()] if seen.exists() else []
    seconds = time.monotonic() - begun
    progress.ended(name, seconds)
    is_met = process.returncode == 0 and bool(figures)
    verdict = "met" if is_met else "MISSED" if figures else f"no figures, ended with {process.returncode}"
    command = f"`{'BENCHMARK_QUICK=1 ' if is_quick else ''}python {' '.join(words)}`"
    cells = [name, part.wanted, "; ".join(map(_figure, figures)), verdict, f"{seconds:.0f}", command]
    return Row(name, is_met, f"| {' | '.join(cells)} |")


def _read_share(progress: Path) -> float | None:
    """Return which part of a benchmark is done, None when it does not say."""
    try:
        return float(progress.read_text())
    except (FileNotFoundError, ValueError):  # a part that is just writing it
        return None


def _figure(figure: dict[str, Any]) -> str:
    times = "" if figure["floor"] is None else " times the floor"
    value = f"{figure['name'].replace('|', '/')}: {figure['measured']:.3g}{times or (' ' + figure['unit']).rstrip()}"
    return value if figure["measured"] <= figure["goal"] else f"**{value}** (goal {figure['goal']:g})"


def write_report(report: Path, title: str, rows: list[Row]) -> None:
    """Replace the report."""
    temporary = report.with_name(f"{report.name}.new")
    temporary.write_text(f"{title}\n\n{table(rows)}", encoding="utf-8")
    temporary.replace(report)


def table(rows: list[Row]) -> str:
    """Return the table of these rows, below when and where they were measured."""
    machine = f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} cores"
    at = f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}"
    return f"{at}; {machine}.\n\n{_HEAD}" + "".join(f"{row.text}\n" for row in rows)


def main(arguments: list[str]) -> int:
    """Run the parts that are wanted; return 1 when one of the report is not met."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks reliability", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--quick", action="store_true", help="few rounds of each, minutes in all")
    parser.add_argument("--only", action="append", choices=list(PARTS), metavar="NAME", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the table there after each part")
    parser.add_argument("--resume", action="store_true", help="skip the parts that are in the report")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/reliability.md")
    options = parser.parse_args(arguments)
    if options.write and options.quick:
        parser.error("--write is for a run in full")
    if options.resume and not options.report:
        parser.error("--resume needs --report FILE")
    title = f"# Reliability, {'quick' if options.quick else 'in full'}"
    rows = read_rows(options.report, title) if options.resume else []
    done = {row.name for row in rows}
    names = [name for name in options.only or PARTS if name not in done]
    if done:
        print(f"in the report already: {', '.join(sorted(done))}")
    progress = Progress(names, is_quick=options.quick)
    progress.plan()
    try:
        for name in names:
            rows.append(run_part(name, is_quick=options.quick, progress=progress))
            if options.report:
                write_report(options.report, title, rows)
    except KeyboardInterrupt:
        print("interrupted; --resume runs the rest", file=sys.stderr)
        return 130
    rows.sort(key=lambda row: [*PARTS].index(row.name))
    print(f"\n{_HEAD}" + "\n".join(row.text for row in rows))
    if options.write:
        left = [name for name in PARTS if name not in {row.name for row in rows}]
        if left:
            parser.error(f"--write needs all parts; without figures: {', '.join(left)} (--resume runs these alone)")
        SECTION.write(table(rows))
    missed = [row.name for row in rows if not row.is_met]
    print(f"\n{len(rows) - len(missed)} of {len(rows)} met" + (f"; not: {', '.join(missed)}" if missed else ""))
    return 1 if missed else 0
