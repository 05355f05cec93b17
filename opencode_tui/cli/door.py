"""How a command reaches the engine: one open client for the current folder, closed in order at the end."""

import asyncio
import gc
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from opencode_tui.cli.log import start_log
from opencode_tui.cli.main import Frame
from opencode_tui.client.local import LocalClient, open_client
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.schema.header import DEFAULT_USERNAME
from opencode_tui.storage.paths import find_paths

if TYPE_CHECKING:
    from opencode_tui.client.remote import RemoteClient

T = TypeVar("T")


def with_client(work: Callable[[LocalClient], Awaitable[T]], *, policy: Policy | None = None) -> T:
    """Open the client for the current folder, do the work with it, close it; returns what the work returned.

    Ctrl-C, a hang-up and a plain kill end the work in order and raise KeyboardInterrupt.
    """

    async def main() -> T:
        async with open_client(os.environ, Path.cwd(), policy=policy) as client:
            return await work(client)

    return _run(main)


def with_server(work: Callable[["RemoteClient"], Awaitable[T]], url: str, *, directory: str | None = None) -> T:
    """Do the work with the client of a server, by default for the folder that it was started in; returns as `with_client`."""

    async def main() -> T:
        from opencode_tui.client.remote import open_remote  # only who attaches needs it

        password = os.environ.get("OPENCODE_SERVER_PASSWORD", "").strip() or None
        username = os.environ.get("OPENCODE_SERVER_USERNAME", "").strip() or DEFAULT_USERNAME
        async with open_remote(url, password=password, username=username, directory=directory) as client:
            return await work(client)

    return _run(main)


def _run(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    frame = click.get_current_context().find_object(Frame)
    start_log(find_paths(os.environ).log, frame.log_level if frame else None)

    async def begin() -> T:
        _cancel_on_signals()
        return await main()

    try:
        return asyncio.run(begin())
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
