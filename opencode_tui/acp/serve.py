"""The connection to the client: standard input and output of this process, which nothing else may write to."""

import asyncio
import logging
import os
import stat
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp._transport import NdjsonTransport
from acp.agent.connection import AgentSideConnection
from acp.core import DEFAULT_STDIO_BUFFER_LIMIT_BYTES
from acp.task import MessageSender, TaskSupervisor

from opencode_tui.acp.agent import Agent

if TYPE_CHECKING:
    from opencode_tui.acp.folder import Opening


logger = logging.getLogger(__name__)


async def serve(directory: Path, opening: "Opening", streams: tuple[int, int]) -> None:
    """Answer a client until it closes its end or the task is canceled; then interrupt its turns and close the engines.

    `streams` are the descriptors to read from and to write to, as `reserve_streams` returns them. Raises OSError or ValueError
    when they are neither pipes nor sockets.
    """
    async with _open_streams(*streams) as (reader, writer):
        agent, tasks = Agent(directory, opening), TaskSupervisor(source="opencode-tui")
        messages = _Messages(agent.cancel, reader, MessageSender(writer, tasks))
        connection = AgentSideConnection(agent, messages, listening=False, use_unstable_protocol=True)
        try:
            await connection.listen()
        finally:
            await agent.close()
            await connection.close()
            await tasks.shutdown()


class _Messages(NdjsonTransport):
    """The messages of the client. `$/cancel_request` for a prompt interrupts its turn, which then answers it as canceled.

    The library passes no IDs of requests on. Other requests end soon, and are answered; the protocol allows both. It also does not
    say that an own request is not waited for any more: a question that was answered elsewhere would stay open in the editor.
    """

    def __init__(
        self, cancel: Callable[[str], Awaitable[None]], reader: asyncio.StreamReader, sender: MessageSender
    ) -> None:
        super().__init__(reader, sender)
        self._cancel = cancel
        self._prompts: dict[str | int, str] = {}
        self._cancels: set[asyncio.Future[None]] = set()
        self._asked: set[str | int] = set()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message, None at the end."""
        while (message := await super().receive()) is not None:
            match message:
                case {"method": "session/prompt", "id": str() | int() as name, "params": {"sessionId": str(session)}}:
                    self._prompts[name] = session
                case {"method": "$/cancel_request", "params": {"requestId": str() | int() as name}}:
                    if name in self._prompts:
                        self._spawn(self._cancel(self._prompts[name]))
                    continue
                case {"method": "$/cancel_request"}:
                    continue
                case {"id": str() | int() as name} if "method" not in message:
                    self._asked.discard(name)
                case _:
                    pass
            return message
        return None

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message; an answer ends its request. A request that its task waits for no more is canceled at the client."""
        if "method" not in message:
            self._prompts.pop(message.get("id", ""), None)
        elif "id" in message and (task := asyncio.current_task()) is not None:
            self._asked.add(message["id"])
            task.add_done_callback(lambda _: self._withdraw(message["id"]))
        await super().send(message)

    def _withdraw(self, name: str | int) -> None:
        if name in self._asked:
            self._asked.remove(name)
            canceled = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": name}}
            self._spawn(super().send(canceled))

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._cancels.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: "asyncio.Future[None]") -> None:
        self._cancels.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, ConnectionError):
            logger.error("a cancellation failed", exc_info=error)


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
