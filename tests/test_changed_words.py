"""No part of the program reads a sentence of another part: with every sentence changed, it looks the same but for the letters."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parents[1]
PICTURES = sorted(path for path in (ROOT / "tests/tui/screens").glob("test_*.py") if "snap_compare" in path.read_text())
TYPED = ("login-in-the-browser", "login-accounts", "login-sign-out")
"""Pictures that are reached by typing words of the screen into a list."""


@pytest.mark.timeout(1200)  # 160 pictures one after the other: 40 s alone, 300 beside a load of 15
def test_changed_sentences_change_only_letters_on_screen() -> None:
    assert PICTURES
    without = " and not ".join(("", *TYPED)).removeprefix(" and ")
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.source.changed_words", "-n", "0", "-k", without]
    done = subprocess.run([*command, *map(str, PICTURES)], cwd=ROOT, env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, "\n".join(
        line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))
    )
    assert " deselected" in done.stdout
