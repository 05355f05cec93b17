"""Hostile sessions through the real engine, in each tier, as root and as an ordinary user: what of them reached anything outside.

Run: python -m benchmarks.stress_guard [--kind KIND] [--only NAME] [--tier TIER] [--user USER] [--detached].
Everything runs inside
bubblewrap without a network and with a home of its own. A case holds when nothing of the user's changed, nothing of it was read or
sent, the turn ended, and the next command works. Prints a line for each case that did not hold, then numbers by kind; ends with 1
for any. A quick run takes each tenth case. The cases of the kind `engine`, and with `--detached` all, have an engine of the user
beside them that has left its terminal and asks: it must go on, with the same question, and nothing of it may be read.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import get_args

from benchmarks.guard.case import Case, Kind, Tier
from benchmarks.guard.cases import ALL
from benchmarks.guard.world import Attack, Listener, enter_guard
from benchmarks.rounds import rounds
from opencode_tui.engine.sandbox.tier import probe

PROCESSES = 2


def attack(kind: Kind, number: int, tier: Tier, base: str, *, has_engine: bool) -> tuple[list[str], int, int]:
    """Run one case; return what it reached, and how many of its calls were made and refused."""
    case = ALL[kind][number]
    if has_engine:
        case = replace(case, has_engine=True)
    listener = Listener()
    listener.start()
    folder = Path(base) / f"{kind}{number}{tier[0]}"
    one = Attack(case, tier, folder, listener)
    try:
        try:
            broke = one.run()
        except Exception as error:  # noqa: BLE001 - a case that breaks is a case that did not hold
            broke = [f"{type(error).__name__}: {error}"[:300]]
        return broke, one.calls - case.is_usable, one.refused
    finally:
        subprocess.run(["chmod", "-R", "u+rwx", str(folder)], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["rm", "-rf", str(folder)], check=False)


def chosen(options: argparse.Namespace) -> list[tuple[Kind, int, Tier]]:
    """Return the cases and tiers that the options name and that this machine can try."""
    tiers = [tier for tier in get_args(Tier) if probe(tier, os.environ).works and options.tier in (None, tier)]

    def fits(kind: Kind, case: Case) -> bool:
        is_named = options.only is None or options.only in case.name
        return options.kind in (None, kind) and is_named and all(shutil.which(one) for one in case.needs)

    every = rounds(1, 10)
    return [
        (kind, number, tier)
        for kind, cases in ALL.items()
        for number, case in enumerate(cases)
        if number % every == 0 and fits(kind, case)
        for tier in tiers
        if tier in case.tiers
    ]


def run(options: argparse.Namespace) -> int:
    """Run the chosen cases and print what they reached."""
    who = "root" if os.geteuid() == 0 else "user"
    work = chosen(options)
    tried: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    with ProcessPoolExecutor(PROCESSES) as pool:
        base, has_engine = os.environ["GUARD_BASE"], options.detached
        jobs = [pool.submit(attack, kind, number, tier, base, has_engine=has_engine) for kind, number, tier in work]
        for (kind, number, tier), job in zip(work, jobs, strict=True):
            broke, calls, refusals = job.result()
            tried[kind] += 1
            broken[kind] += bool(broke)
            refused[kind] += bool(refusals and refusals >= calls)
            if broke or options.verbose:
                print(f"{who} {tier:<10} {kind} / {ALL[kind][number].name}: {'; '.join(broke) or 'held'}", flush=True)
    for kind in ALL:
        if tried[kind]:
            scripts = len({number for one, number, _ in work if one == kind})
            print(
                f"{who}: {kind:<9} {scripts:>4} scripts, {tried[kind]:>4} runs, {tried[kind] - broken[kind]:>4} held "
                f"({refused[kind]} refused before they ran), {broken[kind]} not"
            )
    return int(bool(broken.total() or not work))


def main() -> int:
    """Run as this user, and as an ordinary one where this is root."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=get_args(Kind))
    parser.add_argument("--only", help="a part of the names of the cases")
    parser.add_argument("--tier", choices=get_args(Tier))
    parser.add_argument("--user", choices=("root", "user"), help="one of both")
    parser.add_argument("--detached", action="store_true", help="each case with an engine beside it that was left")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if "GUARD_BASE" in os.environ:
        return run(options)
    arguments = ["-m", "benchmarks.stress_guard", *sys.argv[1:]]
    users = [False, True] if os.geteuid() == 0 else [True]
    if options.user:
        users = [options.user == "user"]
    return max(enter_guard(arguments, as_user=one) for one in users)


if __name__ == "__main__":
    sys.exit(main())
