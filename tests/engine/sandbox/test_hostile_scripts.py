"""Hostile scripts, executed in each tier inside an outer guard: bubblewrap with the whole disk read-only but one folder."""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.engine.sandbox.conftest import prepared, require
from tests.engine.sandbox.hostile import IN_VIEW, SCRIPTS, SHARED_PROC
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


NOT_HELD = {
    "bubblewrap": set[str](),
    IN_VIEW: set[str](),
    "landlock": {
        "connect to a socket file",
        "change modes",
        "change times",
        "write git's settings",
        "write git's settings by a rename",
        "write a hook",
        "move hooks away",
        "move .git away",
        "link over git's settings",
        "remove .git",
        "move the folder of a nested repository",
        "write a nested repository's settings",
        "read a hidden file",
        "read a hidden file by a copy",
        "read a hidden file by its folder",
        "read a hidden file by git",
        "change a hidden file's mode",
        "empty a hidden file",
    },
}
"""What a tier cannot hold, as `doctor` and the README say: no more and no less."""


@cache
def _run_all(tier: str, base: str) -> dict[str, list[str]]:
    guard = shutil.which("bwrap")
    if guard is None:
        pytest.skip("the outer guard needs bubblewrap")
    Path(base).mkdir()
    proc = ["--proc", "/proc", "--unshare-pid"] if os.geteuid() == 0 else ["--bind", "/proc", "/proc"]
    command = [guard, "--ro-bind", "/", "/", "--dev", "/dev", *proc, "--tmpfs", "/dev/shm", "--bind", base, base]
    command += ["--unshare-net", "--unshare-uts", "--unshare-ipc", "--die-with-parent", "--new-session"]
    command += ["--", sys.executable, "-m", "tests.engine.sandbox.hostile", tier, base]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_without_a_proc_of_its_own_bubblewrap_holds_what_looks_for_other_processes(tmp_path: Path) -> None:
    require("bubblewrap", tmp_path)
    reached = _run_all(SHARED_PROC, str(tmp_path / "guarded"))
    assert len(reached) >= 15
    assert {name: what for name, what in reached.items() if what} == {}


@pytest.mark.parametrize("tier", ["bubblewrap", IN_VIEW, "landlock"])
def test_a_tier_holds_all_scripts_but_those_that_are_named(tier, tmp_path: Path) -> None:
    prepared(tmp_path) if tier == IN_VIEW else require(tier, tmp_path)
    reached = _run_all(tier, str(tmp_path / "guarded"))
    assert len(reached) == len(SCRIPTS) >= 60
    assert {name: what for name, what in reached.items() if what and name not in NOT_HELD[tier]} == {}
    assert {name for name, what in reached.items() if what} == NOT_HELD[tier]
