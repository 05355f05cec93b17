"""What a command in tier B leaves, however it hides, ends with the command, and with this program."""

import multiprocessing
import os
import signal
from pathlib import Path

import psutil
import pytest

from opencode_tui.engine.tool.process.process import Command, ShellProcess
from tests.engine.sandbox.confined import Confined
from tests.engine.sandbox.conftest import require, require_tier
from tests.support.world.machine import PYTHON
from tests.support.world.waiting import wait_until

pytestmark = pytest.mark.slow


LEAVE = """
import os, sys, time
if sys.argv[1:2] == ["stay"]:
    with open("pids", "a") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(300)
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.setpgid(0, 0) if os.getsid(0) != os.getpid() else None
        os.closerange(0, 1024)
        os.execve(sys.executable, [sys.executable, os.path.abspath(__file__), "stay"], {})
    os.wait()
"""
"""Leaves processes that have two parents fewer, a session of their own, an empty environment and no open file."""

AWAIT = 'while [ "$(cat pids 2>/dev/null | wc -l)" -lt {} ]; do sleep 0.02; done'

HOSTILE = {
    "signals to its parent": "kill -9 $PPID; kill -STOP $PPID; kill -TERM $PPID",
    "signals to the group of its parent": "kill -9 -- -$PPID; kill -STOP -- -$PPID",
    "signals by python": "python3 -c 'import os, signal\nfor n in (9, 19, 15): os.kill(int(os.environ[\"UP\"]), n)'",
    "a debugger": "python3 -c 'import ctypes, os; print(ctypes.CDLL(None).ptrace(16, int(os.environ[\"UP\"]), 0, 0))'",
    "its memory": "(echo x > /proc/$PPID/mem) 2>/dev/null; (cat /proc/$PPID/environ > env) 2>/dev/null",
    "its files": "for n in 0 1 2 3 4 5 6 7; do (echo > /proc/$PPID/fd/$n) 2>/dev/null; done; true",
}


@pytest.fixture
def tier_b(tmp_path: Path) -> Confined:
    found = require("landlock", tmp_path)
    (found.project / "leave.py").write_text(LEAVE)
    return found


def pids(confined: Confined) -> list[int]:
    return [int(line) for line in (confined.project / "pids").read_text().split()]


def is_alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("number", [1, 5])
def test_what_a_command_leaves_is_ended_and_named(tier_b: Confined, number: int) -> None:
    ended, output = tier_b.run(f"{PYTHON} leave.py {number}; {AWAIT.format(number)}; echo done; exit 3")
    assert (ended.reason, ended.exit_code, output) == ("exit", 3, "done\n")
    assert len(ended.leftovers) == number and all(one.startswith(PYTHON) for one in ended.leftovers)
    assert [pid for pid in pids(tier_b) if is_alive(pid)] == []


@pytest.mark.parametrize("way", ["cancel", "timeout"])
def test_it_ends_with_a_command_that_is_ended(tier_b: Confined, way: str) -> None:
    text = f"{PYTHON} leave.py 2; {AWAIT.format(2)}; echo ready; sleep 300"
    ended, _ = tier_b.run(text, cancel_at=b"ready") if way == "cancel" else tier_b.run(text, timeout_ms=8_000)
    assert ended.reason == way
    assert [pid for pid in pids(tier_b) if is_alive(pid)] == []


@pytest.mark.parametrize("name", HOSTILE)
def test_a_command_cannot_end_what_watches_over_it(tier_b: Confined, name: str) -> None:
    text = f"export UP=$PPID; {HOSTILE[name]} 2>/dev/null; {PYTHON} leave.py 1; {AWAIT.format(1)}; exit 5"
    ended, _ = tier_b.run(text)
    assert (ended.exit_code, len(ended.leftovers)) == (5, 1)
    assert [pid for pid in pids(tier_b) if is_alive(pid)] == []


def run_until_killed(base: Path) -> None:
    """Run a command that leaves a process and stays itself; never returns."""
    confined = Confined("landlock", base)
    (confined.project / "leave.py").write_text(LEAVE)
    text = f"{PYTHON} leave.py 3; {AWAIT.format(3)}; echo $$ >> pids; trap '' TERM HUP INT; while :; do sleep 1; done"
    launch = confined.plan(("/bin/bash", "-c", "--", text))
    command = Command(text, confined.project, confined.policy.environ, 300_000, "/bin/bash", launch)
    ShellProcess(command, lambda data: None, cancel=os.pipe()[0]).run()


def test_everything_ends_when_this_program_is_killed(tmp_path: Path) -> None:
    require_tier("landlock")
    process = multiprocessing.get_context("spawn").Process(target=run_until_killed, args=(tmp_path,))
    process.start()
    listed = tmp_path / "project/pids"
    wait_until(lambda: listed.exists() and len(listed.read_text().split()) == 4)
    left = [int(line) for line in listed.read_text().split()]
    assert len(left) == 4 and all(is_alive(one) for one in left)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    wait_until(lambda: not any(map(is_alive, left)))


@pytest.mark.parametrize(
    ("text", "code", "output"),
    [("exit 7", 7, ""), ("kill -9 $$", 137, ""), ("kill -TERM $$", 143, ""), ("echo a; echo b >&2; true", 0, "a\nb\n")],
)
def test_exit_codes_and_outputs_are_those_of_the_command(tier_b: Confined, text: str, code: int, output: str) -> None:
    ended, said = tier_b.run(text)
    assert (ended.exit_code, said, ended.leftovers) == (code, output, ())


def test_a_program_that_is_missing_is_an_error_with_its_name(tier_b: Confined) -> None:
    launch = tier_b.plan(("/bin/no-such-program",))
    command = Command("x", tier_b.project, tier_b.policy.environ, 1_000, "sh", launch)
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        ShellProcess(command, lambda data: None, cancel=os.pipe()[0]).run()


def test_signals_that_a_command_handles_reach_it(tier_b: Confined) -> None:
    ended, output = tier_b.run(
        "trap 'echo handled; exit 4' TERM; echo ready; while :; do sleep 0.05; done", cancel_at=b"ready"
    )
    assert ended.reason == "cancel" and output.endswith("handled\n")
