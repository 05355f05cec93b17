"""Generated histories through the strict readers of all four formats: `python -m tests.benchmarks.fuzz_requests [EXAMPLES]`."""

import os
import sys
import time

from hypothesis import HealthCheck, given, settings

from tests.engine.session.test_requests_are_valid import FORMATS, check_requests
from tests.support.sessions.histories import HISTORIES

EXAMPLES = 2_000 if os.environ.get("BENCHMARK_QUICK") else 20_000


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLES
    many = settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    begin = time.monotonic()
    many(given(HISTORIES)(check_requests))()
    seconds = time.monotonic() - begin
    print(
        f"{count} histories, {len(FORMATS)} formats ({', '.join(FORMATS)}): 0 violations, {seconds:.0f} s", flush=True
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
