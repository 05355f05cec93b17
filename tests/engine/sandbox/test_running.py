"""Confined commands can be stopped for a moment, with all processes that they started, and go on afterwards."""

import os
import threading
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from opencode_tui.engine.sandbox.running import RunningCommands
from opencode_tui.engine.tool.process.process import Command, ShellProcess
from tests.engine.sandbox.confined import Confined
from tests.support.shell.bench import new_token
from tests.support.world.waiting import PATIENCE_S, wait_until

LOOP = "while :; do : > moved; rm -f moved; done"


@pytest.mark.slow
def test_all_that_a_command_started_stops_and_goes_on(confined: Confined) -> None:
    token = new_token()
    text = f"setsid bash -c '{LOOP}; : {token}' & bash -c '{LOOP}; : {token}' & echo ready; wait"
    running = RunningCommands()
    launch = replace(confined.plan(("/bin/bash", "-c", "--", text)), running=running)
    cancel, cancel_end = os.pipe()
    ready = threading.Event()
    command = Command(text, confined.project, confined.policy.environ, 60_000, "/bin/bash", launch)
    process = ShellProcess(command, lambda data: ready.set() if b"ready" in data else None, cancel=cancel)
    thread = threading.Thread(target=process.run)
    thread.start()
    try:
        assert ready.wait(PATIENCE_S)
        wait_until(lambda: len(_with(token)) >= 2)
        assert running.pause(lambda: 1, limit_s=PATIENCE_S)
        assert {one.status() for one in _with(token)} == {psutil.STATUS_STOPPED}
        running.resume()
        wait_until(lambda: psutil.STATUS_STOPPED not in {one.status() for one in _with(token)})
    finally:
        os.write(cancel_end, b"!")
        thread.join()
        os.close(cancel)
        os.close(cancel_end)
    assert _with(token) == []
    assert running.pause(lambda: 0, limit_s=0)


def test_a_command_that_is_not_known_in_time_is_not_stopped() -> None:
    assert not RunningCommands().pause(lambda: 1, limit_s=0)


def _with(token: str) -> list[psutil.Process]:
    """Return the loops of a command, by their command line."""
    found: list[psutil.Process] = []
    for pid in psutil.pids():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"bash") and len(words) > 2 and words[2].endswith(token.encode()):
            found.append(psutil.Process(pid))
    return found
