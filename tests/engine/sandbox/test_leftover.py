"""Kills of this program while bubblewrap starts: nothing of it stays, whatever it had done by then."""

import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.process import BaseProcess
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from opencode_tui.engine.tool.process.process import Command, ShellProcess
from tests.engine.sandbox.confined import Confined
from tests.engine.sandbox.conftest import require_tier
from tests.support.world.waiting import wait_until

pytestmark = pytest.mark.slow


BEFORE_ITS_CHILD_BEGINS = ('exec 9<>"$0"; exec "$@"', ("--unshare-user", "--userns-block-fd", "9"))
"""bubblewrap has made its child, has asked the kernel to end with us, and waits before it lets the child begin."""

BEFORE_IT_STARTS = ('read -r _ <"$0"; exec "$@"', ())
"""What waits becomes bubblewrap when it gets a line."""


_PROBED = """
import json, os, sys
from pathlib import Path
started = []
sys.addaudithook(lambda name, facts: name == "subprocess.Popen" and started.append([str(word) for word in facts[1]]))
from opencode_tui.engine.sandbox.tier import _probe_bubblewrap
problem = _probe_bubblewrap({**os.environ}, Path("/"))
print(json.dumps([problem, [words for words in started if "--unshare-pid" in words]]))
"""
"""Prints why bubblewrap does not work here, and the command lines by which that was found out."""


def run_held(base: Path, gate: Path, moment: tuple[str, tuple[str, ...]], *, is_prepared: bool) -> None:
    """Run a command, in a prepared view if asked, whose bubblewrap stops at a moment; never returns."""
    script, options = moment
    confined = Confined("bubblewrap", base, is_prepared=is_prepared)
    os.mkfifo(gate)
    launch = confined.plan(("/bin/sleep", "100"))
    waiting = ("/bin/sh", "-c", script, str(gate))
    launch = replace(
        launch,
        argv=(*waiting, *launch.argv[: launch.options_at], *options, *launch.argv[launch.options_at :]),
        options_at=len(waiting) + launch.options_at,
        entering=(*launch.entering, *waiting),
        inside=(*launch.inside[:1], *options, *launch.inside[1:]),
    )
    command = Command("", confined.project, confined.policy.environ, 60_000, "/bin/bash", launch)
    ShellProcess(command, lambda data: None, cancel=os.pipe()[0]).run()


@pytest.fixture(params=[False, True], ids=["two stages", "prepared view"])
def is_prepared(request: pytest.FixtureRequest) -> bool:
    require_tier("bubblewrap")
    return request.param


@pytest.fixture
def started() -> Iterator[list[BaseProcess]]:
    """Processes to end."""
    found: list[BaseProcess] = []
    yield found
    for one in found:
        one.kill()
        one.join()


def start(moment: tuple[str, tuple[str, ...]], base: Path, *, is_prepared: bool) -> tuple[BaseProcess, Path]:
    """Return a process that runs a command stopped at a moment, and the pipe for which that waits."""
    gate = base / "project/gate"
    process = multiprocessing.get_context("spawn").Process(
        target=run_held, args=(base, gate, moment), kwargs={"is_prepared": is_prepared}
    )
    process.start()
    return process, gate


def read(pid: int, name: str) -> list[str]:
    """Return the words of a file of a process in /proc; none where it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_text().replace("\0", " ").split()
    return []


def below(process: BaseProcess) -> list[psutil.Process]:
    """Return what a process has started."""
    return psutil.Process(process.pid).children(recursive=True)


def remaining(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Return those that still run."""
    with suppress(psutil.NoSuchProcess):
        return [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
    return remaining([one for one in processes if one.is_running()])


def waiting_children(engine: BaseProcess) -> list[int]:
    """Return the children of the bubblewrap that waits for its gate, in a call about descriptor 9."""
    waiting = [one.pid for one in below(engine) if read(one.pid, "syscall")[1:2] == ["0x9"]]
    return [int(child) for pid in waiting for child in read(pid, f"task/{pid}/children")]


def test_bubblewrap_that_is_killed_with_us_before_its_child_begins_leaves_no_child(
    tmp_path: Path, is_prepared: bool, started: list[BaseProcess]
) -> None:
    engine, _ = start(BEFORE_ITS_CHILD_BEGINS, tmp_path, is_prepared=is_prepared)
    started.append(engine)
    wait_until(lambda: waiting_children(engine))
    processes = below(engine)
    assert {one.pid for one in processes}.issuperset(waiting_children(engine))
    engine.kill()
    wait_until(lambda: not remaining(processes))


def test_each_bubblewrap_of_the_probe_names_us() -> None:
    """The inner one is what stays: it had no word once, and its child waited for ever."""
    require_tier("bubblewrap")
    done = subprocess.run([sys.executable, "-c", _PROBED], capture_output=True, check=True, cwd=os.getcwd(), text=True)
    problem, probes = json.loads(done.stdout)
    assert problem == "" and probes
    for words in probes:
        inner = max(at for at, word in enumerate(words) if word.endswith("/bwrap"))
        assert words[inner + 1] == "--unsetenv" and words[inner + 2].startswith("OPENCODE_ENGINE_")


def test_bubblewrap_that_starts_when_we_are_gone_ends(
    tmp_path: Path, is_prepared: bool, started: list[BaseProcess]
) -> None:
    """Also without the shell that waits for our end: nobody reads any more what bubblewrap reports."""
    engine, gate = start(BEFORE_IT_STARTS, tmp_path, is_prepared=is_prepared)
    started.append(engine)
    wait_until(lambda: any(str(gate) in read(one.pid, "cmdline") for one in below(engine)))
    [held] = [one.pid for one in below(engine) if str(gate) in read(one.pid, "cmdline")]
    watches = [one for one in below(engine) if any("WORD=" in word for word in read(one.pid, "environ"))]
    assert watches
    for one in watches:
        one.kill()
    engine.kill()
    engine.join()
    with gate.open("r+b", buffering=0) as line:
        line.write(b"\n")
        wait_until(lambda: not remaining([one for one in psutil.process_iter() if in_session(one.pid, held)]))


def in_session(pid: int, leader: int) -> bool:
    """Return whether a process belongs to the session of another."""
    with suppress(ProcessLookupError):
        return os.getsid(pid) == leader
    return False
