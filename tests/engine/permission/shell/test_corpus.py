"""The shared corpus of shell commands, through the command that it is written for."""

import subprocess
import sys
from pathlib import Path

from tests.support.world.corpora import shared_corpus

ROOT = Path(__file__).parents[4]


def test_every_case_of_the_corpus_passes() -> None:
    runner = shared_corpus("bash.py")
    command = [sys.executable, str(runner), "--command", f"{sys.executable} -m opencode_tui"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1].endswith(" 0 failed")) == (0, True), done.stdout
