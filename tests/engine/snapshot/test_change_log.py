"""The change log: all entries are read back, and damaged lines are skipped."""

import os
from pathlib import Path

from opencode_tui.engine.snapshot.change_log import ChangeHistory, ChangeLog, ShellRun, ToolWrite
from opencode_tui.engine.snapshot.entry import Entry, State

A = Entry("file", 0o644, "a" * 40)


def write(claims: ChangeLog, path: str, change: tuple[State, State], *, time: int) -> None:
    claims.end_write(claims.begin_write("s", {path: change}, time=time), done=True, time=time)


def test_writes_shells_and_contested_paths_are_read_back(tmp_path: Path):
    claims = ChangeLog(str(tmp_path / "claims"))
    write(claims, "p", (None, A), time=1)
    key = claims.begin_shell("s", time=2)
    claims.end_shell(key, time=3)
    claims.begin_shell("t", time=4)
    claims.mark_contested("snapshot", ["p"], time=5)
    assert claims.read() == ChangeHistory(
        [ToolWrite("s", "p", "", A.id, 1)], [ShellRun("s", 2, 3), ShellRun("t", 4)], {"snapshot": {"p"}}
    )


def test_a_shell_of_a_dead_process_is_over(tmp_path: Path):
    path = tmp_path / "claims"
    child = os.fork()
    if child == 0:
        ChangeLog(str(path)).begin_shell("s", time=7)
        os._exit(0)
    os.waitpid(child, 0)
    assert ChangeLog(str(path)).read().shells == [ShellRun("s", 7, 7)]


def test_half_a_line_costs_itself_alone(tmp_path: Path):
    path = tmp_path / "claims"
    claims = ChangeLog(str(path))
    write(claims, "p", (A, None), time=1)
    with open(path, "ab") as file:
        file.write(b'{"session": "s", "pa\n[1]\n{"session": 3}\n')
    write(claims, "q", (A, None), time=2)
    assert [claim.path for claim in claims.read().writes] == ["p", "q"]


def test_old_writes_are_deleted(tmp_path: Path):
    claims = ChangeLog(str(tmp_path / "claims"))
    write(claims, "old", (A, None), time=1)
    write(claims, "young", (A, None), time=9)
    claims.expire(before=5)
    assert [claim.path for claim in claims.read().writes] == ["young"]
