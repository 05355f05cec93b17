"""A program that suspends itself stops its whole job; where no shell could continue it, that is known before."""

import os
import signal
import subprocess
import sys

import pytest

from tests.support.rows import each
from tests.support.world.waiting import wait_until

ASKS = "import sys; from opencode_tui.instant.job import has_shell; print(has_shell())"
STOPS = """
import signal, sys
from opencode_tui.instant.job import stop_job
signal.signal(signal.SIGTSTP, lambda *_: print("asked", flush=True))
stop_job()
signal.raise_signal(signal.SIGTSTP)
print("goes on", flush=True)
"""
IN_A_JOB = """
import subprocess, sys
sys.exit(subprocess.run(sys.argv[1:], process_group=0).returncode)
"""
WAITS = """
import subprocess, sys
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""
PROGRAM = [sys.executable, "-c"]


@each(
    ("words", "is_known"),
    [
        ([*PROGRAM, ASKS], False),
        (["sh", "-c", '"$@"; true', "sh", *PROGRAM, ASKS], False),
        ([*PROGRAM, WAITS, *PROGRAM, WAITS, *PROGRAM, ASKS], False),
        ([*PROGRAM, IN_A_JOB, *PROGRAM, ASKS], True),
        ([*PROGRAM, IN_A_JOB, "sh", "-c", '"$@"; true', "sh", *PROGRAM, ASKS], True),
        ([*PROGRAM, IN_A_JOB, *PROGRAM, WAITS, *PROGRAM, WAITS, *PROGRAM, ASKS], True),
        ([*PROGRAM, IN_A_JOB, *PROGRAM, IN_A_JOB, *PROGRAM, ASKS], True),
    ],
    ids=["leader", "below a shell", "below two", "job", "job of a shell", "job of two", "job in a job"],
)
def test_a_shell_is_a_process_of_the_session_outside_of_the_job(words: list[str], is_known: bool) -> None:
    found = subprocess.run(words, start_new_session=True, check=True, capture_output=True, text=True)
    assert found.stdout == f"{is_known}\n"


@pytest.mark.parametrize(
    "above",
    [[], ["sh", "-c", '"$@"; true', "sh"], [*PROGRAM, WAITS, *PROGRAM, WAITS]],
    ids=["alone", "below a shell", "below two"],
)
def test_all_processes_of_the_job_stop_and_go_on(above: list[str]) -> None:
    words = [*above, *PROGRAM, STOPS]
    with subprocess.Popen(words, process_group=0, stdout=subprocess.PIPE, text=True) as process:
        try:
            wait_until(lambda: os.waitpid(process.pid, os.WUNTRACED | os.WNOHANG)[0] == process.pid)
            os.killpg(process.pid, signal.SIGCONT)
            assert process.stdout is not None
            assert process.stdout.read() == "asked\ngoes on\n"  # the handler from before is there again
            assert process.wait() == 0
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def test_a_job_without_a_shell_stops_alone_and_goes_on() -> None:
    with subprocess.Popen([*PROGRAM, STOPS], start_new_session=True, stdout=subprocess.PIPE, text=True) as process:
        try:
            wait_until(lambda: os.waitpid(process.pid, os.WUNTRACED | os.WNOHANG)[0] == process.pid)
            process.send_signal(signal.SIGCONT)
            assert process.stdout is not None
            assert process.stdout.read() == "asked\ngoes on\n"
        finally:
            if process.poll() is None:
                process.kill()
