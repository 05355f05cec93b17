"""The connection to the client: standard input and output of this process, which nothing else may write to."""

import asyncio
import json
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
from acp.task import MessageSender

from opencode_tui.acp.agent import Agent

if TYPE_CHECKING:
    from opencode_tui.acp.folder import Opening

V2 = 2
"""The version of the protocol from which a client is answered by `v2`."""

_INTERNAL = -32603


async def serve(directory: Path, opening: "Opening", streams: tuple[int, int]) -> None:
    """Answer a client until it closes one of its ends or the task is canceled; then interrupt its turns and close the engines.

    `streams` are the descriptors to read from and to write to, as `reserve_streams` returns them. Raises OSError or ValueError
    when they are neither pipes nor sockets.
    """
    async with _open_streams(*streams) as (reader, writer):
        agent, messages = Agent(directory, opening), _Messages(reader, _Sender(writer))
        if await messages.wanted_version() >= V2:
            await _serve_v2(agent, messages)
        else:
            await _serve_v1(agent, messages)


async def _serve_v1(agent: Agent, messages: "_Messages") -> None:
    handlers = cast(Handlers, agent)  # of the optional methods it has some
    connection = AgentSideConnection(handlers, messages, listening=False, use_unstable_protocol=True)
    try:
        await connection.listen()
    finally:
        await agent.close()
        await connection.close()


async def _serve_v2(agent: Agent, messages: "_Messages") -> None:
    from acp.experimental import AgentProtocolRouter  # 1 s, which clients of version 1 should not wait for

    from opencode_tui.acp.v2.agent import V2Agent

    try:
        await AgentProtocolRouter(v2=lambda connection: V2Agent(agent, connection)).run(messages)
    finally:
        await agent.close()


class _Sender(MessageSender):
    """Writes each message at once. The library's sender waits forever with all messages after one that could not be written."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._output = writer

    async def send(self, payload: dict[str, Any]) -> None:
        """Write a message; returns when the pipe has room for more. Raises ConnectionError when the client is gone."""
        self._output.write((json.dumps(payload, separators=(",", ":")) + "\n").encode())
        await self._output.drain()

    async def close(self) -> None:
        """Do nothing: what was written is sent when the output is closed."""


class _Messages(NdjsonTransport):
    """The messages of the client. The first can be read before it is received, because it decides the version.

    An answer that the library could not read would end the connection, with all turns: it is received as a failure, or not at all.
    """

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
        while (message := await super().receive()) is not None:
            if "method" in message:
                return message
            if type(message.get("id")) in (int, str):  # true is no ID, but equal to 1
                return _readable(message)
        return None


def _readable(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer whose error has the form of one: a code, and a text."""
    if "result" in answer or "error" not in answer:
        return answer
    given = cast("object", answer["error"])
    error = cast("dict[str, Any]", given) if isinstance(given, dict) else {"message": given}
    code, text = error.get("code"), error.get("message")
    return {
        **answer,
        "error": {
            **error,
            "code": code if isinstance(code, int) else _INTERNAL,
            "message": text if isinstance(text, str) else json.dumps(text),
        },
    }


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


class _Output(asyncio.streams.FlowControlMixin):
    """The state of the output. A client that does not read any more is gone, so its input ends as well."""

    def __init__(self, incoming: asyncio.ReadTransport) -> None:
        super().__init__()
        self._incoming = incoming

    def connection_lost(self, exc: Exception | None) -> None:
        """End the input."""
        super().connection_lost(exc)
        self._incoming.close()


@asynccontextmanager
async def _open_streams(given: int, answers: int) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    if any(stat.S_ISCHR(os.fstat(one).st_mode) and not os.isatty(one) for one in (given, answers)):
        raise ValueError("a device such as /dev/null reports no end")
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=DEFAULT_STDIO_BUFFER_LIMIT_BYTES)
    incoming, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(given, "rb", 0))
    outgoing, protocol = await loop.connect_write_pipe(lambda: _Output(incoming), os.fdopen(answers, "wb", 0))
    writer = asyncio.StreamWriter(outgoing, protocol, None, loop)
    try:
        yield reader, writer
    finally:
        incoming.close()
        with suppress(ConnectionError):
            writer.close()
