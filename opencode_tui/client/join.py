"""Find the engine that a terminal has open in a folder, and use it; how terminals share one is in `shared.py`.

A command that continues a session looks for such an engine first, and mostly there is none: so this imports little, and the client
of another engine only when there is one.
"""

import asyncio
import hashlib
import logging
import re
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui import __version__
from opencode_tui.config.flags import SETTING_VARIABLES, read_flags
from opencode_tui.schema.error import OpencodeError
from opencode_tui.storage.engine_claim import PATIENCE_S, EngineClaim, EngineRecord, short_path
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.process_identity import is_suspended

if TYPE_CHECKING:
    from opencode_tui.client.client import Client

logger = logging.getLogger(__name__)

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


@asynccontextmanager
async def join_engine(environ: Mapping[str, str], directory: Path) -> "AsyncGenerator[Client | None]":
    """Yield the client of a folder on the engine of a terminal that has it open; None when there is none that responds."""
    paths = find_paths(environ)
    folder = await asyncio.to_thread(directory.resolve)
    claim = EngineClaim(paths, engine_key(paths, folder, environ))
    record = None if read_flags(environ).is_shared_engine_disabled else claim.read()
    if record is None or not is_reachable(record):
        yield None
        return
    from opencode_tui.client.remote import open_terminal

    async with AsyncExitStack() as stack:
        client: Client | None = None
        try:
            async with asyncio.timeout(PATIENCE_S):
                path = stack.enter_context(short_path(record.socket))
                client, _ = await stack.enter_async_context(open_terminal(path, record.secret, folder))
        except (OpencodeError, OSError, TimeoutError) as error:
            logger.info("%s does not respond: %s", record.process, error)
        yield client
