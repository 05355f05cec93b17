"""Random histories of undo on two engines while the clock jumps and the disk fails: all is whole or not there."""

import pytest
from hypothesis import HealthCheck, settings

from tests.support.undo.hard_machine import HardUndoMachine

pytestmark = pytest.mark.slow

HardUndoMachine.TestCase.settings = settings(
    max_examples=10,
    stateful_step_count=10,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


class TestHardHistories(HardUndoMachine.TestCase):
    """Short ones; many long ones are a benchmark."""
