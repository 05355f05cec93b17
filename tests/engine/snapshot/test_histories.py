"""Random histories: nothing that somebody made is ever lost, and the repository stays untouched."""

import pytest
from hypothesis import HealthCheck, settings

from tests.support.snapshot.machine import SnapshotMachine

pytestmark = pytest.mark.slow


SnapshotMachine.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=6,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


class TestHistories(SnapshotMachine.TestCase):
    """Short ones; many long ones are a benchmark."""
