"""The connection to the client: standard input and output of this process, which nothing else may write to."""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from acp.agent.connection import AgentSideConnection
from acp.core import DEFAULT_STDIO_BUFFER_LIMIT_BYTES

from opencode_tui.acp.agent import Agent

if TYPE_CHECKING:
    from opencode_tui.acp.folder import Opening


async def serve(directory: Path, opening: "Opening", streams: tuple[int, int]) -> None:
    """Answer a client until it closes its end or the task is canceled; then interrupt its turns and close the engines.

    `streams` are the descriptors to read from and to write to, as `reserve_streams` returns them. Raises OSError or ValueError
    when they are neither pipes nor sockets.
    """
    async with _open_streams(*streams) as (reader, writer):
        agent = Agent(directory, opening)
        connection = AgentSideConnection(agent, writer, reader, listening=False, use_unstable_protocol=True)
        try:
            await connection.listen()
        finally:
            await agent.close()
            await connection.close()


def reserve_streams() -> tuple[int, int]:
    """Return descriptors of standard input and output for the client only.

    From then on this process and its children read nothing from standard input, and what they print goes to standard error.
    """
    sys.stdout.flush()
    given, answers = os.dup(0), os.dup(1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return given, answers


@asynccontextmanager
async def _open_streams(given: int, answers: int) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    if any(stat.S_ISCHR(os.fstat(one).st_mode) and not os.isatty(one) for one in (given, answers)):
        raise ValueError("a device such as /dev/null reports no end")
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=DEFAULT_STDIO_BUFFER_LIMIT_BYTES)
    incoming, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(given, "rb", 0))
    outgoing, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(answers, "wb", 0))
    writer = asyncio.StreamWriter(outgoing, protocol, None, loop)
    try:
        yield reader, writer
    finally:
        incoming.close()
        with suppress(ConnectionError):
            writer.close()
