"""Many thousand cut and damaged streams through the decoders: `python -m tests.benchmarks.fuzz_streams [EXAMPLES]`."""

import sys
import time

from hypothesis import HealthCheck, given, settings

from tests.engine.provider.test_chunking import CUT_STREAMS, check_cut, check_damaged, damaged_events

EXAMPLES = 20_000


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLES
    many = settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    for name, check in (
        ("cut", many(given(*CUT_STREAMS)(check_cut))),
        ("damaged", many(given(damaged_events())(check_damaged))),
    ):
        begin = time.monotonic()
        check()
        print(f"{name}: {count} examples, all heard alike or refused, {time.monotonic() - begin:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
