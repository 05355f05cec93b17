"""kill -9 at random points of undo and redo: the next start makes record and files consistent. `stress_undo` does it 300 times."""

import random

import pytest

from tests.support.undo.kills import make_undone

pytestmark = pytest.mark.slow


KILLS = 2


def test_a_kill_leaves_the_files_and_the_record_in_step(tmp_path, server):
    undone = make_undone(tmp_path, server.config())
    chance = random.Random(1)
    assert [what for _ in range(KILLS) for what in undone.kill(chance)] == []
