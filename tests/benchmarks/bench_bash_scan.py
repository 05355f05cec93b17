"""Times of the shell scanner: 10 kB, 200 kB, and texts made to be slow.

Run: python -m tests.benchmarks.bench_bash_scan. Goals: reliability.md, S1 (20 ms for 10 kB, 1 s for 200 kB), in processor time, the
best of some rounds, so that a loaded machine does not count. The floor is the time of the parser alone for the same text.
"""

import sys
import time
from collections.abc import Callable

import tree_sitter_bash
from tree_sitter import Language, Parser

from tests.benchmarks.comparison import Figure, report
from tests.support.shell.world import scanned

SMALL_MS = 20
LARGE_MS = 1_000

STEPS = """set -e
for f in src/*.py; do
  if grep -q "foo" "$f"; then
    sed -i "s/a/b/" "$f" && echo "done $f" >> log.txt
  fi
done
git add -A && git commit -m "wip: $(date)" || true
"""
LINE = 'print("hello world") # some text $(x) `y`\n'

SMALL = {
    "a script, 10 kB": STEPS * 58,
    "a quoted here-document, 10 kB": f"cat > x.py <<'EOF'\n{LINE * 240}EOF\npython3 x.py",
    "a thousand words, 10 kB": "ls " + " ".join(f"src/a{number}" for number in range(1_150)),
    "different commands, 10 kB": " ; ".join(f"rm ../a{number}" for number in range(780)),
}
LARGE = {
    "a script, 200 kB": STEPS * 1_150,
    "one argument, 200 kB": "echo " + "A" * 200_000,
    "words, 200 kB": "rm " + "a " * 100_000,
    "a live here-document, 200 kB": f"cat > x.py <<EOF\n{LINE * 4_700}EOF\n",
    "a chain, 200 kB": "rm a && " * 25_000 + "ls",
    "a pipeline, 200 kB": "ls | " * 40_000 + "ls",
    "nested substitutions, 200 kB": "$(" * 66_000 + "ls" + ")" * 66_000,
    "wrappers, 200 kB": "sudo " * 40_000 + "ls",
    "evaluated texts, 200 kB": "eval " * 40_000 + "ls",
    "braces, 200 kB": "rm " + "{a,b} " * 33_000,
    "globs, 200 kB": "cat " + "*/ " * 66_000,
    "open quotes, 200 kB": '"$(' * 66_000,
    "arithmetic, 200 kB": "((" + "1+" * 99_000 + "1))",
}


def best_ms(work: Callable[[], object], rounds: int) -> float:
    """Return the least processor time of some rounds, in milliseconds."""
    times: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        times.append((time.process_time() - began) * 1000)
    return min(times)


def measure(texts: dict[str, str], goal: float, rounds: int) -> list[Figure]:
    """Return what each text takes, measured in turns with the parser alone."""
    parser = Parser(Language(tree_sitter_bash.language()))
    figures: list[Figure] = []
    for name, text in texts.items():
        source = text.encode()
        ours = best_ms(lambda text=text: scanned(text), rounds)
        floor = best_ms(lambda source=source: parser.parse(source), rounds)
        figures.append(Figure(name, ours, goal))
        print(f"{name:<52} {ours:9.2f} ms  the parser alone {floor:9.2f} ms  {ours / floor:6.1f}x", flush=True)
    return figures


def main() -> int:
    """Measure and print; 1 when a goal is missed."""
    scanned("ls")
    return report([*measure(SMALL, SMALL_MS, 7), *measure(LARGE, LARGE_MS, 3)])


if __name__ == "__main__":
    sys.exit(main())
