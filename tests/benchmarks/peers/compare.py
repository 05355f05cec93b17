"""Ours beside other agents: start, one prompt, the first request, memory, streamed answers and the echo of keys.

    python -m tests.benchmarks peers [--only start,keys,…] [--agents ours,pi,…] [--minutes N] [--report FILE.md] [--write]
    python -m tests.benchmarks peers --install FOLDER     then PEERS=FOLDER, or peers in PATH

Each agent runs in a terminal of 140 × 40 that answers what terminals are asked, with a home and a project of its own, and settings
that name a scripted model on this machine; so all get the same answers at the same pace. Rounds are interleaved; short ones (start,
one prompt) are repeated in the minutes that are left. Linux only. All processes of an agent count, and all are ended.
"""

import argparse
import os
import platform
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from tests.benchmarks.peers.agents import OURS, PEERS, Agent, install
from tests.benchmarks.peers.measure import IDLE_KEYS, PACES, PARTS, ROWS, Bench, Figures, ScriptedModel
from tests.benchmarks.peers.model import serving
from tests.benchmarks.peers.table import replaced, spread, table

_PAGE = Path(__file__).parents[3] / "docs" / "performance.md"
_FULL_ROUNDS, _SHORT_ROUNDS = 3, 9
_MARGIN = 1.15


def main(arguments: list[str]) -> int:
    """Measure, print the table, and write it where it is wanted; return 1 when ours has no figures."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks peers",
        description="Measure ours beside other agents, found in the folder PEERS or in PATH.",
    )
    parser.add_argument("--only", metavar="PART,…", help=f"of {', '.join(PARTS)}")
    names = [agent.name for agent in PEERS]
    parser.add_argument("--agents", metavar="NAME,…", help=f"of {', '.join(names)}; ours is always measured")
    parser.add_argument("--minutes", type=float, default=7.5, help="begin no round that would end later (default 7.5)")
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="write the table with the spread of each figure there"
    )
    parser.add_argument("--write", action="store_true", help="replace the table in docs/performance.md")
    parser.add_argument("--install", type=Path, metavar="FOLDER", help="install the peers there with npm, and end")
    options = parser.parse_args(arguments)
    if options.install:
        return install(options.install)
    parts: list[str] = options.only.split(",") if options.only else list(PARTS)
    wanted: list[str] = options.agents.split(",") if options.agents else names
    for name in parts:
        if name not in PARTS:
            parser.error(f"no part {name!r}; there are {', '.join(PARTS)}")
    for name in wanted:
        if name not in (*names, OURS.name):
            parser.error(f"no agent {name!r}; there are {', '.join(names)}")
    if options.write:
        try:
            replaced(_PAGE.read_text(encoding="utf-8"), "")
        except (OSError, ValueError) as error:
            parser.error(str(error))
    if not Path("/proc/self/smaps_rollup").exists():
        print("needs /proc; nothing measured")
        return 0
    agents = [OURS]
    for agent in PEERS:
        if agent.name in wanted and agent.path() is None:
            print(f"{agent.name} is not installed (--install FOLDER installs all); left out")
        elif agent.name in wanted:
            agents.append(agent)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begun, load = datetime.now().astimezone(), os.getloadavg()[0]
    figures = measure(agents, parts, options.minutes * 60)
    titles = ["ours", *(f"{agent.name.partition('-')[0]} {agent.version()}" for agent in agents[1:])]
    words = "PEERS=FOLDER " if os.environ.get("PEERS") else ""
    command = f"{words}python -m tests.benchmarks peers {shlex.join(arguments)}".strip()
    head = _head(begun, load, command, figures, [agent.name for agent in agents])

    def written(*, has_spread: bool) -> str:
        return f"{head}\n\n{table(figures, [agent.name for agent in agents], titles, has_spread=has_spread)}"

    print(f"\n{written(has_spread=True)}")
    if options.report:
        options.report.write_text(f"# Ours beside other agents\n\n{written(has_spread=True)}", encoding="utf-8")
    if options.write:
        text = replaced(_PAGE.read_text(encoding="utf-8"), written(has_spread=False))
        _PAGE.write_text(text, encoding="utf-8")
    return 0 if any(agent == OURS.name and samples for (agent, _), samples in figures.samples.items()) else 1


def measure(agents: Sequence[Agent], parts: Sequence[str], seconds: float) -> Figures:
    """Measure all in turns: a round that is not counted, then full and short rounds as long as they fit."""
    end = time.monotonic() + seconds
    model, figures = ScriptedModel(), Figures()
    with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as folder, serving(model) as url:
        bench = Bench(Path(folder), url, model, figures, parts)
        short_s = _round(bench, agents, "warm-up", is_full=False)
        figures.samples.clear()
        figures.reasons.clear()
        is_short_wanted = any(part in ("start", "oneshot", "request") for part in parts)
        is_full_wanted = any(part in ("memory", "stream", "keys") for part in parts)
        full_s, full, short = 0.0, 0, 0
        while True:
            left = end - time.monotonic()
            if is_full_wanted and full < _FULL_ROUNDS and (not full or full_s * _MARGIN < left):
                full += 1
                full_s = _round(bench, agents, f"round {full}, in full", is_full=True, turn=full)
            elif is_short_wanted and short < _SHORT_ROUNDS and (not short or short_s * _MARGIN < left):
                short += 1
                short_s = _round(bench, agents, f"round {short}, start and one prompt", is_full=False, turn=short)
            else:
                return figures


def _round(bench: Bench, agents: Sequence[Agent], title: str, *, is_full: bool, turn: int = 0) -> float:
    """Measure each agent once, beginning with another one each time; return the seconds."""
    begun = time.monotonic()
    at = turn % len(agents)
    for agent in (*agents[at:], *agents[:at]):
        print(f"{title}: {agent.name}", file=sys.stderr, flush=True)
        try:
            if is_full:
                bench.session(agent)
            else:
                bench.start(agent)
                bench.one_shot(agent)
        except Exception as error:  # noqa: BLE001 - one agent must not end the measurement of the others
            print(f"{agent.name}: {error!r}", file=sys.stderr, flush=True)
            missing = [row for row in ROWS if not bench.figures.samples.get((agent.name, row))]
            bench.figures.fail(agent.name, missing, f"not measured: {error!r}")
    return time.monotonic() - begun


def _head(begun: datetime, load: float, command: str, figures: Figures, agents: Sequence[str]) -> str:
    fewest, most, worst = spread(figures, agents)
    paces = " and ".join(f"{pace:,.0f} tokens a second ({tokens:,} tokens)" for tokens, pace in PACES.items())
    return (
        f"Measured {begun:%Y-%m-%d} on {_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, load {load:.1f} before, by `{command}`. {_rounds(fewest, most, worst)} "
        f"Terminal of 140 × 40, one scripted model for all, answers at {paces}; {IDLE_KEYS} keys at rest, as many as fit "
        "in 1,000 tokens while an answer streams."
    )


def _rounds(fewest: int, most: int, worst: float) -> str:
    """Return in words of how many rounds the figures are medians, and how far their samples lie apart."""
    if most <= 1:
        return "One round."
    count = str(most) if fewest == most else f"{fewest} to {most}"
    return f"Medians of {count} interleaved rounds; no sample is more than {worst:.1f} times the median of its figure."


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
