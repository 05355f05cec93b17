"""kill -9 while the index is built: it is usable or made anew, and never wrong. `stress_search_kill` does it 200 times."""

import random

import pytest

from opencode_tui.storage.paths import Paths
from tests.support.search.kills import KilledBuild

pytestmark = pytest.mark.slow


KILLS = 2


@pytest.mark.timeout(1800)  # the builds run with the lowest priority: beside a load each lasts minutes
def test_a_kill_leaves_an_index_that_is_right(paths: Paths):
    killed = KilledBuild(paths, sessions=12)
    chance = random.Random(1)
    assert [what for _ in range(KILLS) for what in killed.kill(chance)] == []
