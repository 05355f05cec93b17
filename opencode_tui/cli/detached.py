"""The engine after its screen: the process gives the terminal back and goes on with what runs.

The shell waits for this process, whose memory cannot move to another one (`client/shared.py` says what that would lose). So it
is suspended, as by Ctrl-Z, and continued as soon as the shell has the terminal again, as by `bg`: the shell lists it as a job and
reports its end. A small process continues it, because a suspended one cannot. Where no shell waits, or none that knows jobs, the
terminal stays with this process until it is closed, or Ctrl-C ends it.

A hang-up ends nothing any more; SIGTERM ends all in order.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from opencode_tui.cli.environment import find_log_folder
from opencode_tui.cli.log import open_log
from opencode_tui.cli.terminal import say
from opencode_tui.client.shared import SharedClient
from opencode_tui.programs import python_command
from opencode_tui.schema.error import ConfigError

NO_SHELL = "no shell waits in this terminal: close it and the work goes on; Ctrl-C stops it"
AGAIN = "this is the work in the background: `opencode-tui -c` shows it, `opencode-tui stop --all` stops it"

_CONTINUE = """
import os, signal, sys, time
group, until = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
while os.tcgetpgrp(0) == group and time.monotonic() < until:
    time.sleep(0.01)
os.killpg(group, signal.SIGCONT)
"""
_SHELL_S = 3.0
"""Seconds that a shell has to take the terminal back."""


class _Leaving:
    """What the signals do while the process goes on without its screen."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        """Set when the process is to end."""
        self._has_terminal = True
        loop = asyncio.get_running_loop()
        for number, act in (
            (signal.SIGTERM, self.ended.set),
            (signal.SIGHUP, self.close_streams),
            (signal.SIGINT, self._interrupt),
            (signal.SIGTSTP, self._return_again),
        ):
            loop.add_signal_handler(number, act)

    def leave_terminal(self) -> None:
        """Give the terminal back; blocks until the shell has it. The streams lead to the log then."""
        if not return_terminal(sys.stdin.fileno()):
            with suppress(OSError):  # it was closed
                say(NO_SHELL)
                return
        self.close_streams()

    def close_streams(self) -> None:
        """Read nothing any more, and write to the log what would go to the terminal."""
        self._has_terminal = False
        nothing = os.open(os.devnull, os.O_RDWR)
        log = nothing
        with suppress(OSError, ConfigError):  # the disk is full, or the home folder is gone
            log = open_log(find_log_folder(os.environ))
        for stream, target in ((0, nothing), (1, log), (2, log)):
            os.dup2(target, stream)
        for opened in {nothing, log}:
            os.close(opened)

    def _interrupt(self) -> None:
        """End in a terminal that has no shell; in that of a shell Ctrl-C only means that the user does not know what runs there."""
        if self._has_terminal:
            self.ended.set()
        else:
            self._return_again()

    def _return_again(self) -> None:
        """Give the terminal back that `fg` has given to this process."""
        with suppress(OSError):  # it is gone, or was never ours
            terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
            try:
                if os.tcgetpgrp(terminal) == os.getpgrp():
                    os.write(terminal, f"\r\nopencode-tui: {AGAIN}\r\n".encode())
                    return_terminal(terminal)
            finally:
                os.close(terminal)


async def go_on(client: SharedClient, rest_s: float, report: Callable[[], None]) -> None:
    """Give the terminal back, after `report` has written its last lines, and return when the engine is to end.

    Raises what `report` raises.
    """
    leaving = _Leaving()
    report()
    await client.leave_terminal(leaving.leave_terminal)
    waits = {asyncio.create_task(client.stay(rest_s)), asyncio.create_task(leaving.ended.wait())}
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waits:
            one.cancel()


def return_terminal(terminal: int) -> bool:
    """Return whether the terminal belongs to another group of processes, such as the shell that started this one; blocks.

    Called on the main thread. True also where it is gone.
    """
    try:
        if os.tcgetpgrp(terminal) != os.getpgrp():
            return True
        if os.getsid(0) == os.getpid():  # the kernel suspends no leader of a session
            return False
        group = os.getpgrp()
        helper = subprocess.Popen(
            python_command("-S", "-c", _CONTINUE, str(group), str(_SHELL_S)),
            env={},
            cwd=Path("/"),
            stdin=terminal,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
    except OSError:
        return False
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGTSTP, signal.SIGCONT)}
    try:
        os.killpg(
            group, signal.SIGTSTP
        )  # returns when the helper continues this process; at once where nothing suspends it
        return os.tcgetpgrp(terminal) != group
    except OSError:  # the terminal was closed meanwhile
        return True
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        helper.kill()
        helper.wait()
