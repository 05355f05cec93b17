"""Many random histories of a state machine, in portions whose seed is printed: a portion that fails can be run again by itself."""

import time

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.benchmarks.rounds import report_progress

_PORTION = 250


def run_histories(
    machine: type[RuleBasedStateMachine], *, count: int, steps: int, first_seed: int, after: int = 0
) -> None:
    """Run so many histories of at most `steps` acts each; raise what one shows to be wrong, shrunk.

    `after` is the number of rounds of the benchmark before, for its progress.
    """
    started = time.monotonic()
    for done in range(0, count, _PORTION):
        portion = min(_PORTION, count - done)
        chosen = settings(
            max_examples=portion,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            suppress_health_check=[HealthCheck.too_slow],
        )
        print(f"{machine.__name__} {done} of {count}, seed {first_seed + done}", flush=True)
        run_state_machine_as_test(seed(first_seed + done)(machine), settings=chosen)
        report_progress(after + done + portion, after + count)
    print(f"{machine.__name__} {count} of {count} in {time.monotonic() - started:.0f} s", flush=True)
