"""How many modules of the product a prompt, a delta and an undo pass; what counts is written in the benchmark."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parents[1]


def test_a_prompt_a_delta_and_an_undo_pass_few_modules():
    """In a process of its own: the profile hook sees every thread, and modules that are loaded already are not loaded again."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.bench_trips"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
    )
    counted = [line for line in run.stdout.splitlines() if line.startswith("modules: ")]
    assert len(counted) == 5, run.stdout + run.stderr
    assert run.returncode == 0, run.stdout
