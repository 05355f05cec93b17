"""The first run on a new machine: no key, no settings, an empty home, and real work in the folder."""

import pytest

from tests.support.world.cli import CommandLine
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


def test_the_demo_model_creates_and_runs_without_any_settings(tmp_path, environ):
    folder = tmp_path / "fresh"
    folder.mkdir()
    line = CommandLine(folder, environ)
    created = line.run("run", "create hello.py that prints hello world")
    assert created.code == 0 and "demo" in (created.stdout + created.stderr).lower()
    assert "hello" in (folder / "hello.py").read_text().lower()
    ran = line.run("run", "-c", "run python3 hello.py")
    assert ran.code == 0 and "hello" in (ran.stdout + ran.stderr).lower()
    assert line.survivors(grace_s=PATIENCE_S) == []
