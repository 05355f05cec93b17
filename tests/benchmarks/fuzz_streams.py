"""Cut and damaged streams of all four formats through the decoders: `python -m tests.benchmarks.fuzz_streams [EXAMPLES]`."""

import os
import sys
import time

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.provider.damage import BY_API, damaged
from tests.engine.provider.test_chunking import PLACES, check_cut, check_damaged

EXAMPLES = 2_000 if os.environ.get("BENCHMARK_QUICK") else 20_000
"""Of each format, cut and damaged."""


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLES
    many = settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    for api, streams in BY_API.items():
        for name, check in (
            ("cut", many(given(st.sampled_from(streams), PLACES)(check_cut))),
            ("damaged", many(given(damaged(streams))(check_damaged))),
        ):
            begin = time.monotonic()
            check()
            seconds = time.monotonic() - begin
            print(f"{api} {name}: {count} examples, all heard alike or refused, {seconds:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
