"""Many random histories of a state machine, in portions whose seed is printed: a portion that fails can be run again by itself."""

import multiprocessing
import os
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from benchmarks.rounds import report_progress

_PORTION = 125


def run_histories(
    machine: type[RuleBasedStateMachine], *, count: int, steps: int, first_seed: int, after: int = 0
) -> None:
    """Run so many histories of at most `steps` acts each, a portion a core at a time; at the end raise what they show to be wrong.

    A portion that fails prints its shortest history and does not end the others.
    `after` is the number of rounds of the benchmark before, for its progress.
    """
    started, done = time.monotonic(), 0
    failures: list[BaseException] = []
    with ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs = {
            pool.submit(_run_portion, machine, portion, steps, first_seed + start): portion
            for start in range(0, count, _PORTION)
            if (portion := min(_PORTION, count - start))
        }
        for job in as_completed(jobs):
            if (error := job.exception()) is not None:
                failures.append(error)
                traceback.print_exception(error)
            done += jobs[job]
            report_progress(after + done, after + count)
    if failures:
        raise failures[0]
    print(f"{machine.__name__} {count} of {count} in {time.monotonic() - started:.0f} s", flush=True)


def _run_portion(machine: type[RuleBasedStateMachine], portion: int, steps: int, portion_seed: int) -> None:
    print(f"{machine.__name__} {portion}, seed {portion_seed}", flush=True)
    chosen = settings(
        max_examples=portion,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(seed(portion_seed)(machine), settings=chosen)
