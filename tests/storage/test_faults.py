import pytest

from opencode_tui.storage.paths import Paths
from tests.storage.fault_scenarios import FAULTS, SCENARIOS, complaint, count_calls

EVERY = 7
"""Each n-th call here; every call in the benchmarks."""


@pytest.mark.fast_cases("short write-grow, flush, remove", "ENOSPC-update")
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("fault", FAULTS)
def test_failing_call_leaves_the_old_or_the_new_state_and_says_so(paths: Paths, scenario: str, fault: str):
    calls = count_calls(paths, scenario)
    assert calls >= 5
    shift = sorted(FAULTS).index(fault)
    for at in range(1 + shift, calls + 1, EVERY):
        assert (at, complaint(paths, scenario, at=at, fault=fault)) == (at, None)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_disk_that_stays_full_leaves_the_old_or_the_new_state(paths: Paths, scenario: str):
    for at in range(1, count_calls(paths, scenario) + 1, EVERY):
        assert (at, complaint(paths, scenario, at=at, fault="ENOSPC", lasting=True)) == (at, None)
