"""Find the engine that a terminal has open in a folder, and use it; how terminals share one is in `shared.py`.

A command that continues a session looks for such an engine first, and mostly there is none: so this imports little, and the client
of another engine only when there is one.
"""

import asyncio
import hashlib
import logging
import re
import socket
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui import __version__
from opencode_tui.config.flags import SETTING_VARIABLES, read_flags
from opencode_tui.schema.error import OpencodeError
from opencode_tui.storage.engine_claim import PATIENCE_S, WAIT_S, EngineClaim, EngineRecord, short_path
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.process_identity import is_suspended

if TYPE_CHECKING:
    from opencode_tui.client.client import Client

logger = logging.getLogger(__name__)

Waits = Callable[[int | None], object]
"""Called when an engine of another process is waited for that does not respond at once, with the process if that is known."""

NAMED_AFTER_S = 1.0
"""Seconds after which such a wait is reported."""

SUSPENDED_S = 0.3
"""Seconds from which on a process counts as suspended: one that leaves its terminal is for a moment."""

_LOOK_S = 0.1
"""Seconds between two looks for an engine that does not respond yet."""

_API_KEY = re.compile(r"[A-Z0-9_]+_API_KEY")


def engine_key(paths: Paths, folder: Path, environ: Mapping[str, str]) -> str:
    """Return the name that terminals with a common engine have in common; `folder` is a real path."""
    folders = (paths.config, paths.state, paths.cache)
    variables = {
        name: environ[name] for name in sorted(environ) if name in SETTING_VARIABLES or _API_KEY.fullmatch(name)
    }
    parts = (__version__, str(folder), *map(str, folders), *(f"{name}={value}" for name, value in variables.items()))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def is_reachable(record: EngineRecord) -> bool:
    """Return whether the process with an engine is on this host, has a socket, and is not suspended."""
    is_here = bool(record.socket) and record.process.host == socket.gethostname()
    return is_here and not is_suspended(record.process.pid)


def patience_with(record: EngineRecord) -> float:
    """Return for how many seconds a process that is suspended is waited for.

    One without a terminal is suspended while it gives the terminal back, which takes seconds on a busy machine, and no `fg`
    can continue it. One in a terminal was suspended by the user.
    """
    return PATIENCE_S if record.is_leaving or record.is_detached else SUSPENDED_S


def no_answer_words(folder: Path, pid: int | None) -> str:
    """Return which process kept the engine of a folder without an answer for `WAIT_S`, and what to do; None: it is not known."""
    late = f"did not answer within {WAIT_S:.0f} s"
    if pid is None:
        return (
            f"another process has the engine of {folder} and {late}; "
            "close the other terminals and editors that use this folder, then try again"
        )
    return (
        f"the engine of {folder} (process {pid}) {late}; "
        f"close the terminal or editor that it belongs to, or end it with `kill {pid}`, then try again"
    )


@contextmanager
def reporting(holder: Callable[[], int | None], waits: Waits | None) -> Generator[None]:
    """Report a wait that lasts, during the context, for the engine of the process that `holder` returns."""

    def report() -> None:
        if waits is not None:
            waits(holder())

    timer = asyncio.get_running_loop().call_later(NAMED_AFTER_S, report)
    try:
        yield
    finally:
        timer.cancel()


@asynccontextmanager
async def join_engine(
    environ: Mapping[str, str], directory: Path, *, waits: Waits | None = None
) -> "AsyncGenerator[Client | None]":
    """Yield the client of a folder on the engine of a terminal that has it open; None when there is none.

    An engine that is alive and does not respond yet is waited for; raises OpencodeError after `WAIT_S`.
    """
    paths = find_paths(environ)
    folder = await asyncio.to_thread(directory.resolve)
    claim = EngineClaim(paths, engine_key(paths, folder, environ))
    if read_flags(environ).is_shared_engine_disabled or claim.read() is None:
        yield None
        return
    async with AsyncExitStack() as stack:
        with reporting(claim.holder, waits):
            client = await _connect(stack, claim, folder)
        yield client


async def _connect(stack: AsyncExitStack, claim: EngineClaim, folder: Path) -> "Client | None":
    loop = asyncio.get_running_loop()
    reached_at = loop.time()
    ends_at = reached_at + WAIT_S
    while (record := claim.read()) is not None:
        if is_reachable(record):
            from opencode_tui.client.remote import open_terminal  # only where there is an engine

            try:
                async with AsyncExitStack() as opened, asyncio.timeout(PATIENCE_S):
                    path = opened.enter_context(short_path(record.socket))
                    client, _ = await opened.enter_async_context(open_terminal(path, record.secret, folder))
                    stack.push_async_exit(opened.pop_all())
                    return client
            except (OpencodeError, OSError, TimeoutError) as error:
                logger.info("%s does not respond: %s", record.process, error)
                reached_at = loop.time()
        elif loop.time() - reached_at > patience_with(record):
            return None
        if not await asyncio.to_thread(claim.is_held):  # it was killed
            return None
        if loop.time() >= ends_at:
            raise OpencodeError(no_answer_words(folder, await asyncio.to_thread(claim.holder)))
        await asyncio.sleep(_LOOK_S)
    return None
