"""Temporary files of the file tools: never part of a snapshot, and removed where a killed process left them."""

import os
import socket
import subprocess
import sys

import pytest

from opencode_tui.engine.snapshot.temporary import is_left_over, is_temporary, temporary_name
from tests.support.snapshot.worktree import World

DAY_NS = 24 * 3600 * 10**9


def dead_name(ending: str) -> str:
    """Return a name that a process made which has ended."""
    code = f"from opencode_tui.engine.snapshot.temporary import temporary_name; print(temporary_name({ending!r}))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("ending", ["tmp", "old"])
async def test_what_a_killed_process_left_is_removed_and_never_recorded(world: World, ending: str):
    world.write("dir/a")
    before = await world.snapshots.track()
    left = world.write(f"dir/{dead_name(ending)}", "x")
    used = world.write(f"dir/{temporary_name('tmp')}", "y")
    patch = await world.snapshots.patch(before.id)
    assert (patch.files, left.exists(), used.exists()) == ([], False, True)


async def test_a_link_that_was_kept_is_removed_and_what_it_leads_to_stays(world: World, tmp_path):
    outside = tmp_path / "precious"
    outside.write_text("mine")
    (world.root / dead_name("old")).symlink_to(outside)
    await world.snapshots.track()
    assert os.listdir(world.root) == [] and outside.read_text() == "mine"


@pytest.mark.parametrize(
    "name",
    [
        ".opencode-tui-0123456789abcdef.tmp",
        ".opencode-tui-0123456789abcdef.old",
        ".opencode-tui-77-1-00000000-0123456789abcdef.old",
    ],
)
def test_a_name_that_does_not_say_whose_it_is_counts_as_left_after_a_day(tmp_path, name: str):
    status = tmp_path.stat()
    assert is_temporary(name)
    assert not is_left_over(name, status, now_ns=status.st_ctime_ns + DAY_NS // 2)
    assert is_left_over(name, status, now_ns=status.st_ctime_ns + 2 * DAY_NS)


def test_a_process_whose_id_is_in_use_again_does_not_keep_the_file(tmp_path):
    name, status = temporary_name("tmp"), tmp_path.stat()
    pid, started, rest = name.removeprefix(".opencode-tui-").split("-", 2)
    assert not is_left_over(name, status, now_ns=status.st_ctime_ns)
    other = f".opencode-tui-{pid}-{int(started) + 1}-{rest}"
    assert is_left_over(other, status, now_ns=status.st_ctime_ns)


@pytest.mark.parametrize("name", ["opencode-tui-1.tmp", ".opencode-tui-1.txt", ".opencode-tui-.tmp", "a.old"])
async def test_a_file_of_the_user_is_not_one_of_ours(world: World, name: str):
    world.write(name, "mine")
    os.utime(world.root / name, ns=(0, 0))
    await world.snapshots.track()
    assert not is_temporary(name) and (world.root / name).read_text() == "mine"


def test_the_name_does_not_show_the_host(monkeypatch):
    assert socket.gethostname() not in temporary_name("tmp")
