"""Open the engine for a command, in this process or on a server, or only the snapshots of the folder; close it at the end."""

import asyncio
import importlib
import logging
import os
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from opencode_tui.cancellation import limit_threads
from opencode_tui.cli.environment import find_log_folder, load_settings, read_environment
from opencode_tui.cli.log import start_log
from opencode_tui.cli.main import GlobalOptions
from opencode_tui.cli.terminal import ending_signals, say
from opencode_tui.config import own_process

if TYPE_CHECKING:
    from opencode_tui.client.client import Client
    from opencode_tui.client.inbox import Inbox
    from opencode_tui.client.local import LocalClient, LocalClients
    from opencode_tui.client.policy import Policy
    from opencode_tui.client.project_sessions import ProjectSessions
    from opencode_tui.client.remote import RemoteClient
    from opencode_tui.client.snapshots import Snapshots

T = TypeVar("T")


def with_client(work: "Callable[[LocalClient], Awaitable[T]]", *, policy: "Policy | None" = None, doing: str = "") -> T:
    """Open the client for the current folder, run the work with it, close it; return what the work returned.

    `doing` says on a terminal what is worked on when that lasts; only for work that writes nothing itself.
    Ctrl-C, a hang-up and SIGTERM cancel the work and raise KeyboardInterrupt.
    """

    async def main() -> T:
        from opencode_tui.client.local import open_client  # imported only when needed: slow

        async with open_client(os.environ, Path.cwd(), policy=policy) as client:
            return await work(client)

    with _saying(doing):
        return run_main(main)


def with_session_client(work: "Callable[[Client], Awaitable[T]]", *, policy: "Policy | None" = None) -> T:
    """Do as `with_client`, but with the engine of a terminal in this folder if one is open: it may have the session in use."""

    async def main() -> T:
        from opencode_tui.client.join import join_engine

        async with join_engine(os.environ, Path.cwd(), waits=say_wait) as joined:
            if joined is not None:
                return await work(joined)
        from opencode_tui.client.local import open_client  # the engine: not for a client of another one

        async with open_client(os.environ, Path.cwd(), policy=policy) as client:
            return await work(client)

    return run_main(main)


def with_shared_client(work: "Callable[[Client], Awaitable[T]]") -> T:
    """Do as `with_client`, with an engine that is shared with other terminals in this folder."""

    async def main() -> T:
        async with open_here(Path.cwd(), say_wait) as client:
            return await work(client)

    return run_main(main)


def say_wait(pid: int | None, *, limit_s: float | None = None, hint: str = "; Ctrl-C ends this") -> None:
    """Say on a line of stderr that the engine of another process is waited for, and for how long at most, by default `WAIT_S`."""
    from opencode_tui.client.join import WAIT_S
    from opencode_tui.text.wait import engine_words  # a wait is rare

    say(f"{engine_words(pid, WAIT_S if limit_s is None else limit_s)}{hint}")


def with_server(work: "Callable[[RemoteClient], Awaitable[T]]", url: str) -> T:
    """Run the work with the client of a server, for the folder in which the server started; else as `with_client`."""

    async def main() -> T:
        async with _remote(url, None, None) as client:
            return await work(client)

    return run_main(main)


def with_snapshots(work: "Callable[[Snapshots], Awaitable[T]]", *, doing: str = "") -> T:
    """Return the result of the work with the snapshots of the current folder; `doing` as above. Raises OpencodeError."""

    async def main() -> T:
        return await work(open_snapshots())

    with _saying(doing):
        return run_main(main)


def with_sessions(work: "Callable[[ProjectSessions], Awaitable[T]]", *, doing: str = "") -> T:
    """Return the result of the work with the sessions of the folder's project, without an engine. Raises OpencodeError."""

    async def main() -> T:
        from opencode_tui.client.project_sessions import open_sessions

        here = read_environment()
        async with open_sessions(here.environ, here.directory, paths=here.paths) as sessions:
            return await work(sessions)

    with _saying(doing):
        return run_main(main)


def _saying(doing: str) -> AbstractContextManager[object]:
    if not doing:
        return nullcontext()
    from opencode_tui.cli.progress_line import progress_line  # not for a run

    return progress_line(doing)


def open_here(
    directory: Path, waits: "Callable[[int | None], object] | None" = None
) -> "AbstractAsyncContextManager[Client]":
    """Open the engine in a thread of this process, or connect to that of another terminal in the folder.

    `waits` is called with the process whose engine is waited for, when that lasts.
    """
    from opencode_tui.client.shared import open_shared

    return open_shared(os.environ, directory, serve=serve_terminals, waits=waits)


@asynccontextmanager
async def serve_terminals(
    clients: "LocalClients", opened: socket.socket, secret: str, counted: Callable[[], None]
) -> AsyncGenerator[Callable[[], int]]:
    """Serve other terminals on a Unix socket. The HTTP server is imported now: only when there are several terminals.

    `counted` is called when their number has changed.
    """
    module = await asyncio.to_thread(importlib.import_module, "opencode_tui.server.serving")
    async with module.serving_terminals(clients, opened, secret, counted) as count:
        yield count


@asynccontextmanager
async def open_every_folder(*, says_waits: bool = True) -> "AsyncGenerator[Inbox]":
    """Connect to the engines of all folders, and say which of them are waited for."""
    from opencode_tui.client.inbox import PATIENCE_S, open_inbox

    @asynccontextmanager
    async def read_here() -> "AsyncGenerator[Client]":
        from opencode_tui.client.local import open_client  # imported only when needed: slow

        async with open_client(os.environ, Path.cwd()) as client:
            yield client

    waits = partial(say_wait, limit_s=PATIENCE_S) if says_waits else None
    async with open_inbox(os.environ, read_here, waits=waits) as inbox:
        yield inbox


def open_there(url: str, password: str | None, directory: str | None) -> "AbstractAsyncContextManager[Client]":
    """Connect to a server."""
    return _remote(url, password, directory)


def start_screen_log(level: str | None) -> None:
    """Send log lines to the log file only: the TUI owns the terminal."""
    start_log(find_log_folder(os.environ), None if level == "debug" else level)


def start_acp_log(level: str | None) -> None:
    """Log as commands do, what libraries log included, and erase keys that other processes could read."""
    start_log(find_log_folder(os.environ), level)
    ours, root = logging.getLogger("opencode_tui"), logging.getLogger()
    root.handlers, ours.propagate = ours.handlers, False
    own_process.erase_keys()


def open_snapshots() -> "Snapshots":
    """Return the snapshots of the current folder's worktree; `unavailable` is set when the settings turn them off."""
    from opencode_tui.client import snapshots  # imported only when needed: slow

    environment = read_environment()
    options = click.get_current_context().find_object(GlobalOptions)
    start_log(environment.paths.log, options.log_level if options else None)
    settings = load_settings(environment).settings
    return snapshots.open_snapshots(
        environment.environ,
        environment.directory,
        paths=environment.paths,
        is_on=settings.snapshot is not False,
        limits=settings.snapshot_limits,
    )


def _remote(url: str, password: str | None, directory: str | None) -> "AbstractAsyncContextManager[RemoteClient]":
    from opencode_tui.client.remote import open_remote  # only for `attach`
    from opencode_tui.schema.http_headers import DEFAULT_USERNAME

    given = password or os.environ.get("OPENCODE_SERVER_PASSWORD", "").strip() or None
    username = os.environ.get("OPENCODE_SERVER_USERNAME", "").strip() or DEFAULT_USERNAME
    return open_remote(url, password=given, username=username, directory=directory)


def run_main(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a command's coroutine with its log; Ctrl-C, a hang-up and SIGTERM cancel it and raise KeyboardInterrupt."""
    options = click.get_current_context().find_object(GlobalOptions)
    start_log(find_log_folder(os.environ), options.log_level if options else None)
    own_process.erase_keys()

    async def begin() -> T:
        end_on_signals()
        return await main()

    try:
        return asyncio.run(begin())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def end_on_signals() -> None:
    """Cancel the current task when the user or the system wants the process to end, which blocking work then delays little."""
    limit_threads()
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for number in ending_signals():
        loop.add_signal_handler(number, task.cancel)
