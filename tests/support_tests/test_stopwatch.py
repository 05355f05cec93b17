"""The stopwatch counts what is waited for and what is computed, and leaves out what the scheduler used for others."""

import os
import subprocess
import sys
import threading
import time

import pytest

from tests.support.world.stopwatch import Stopwatch

NAP_S = 0.05


def test_a_wait_counts() -> None:
    watch = Stopwatch("self/task/none")
    threading.Event().wait(NAP_S)
    assert NAP_S <= watch.seconds <= watch.passed


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs processes that are held on one core")
def test_the_time_of_other_programs_does_not() -> None:
    """Two programs compute on one core: each is ready all the time, and has half of it."""
    watch = Stopwatch(f"self/task/{threading.get_native_id()}")
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    other = subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
    try:
        began = time.thread_time()
        while time.thread_time() - began < NAP_S:
            pass
        assert NAP_S * 0.9 <= watch.seconds < watch.passed - NAP_S / 5
    finally:
        os.sched_setaffinity(0, allowed)
        other.kill()
        other.wait()
