"""Held against bash itself: what a script wrote outside the project was reported, or the script was opaque."""

import itertools
import random
import shutil
from pathlib import Path

import pytest

from opencode_tui.engine.permission.shell.scan import scan
from tests.support.shell.scripts import World, random_script, unreported

SCRIPTS = 12


@pytest.mark.fast_cases("0")
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is what the scanner is held against")
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_written_outside_unreported(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path)
    world.build()
    numbers = itertools.count()
    chance = random.Random(seed)
    for _ in range(SCRIPTS):
        script = random_script(chance, tmp_path, lambda: f"f{next(numbers)}")
        found = scan(script, cwd=str(world.project), home=str(tmp_path / "home"), project_root=str(world.project))
        assert (script, unreported(world.run(script), found)) == (script, set())


def test_real_links_and_globs_are_looked_up(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.build()
    found = scan("cat link_*/x > src/y", cwd=str(world.project), home=str(tmp_path), project_root=str(world.project))
    assert [(path.path, path.mode, path.folder) for path in found.external] == [
        (str(tmp_path / "out/x"), "r", str(tmp_path / "out"))
    ]
