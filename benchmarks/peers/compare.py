"""Ours beside other agents: start, one prompt, requests, memory, rest, tool steps, streamed answers and the echo of keys.

    python -m benchmarks peers [--only start,keys,…] [--agents ours,pi,…] [--rounds N] [--report FILE.md] [--write]
    python -m benchmarks peers --install FOLDER     then PEERS=FOLDER, or peers in PATH

Each agent runs in a terminal of 140 × 40 that answers what terminals are asked, with a home and a project of its own, and settings
that name a scripted model on this machine; so all get the same answers at the same pace. Rounds are interleaved: each agent does
one before the next begins, and each round begins with another agent. A round takes about two minutes an agent. Linux only. All
processes of an agent count, and all are ended.
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

from benchmarks.page_section import PageSection
from benchmarks.peers.agents import OURS, PEERS, Agent, install
from benchmarks.peers.measure import (
    AT_REST_S,
    IDLE_KEYS,
    PACES,
    PARTS,
    ROWS,
    STARTS,
    Bench,
    Figures,
    ScriptedModel,
)
from benchmarks.peers.model import serving
from benchmarks.peers.table import paragraph, table

SECTION = PageSection("peers", "performance.md")


def main(arguments: list[str]) -> int:
    """Measure, print the table, and write it where it is wanted; return 1 when ours has no figures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks peers",
        description="Measure ours beside other agents, found in the folder PEERS or in PATH.",
    )
    parser.add_argument("--only", metavar="PART,…", help=f"of {', '.join(PARTS)}")
    names = [agent.name for agent in PEERS]
    parser.add_argument("--agents", metavar="NAME,…", help=f"of {', '.join(names)}; ours is always measured")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds that count (default 5)")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the table there")
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
            SECTION.check()
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
    figures = measure(agents, parts, options.rounds)
    titles = ["ours", *(f"{agent.name.partition('-')[0]} {agent.version()}" for agent in agents[1:])]
    words = "PEERS=FOLDER " if os.environ.get("PEERS") else ""
    command = f"{words}python -m benchmarks peers {shlex.join(arguments)}".strip()
    head = _head(begun, load, command, options.rounds)

    section = f"{head}\n\n{table(figures, [agent.name for agent in agents], titles)}"
    print(f"\n{section}")
    if options.report:
        options.report.write_text(f"# Ours beside other agents\n\n{section}", encoding="utf-8")
    if options.write:
        SECTION.write(section)
    return 0 if any(agent == OURS.name and samples for (agent, _), samples in figures.samples.items()) else 1


def measure(agents: Sequence[Agent], parts: Sequence[str], rounds: int) -> Figures:
    """Measure all in turns, after a round of starts and single prompts that does not count."""
    model, figures = ScriptedModel(), Figures()
    with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as folder, serving(model) as url:
        bench = Bench(Path(folder), url, model, figures, parts)
        for number in range(rounds + 1):
            begun = time.monotonic()
            _round(bench, agents, number)
            if not number:
                figures.samples.clear()
                figures.reasons.clear()
            print(f"round {number} of {rounds}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return figures


def _round(bench: Bench, agents: Sequence[Agent], number: int) -> None:
    """Measure each agent once, beginning with another one each time; round 0 warms up only."""
    at = number % len(agents)
    for agent in (*agents[at:], *agents[:at]):
        print(f"round {number}: {agent.name}", file=sys.stderr, flush=True)
        try:
            for _ in range(STARTS if number else 1):
                bench.start(agent)
            bench.one_shot(agent)
            if number:
                bench.session(agent)
        except Exception as error:  # noqa: BLE001 - one agent must not end the measurement of the others
            print(f"{agent.name}: {error!r}", file=sys.stderr, flush=True)
            missing = [row for row in ROWS if not bench.figures.samples.get((agent.name, row))]
            bench.figures.fail(agent.name, missing, f"not measured: {error!r}")


def _head(begun: datetime, load: float, command: str, rounds: int) -> str:
    paces = " and ".join(f"{pace:,.0f} tokens a second ({tokens:,} tokens)" for tokens, pace in PACES.items())
    return paragraph(
        f"Measured {begun:%Y-%m-%d} on {_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, load {load:.1f} before, by `{command}`. Medians of {rounds} interleaved "
        f"{'round' if rounds == 1 else 'rounds'} with {STARTS} starts each; in brackets are the smallest and the largest "
        f"figure. Terminal of 140 × 40, one scripted model for all, answers at {paces}; {IDLE_KEYS} keys at rest, as many "
        f"as fit in 1,000 tokens while an answer streams; {AT_REST_S:.0f} s at rest."
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
