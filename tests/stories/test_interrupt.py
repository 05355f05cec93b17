"""Ctrl-C ends a run cleanly at any time; `bench_interrupt` measures how long that takes."""

import pytest

from tests.support.faults.interrupt import Interruption

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("situation", ["stream", "tool", "retry"])
def test_ctrl_c_ends_with_130_and_closed_records(line, server, paths, situation):
    interruption = Interruption(line, server, paths.storage)
    ended = getattr(interruption, situation)(0.2)
    assert (ended.code, ended.complaints) == (130, [])
