"""The connection to the client: standard input and output of this process, which nothing else may write to."""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from acp._transport import NdjsonTransport
from acp.agent.connection import AgentSideConnection
from acp.core import DEFAULT_STDIO_BUFFER_LIMIT_BYTES
from acp.interfaces import Agent as Handlers
from acp.meta import PROTOCOL_VERSION
from acp.task import MessageSender, TaskSupervisor

from opencode_tui.acp.agent import Agent
from opencode_tui.acp.library import load_v2

if TYPE_CHECKING:
    from opencode_tui.acp.folder import Opening

V2 = 2
"""The version of the protocol from which a client is answered by `v2`."""


async def serve(directory: Path, opening: "Opening", streams: tuple[int, int]) -> None:
    """Answer a client until it closes its end or the task is canceled; then interrupt its turns and close the engines.

    `streams` are the descriptors to read from and to write to, as `reserve_streams` returns them. Raises OSError or ValueError
    when they are neither pipes nor sockets.
    """
    async with _open_streams(*streams) as (reader, writer):
        agent, tasks = Agent(directory, opening), TaskSupervisor(source="opencode-tui")
        messages = _Messages(reader, MessageSender(writer, tasks))
        try:
            if await messages.wanted_version() >= V2:
                await _serve_v2(agent, messages)
            else:
                await _serve_v1(agent, messages)
        finally:
            await tasks.shutdown()


async def _serve_v1(agent: Agent, messages: "_Messages") -> None:
    handlers = cast(Handlers, agent)  # of the optional methods it has some
    connection = AgentSideConnection(handlers, messages, listening=False, use_unstable_protocol=True)
    try:
        await connection.listen()
    finally:
        await agent.close()
        await connection.close()


async def _serve_v2(agent: Agent, messages: "_Messages") -> None:
    load_v2()
    from acp.experimental import AgentProtocolRouter

    from opencode_tui.acp.v2.agent import V2Agent

    try:
        await AgentProtocolRouter(v2=lambda connection: V2Agent(agent, connection)).run(messages)
    finally:
        await agent.close()


class _Messages(NdjsonTransport):
    """The messages of the client, of which the first can be read before it is received: it decides the version."""

    _first: dict[str, Any] | None = None

    async def wanted_version(self) -> int:
        """Return the version that the first message asks for; 1 where it asks for none. It is received all the same."""
        self._first = await super().receive()
        match self._first:
            case {"method": "initialize", "params": {"protocolVersion": int() as version}}:
                return version
            case _:
                return PROTOCOL_VERSION

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message, None at the end."""
        if (first := self._first) is not None:
            self._first = None
            return first
        return await super().receive()


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
