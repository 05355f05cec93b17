"""Random histories of a session: nothing is lost, undo is exact, redo restores everything."""

import pytest
from hypothesis import HealthCheck, settings

from tests.support.undo.machine import UndoMachine

pytestmark = pytest.mark.slow


UndoMachine.TestCase.settings = settings(
    max_examples=10,
    stateful_step_count=6,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


class TestUndoHistories(UndoMachine.TestCase):
    """Short ones; many long ones are a benchmark."""
