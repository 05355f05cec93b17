"""Waits for what must come, and the one limit of all of them.

A test that claims how long something takes measures it, or sets the clock. Every other limit only ends a test whose claim is false,
and is far longer than a machine with fifteen busy processes needs.
"""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest

PATIENCE_S = 120.0
"""How long a test waits for what must come. Less than the time limit of a test, so that the failure names what did not come."""

_STEP_S = 0.01


async def until(is_so: Callable[[], object]) -> None:
    """Wait until something is so, with the event loop free. Raises TimeoutError."""
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():
            await asyncio.sleep(_STEP_S)


def wait_until(is_so: Callable[[], object]) -> None:
    """Wait until something is so; blocks. Raises AssertionError."""
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, f"it did not come within {PATIENCE_S:g} s"
        time.sleep(_STEP_S)


def suspend(process: "subprocess.Popen[Any]") -> None:
    """Suspend a child process, and wait until all its threads have stopped: a signal returns before they have."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


def jump(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let the clock of the running event loop jump; timers that are due by then fire when the loop is free."""
    loop = asyncio.get_running_loop()
    before = loop.time
    monkeypatch.setattr(loop, "time", lambda: before() + seconds)


async def advance(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let the clock of the running event loop jump; timers that are due by then have fired when this returns."""
    jump(monkeypatch, seconds)
    for _ in range(3):
        await asyncio.sleep(0)
