"""Runs the benchmarks: `python -m benchmarks [NAME…] [--list] [--quick]`.

Every module here whose name begins with `bench_` or `stress_` is one; each runs in a process of its own, one after the
other, prints a table (ours, floor, ratio, goal, verdict) and ends with 1 when a goal is missed. Exit code 1 when one of them did.
`--quick` sets BENCHMARK_QUICK=1, for which those that take minutes take fewer rounds. `python -m benchmarks reliability`
runs those about reliability in full and writes one report; `python -m benchmarks peers` compares ours with other agents.
"""

import argparse
import ast
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import reliability
from benchmarks.peers import compare

_FOLDER = Path(__file__).parent
_PREFIXES = ("bench_", "stress_")


def find_benchmarks() -> dict[str, Path]:
    """Return the benchmarks by their short name, in alphabetical order of the files."""
    paths = [path for path in sorted(_FOLDER.glob("*.py")) if path.stem.startswith(_PREFIXES)]
    return {path.stem.removeprefix("bench_"): path for path in paths}


def run_benchmark(name: str, path: Path, *, is_quick: bool) -> bool:
    """Run one; return whether all its goals are met."""
    print(f"\n== {name}", flush=True)
    begin = time.monotonic()
    environ = {**os.environ, **({"BENCHMARK_QUICK": "1"} if is_quick else {})}
    code = subprocess.run([sys.executable, "-m", f"benchmarks.{path.stem}"], env=environ, check=False).returncode
    verdict = {0: "all goals met", 1: "MISSED"}.get(code, f"ended with {code}")
    print(f"-- {name}: {verdict}, {time.monotonic() - begin:.0f} s", flush=True)
    return code == 0


def main() -> int:
    """Run those that are named, or all."""
    if sys.argv[1:2] == ["reliability"]:
        return reliability.main(sys.argv[2:])
    if sys.argv[1:2] == ["peers"]:
        return compare.main(sys.argv[2:])
    found = find_benchmarks()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(found)}; all without one")
    parser.add_argument("--list", action="store_true", help="say what there is")
    parser.add_argument("--quick", action="store_true", help="fewer rounds where that takes minutes")
    options = parser.parse_args()
    if options.list:
        for name, path in found.items():
            print(f"{name:<16} {_purpose(path)}")
        return 0
    unknown = [name for name in options.names if name not in found]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(found)}")
    names = options.names or list(found)
    missed = [name for name in names if not run_benchmark(name, found[name], is_quick=options.quick)]
    print(
        f"\n{len(names) - len(missed)} of {len(names)} met their goals"
        + (f"; missed: {', '.join(missed)}" if missed else "")
    )
    return 1 if missed else 0


def _purpose(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
