"""The change log: lines are numbered, none is lost, what a dead process left is closed, and damaged lines are skipped."""

import errno
import json
import os
import threading
from pathlib import Path

import pytest

from opencode_tui.engine.snapshot.change_log import ChangeHistory, ChangeLog, ShellRun, ToolWrite
from opencode_tui.engine.snapshot.entry import Entry, State
from opencode_tui.schema.error import StorageError
from opencode_tui.storage.files import FileSystem

A = Entry("file", 0o644, "a" * 40)
DAY_MS = 24 * 3_600_000


def write(claims: ChangeLog, path: str, change: tuple[State, State] = (A, None), *, time: int = 1) -> None:
    claims.end_write(claims.begin_write("s", {path: change}, time=time), done=True, time=time)


def begin_elsewhere(path: Path, *, time: int) -> None:
    """Let a process begin a shell, which ends without a word."""
    child = os.fork()
    if child == 0:
        ChangeLog(str(path)).begin_shell("s", time=time)
        os._exit(0)
    os.waitpid(child, 0)


def edit_lines(path: Path, **fields: object) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**line, **fields}) + "\n" for line in lines))


def test_writes_shells_and_contested_paths_are_read_back_by_their_numbers(tmp_path: Path):
    claims = ChangeLog(str(tmp_path / "claims"))
    write(claims, "p", (None, A), time=1)
    key = claims.begin_shell("s", time=2)
    claims.end_shell(key, time=3)
    claims.begin_shell("t", time=4)
    claims.mark_contested("snapshot", ["p"], time=5)
    assert claims.position() == 6
    assert claims.read() == ChangeHistory(
        [ToolWrite("s", "p", "", A.id, 2)], [ShellRun("s", 3, 4), ShellRun("t", 5)], {"snapshot": {"p"}}, last=6
    )


@pytest.mark.parametrize("jump", [-7_200_000, 7_200_000])
def test_what_came_after_is_known_although_the_clock_jumps(tmp_path: Path, jump: int):
    claims, now = ChangeLog(str(tmp_path / "claims")), 10**12
    write(claims, "before", time=now)
    claims.end_shell(claims.begin_shell("before", time=now), time=now)
    since = claims.position()
    write(claims, "after", time=now + jump)
    assert claims.read().written_since(since) == {"after"}
    assert not claims.read().may_have_other_shell("s", since=since)
    claims.begin_shell("after", time=now + jump)
    assert claims.read().may_have_other_shell("s", since=since)


def test_a_shell_of_a_dead_process_is_over_from_the_next_window_on(tmp_path: Path):
    path = tmp_path / "claims"
    begin_elsewhere(path, time=7)
    claims = ChangeLog(str(path))
    assert claims.read().may_have_other_shell("t", since=0)  # it may have run beside what began before
    claims.close_left(now=8)
    assert not claims.read().may_have_other_shell("t", since=claims.position())


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"process": os.getpid(), "processStarted": "1"}, id="its-id-is-in-use-again"),
        pytest.param({"process": 1, "processStarted": None}, id="of-a-version-without-start-times"),
        pytest.param({"host": "other", "started": 0}, id="of-another-host-a-day-ago"),
    ],
)
def test_a_command_whose_process_is_not_the_one_that_began_it_is_over(tmp_path: Path, fields: dict[str, object]):
    path = tmp_path / "claims"
    claims = ChangeLog(str(path))
    claims.begin_shell("s", time=7)
    edit_lines(path, **fields)
    claims.close_left(now=2 * DAY_MS)
    assert not claims.read().may_have_other_shell("t", since=claims.position())


@pytest.mark.parametrize("fields", [{"host": "other"}, {"process": os.getppid()}], ids=["on-another-host", "alive"])
def test_a_command_that_may_run_is_not_closed(tmp_path: Path, fields: dict[str, object]):
    path = tmp_path / "claims"
    claims = ChangeLog(str(path))
    claims.begin_shell("s", time=7)
    if "process" in fields:
        fields["processStarted"] = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[19]
    edit_lines(path, **fields)
    claims.close_left(now=8)
    assert claims.read().may_have_other_shell("t", since=claims.position())


def test_a_write_that_a_killed_process_began_belongs_to_nobody_who_looked_before(tmp_path: Path):
    path = tmp_path / "claims"
    claims = ChangeLog(str(path))
    claims.begin_write("s", {"p": (A, None)}, time=1)
    edit_lines(path, process=4_000_000)
    assert claims.read().written_since(claims.position()) == {"p"}  # nobody knows yet whether it is done
    before = claims.position()
    claims.close_left(now=2)
    assert claims.read().written_since(before) == {"p"}
    assert claims.read().written_since(claims.position()) == set()


def test_an_end_that_could_not_be_written_comes_with_the_next_line(tmp_path: Path):
    class Full(FileSystem):
        is_full = False

        def write(self, descriptor: int, data: memoryview) -> int:
            if self.is_full:
                os.write(descriptor, data[:5])
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(descriptor, data)

    files = Full()
    claims = ChangeLog(str(tmp_path / "claims"), files=files)
    key = claims.begin_shell("s", time=1)
    files.is_full = True
    with pytest.raises(StorageError):
        claims.end_shell(key, time=2)
    files.is_full = False
    claims.begin_step("msg", "b" * 40, session="t", time=3)
    history = claims.read()
    assert [run.ended is None for run in history.shells] == [False] and set(history.steps) == {"msg"}


def test_lines_appended_while_others_are_trimmed_stay(tmp_path: Path):
    path = tmp_path / "claims"
    now = 10**12
    old = [{"written": f"{n:016x}", "done": True, "time": 1} for n in range(9_000)]
    path.write_text("".join(json.dumps(line) + "\n" for line in old))
    keys: list[str] = []

    def append() -> None:
        claims = ChangeLog(str(path))
        for _ in range(60):
            key = claims.begin_shell("s", time=now)
            claims.end_shell(key, time=now)
            keys.append(key)

    threads = [threading.Thread(target=append) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        ChangeLog(str(path)).trim(now=now)
        ChangeLog(str(path)).expire(before=now)
    history = ChangeLog(str(path)).read()
    assert (len(history.shells), len(set(keys))) == (180, 180)
    ends = [run.ended for run in history.shells if run.ended is not None]
    assert len(ends) == len(set(ends)) == 180


def test_half_a_line_costs_itself_alone(tmp_path: Path):
    path = tmp_path / "claims"
    claims = ChangeLog(str(path))
    write(claims, "p", time=1)
    with open(path, "ab") as file:
        file.write(b'{"session": "s", "pa\n[1]\n{"session": 3}\n{"n": "x"}\n{"shell": "un')
    write(claims, "q", time=2)
    assert [claim.path for claim in claims.read().writes] == ["p", "q"]
    assert claims.position() == 4


def test_lines_without_numbers_are_before_the_first_that_has_one(tmp_path: Path):
    path = tmp_path / "claims"
    path.write_text(
        '{"write": "1", "session": "s", "paths": {"p": ["", ""]}, "time": 5}\n{"written": "1", "done": true, "time": 6}\n'
    )
    claims = ChangeLog(str(path))
    since = claims.position()
    assert claims.read().written_since(since) == set()
    write(claims, "q", time=1)
    assert claims.read().written_since(since) == {"q"}


def test_old_writes_are_deleted_and_numbers_continue(tmp_path: Path):
    claims = ChangeLog(str(tmp_path / "claims"))
    write(claims, "old", time=1)
    write(claims, "young", time=9)
    claims.expire(before=5)
    assert [claim.path for claim in claims.read().writes] == ["young"]
    claims.expire(before=50)
    assert claims.position() == 4


def test_what_is_open_outlives_its_age_with_all_that_came_after(tmp_path: Path):
    claims = ChangeLog(str(tmp_path / "claims"))
    write(claims, "before", time=1)
    claims.begin_shell("s", time=1)
    since = claims.position()
    write(claims, "after", time=1)
    claims.expire(before=5)
    assert [claim.path for claim in claims.read().writes] == ["after"]
    assert claims.read().written_since(since) == {"after"}


def test_a_log_that_was_lost_makes_all_doubtful(tmp_path: Path):
    path = tmp_path / "claims"
    claims = ChangeLog(str(path))
    write(claims, "p")
    since = claims.position()
    path.unlink()
    assert claims.read().may_have_other_shell("s", since=since)
