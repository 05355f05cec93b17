"""What the user reads of 230 errors of seven providers, as one table: `python -m tests.benchmarks errors`."""

import sys
from collections import Counter

from opencode_tui.schema.error import split_remedy
from tests.support.provider.error_corpus import error_lines, error_of


def main() -> int:
    counts: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for line in sorted(error_lines(), key=lambda one: (one["provider"], one["class"])):
        error = error_of(line)
        reason, remedy = split_remedy(str(error))
        has_cause = all(word.lower() in reason.lower() for word in line["cause"])
        has_remedy = all(word.lower() in remedy.lower() for word in line["remedy"])
        is_right = has_cause and has_remedy and error.failure.kind == line["kind"]
        counts[line["provider"]] += 1
        right[line["provider"]] += is_right
        origin = "invented" if line["invented"] else "found"
        again = "retried" if error.failure.retryable else "not retried"
        print(f"{line['provider']:<14} {line['class']:<32} {error.failure.kind:<15} {again:<11} {origin:<8} {error}")
    print("\nprovider        bodies  right")
    for provider, count in sorted(counts.items()):
        print(f"{provider:<14} {count:>7} {right[provider]:>6}")
    print(f"{'all':<14} {counts.total():>7} {right.total():>6}")
    return 0 if right.total() == counts.total() else 1


if __name__ == "__main__":
    sys.exit(main())
