"""How a command reaches the engine: one open client for the current folder, closed in order at the end."""

import asyncio
import gc
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import click

from opencode_tui.cli.log import start_log
from opencode_tui.cli.main import Frame
from opencode_tui.client.local import LocalClient, open_client
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.storage.paths import find_paths

T = TypeVar("T")


def with_client(work: Callable[[LocalClient], Awaitable[T]], *, policy: Policy | None = None) -> T:
    """Open the client for the current folder, do the work with it, close it; returns what the work returned.

    Ctrl-C, a hang-up and a plain kill end the work in order and raise KeyboardInterrupt.
    """

    frame = click.get_current_context().find_object(Frame)
    start_log(find_paths(os.environ).log, frame.log_level if frame else None)

    async def main() -> T:
        _cancel_on_signals()
        async with open_client(os.environ, Path.cwd(), policy=policy) as client:
            return await work(client)

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        gc.freeze()  # what is left goes with the process; Python's last look through all of it takes longer than any other step


def _cancel_on_signals() -> None:
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        with suppress(NotImplementedError):  # Windows: there Ctrl-C ends the loop without our help
            loop.add_signal_handler(getattr(signal, name, signal.SIGINT), task.cancel)
