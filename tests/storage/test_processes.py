import random

import pytest

from opencode_tui.storage.paths import Paths
from tests.storage.load import kill_while_writing, run_processes


@pytest.mark.slow
def test_eight_processes_lose_no_update_and_tear_no_read(paths: Paths):
    outcome = run_processes(paths, processes=8, operations=25)
    assert (outcome["failed"], outcome["lost"]) == (0, 0)


@pytest.mark.slow
def test_kill_while_writing_loses_nothing_acknowledged(paths: Paths):
    rng = random.Random(7)
    for _ in range(10):
        assert kill_while_writing(paths, after_s=rng.uniform(0.0, 0.1)) is None
