"""A language server's process and its messages: JSON-RPC over standard input and output.

The server leads a process group of its own, which is killed as a whole: some servers leave children behind.
"""

import asyncio
import logging
import os
import signal
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, cast

import msgspec

from opencode_tui.engine.project.programs import Process, Program, Start, close_pipes, start_program
from opencode_tui.schema.json_text import decode_foreign
from opencode_tui.schema.record import JsonObject

EXIT_GRACE_S = 0.1
"""Seconds that a server has to exit by itself."""

_LARGEST_BYTES = 64 * 1024 * 1024
_LARGE_BYTES = 256 * 1024
"""Above this many bytes a message is parsed in a thread."""
_MOST_WAITING_BYTES = 16 * 1024 * 1024
"""A server that leaves more than this unread is frozen."""
_ERROR_LINES = 5
_METHOD_NOT_FOUND = -32601

logger = logging.getLogger(__name__)


class ServerGoneError(Exception):
    """The server has ended, or was ended, so that there is no answer."""


class RequestError(Exception):
    """The server answered with an error; `code` is that of the protocol."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class MethodNotFoundError(Exception):
    """Raised by an `Answer` for a request that it does not know."""


Answer = Callable[[str, Any], Any]
"""Returns the result of a server's request, by its method and parameters; raises MethodNotFoundError. Does not block."""

Notice = Callable[[str, Any], None]
"""Handles a server's notification, by its method and parameters; an empty method is the server's end. Does not block."""


class Connection:
    """A running server. `heard` counts its messages; `last_errors` are the last lines of its standard error."""

    def __init__(self, process: Process, *, answer: Answer, notice: Notice) -> None:
        self._process = process
        self._answer = answer
        self._notice = notice
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._next_id = 0
        self._errors: deque[str] = deque(maxlen=_ERROR_LINES)
        self.heard = 0
        self.is_closed = False
        self.ended = asyncio.Event()
        self._reading = asyncio.create_task(self._read(), name="language server")
        self._reading_errors = asyncio.create_task(self._read_errors(), name="language server's errors")

    @classmethod
    async def start(
        cls,
        program: Program,
        *,
        answer: Answer,
        notice: Notice,
        start: Start = start_program,
    ) -> "Connection":
        """Start a server; raises OSError when it cannot be started."""
        return cls(await start(program), answer=answer, notice=notice)

    @property
    def pid(self) -> int:
        """The process's id, which is also that of its group."""
        return self._process.pid

    @property
    def last_errors(self) -> str:
        """The last lines of the standard error, not made safe."""
        return "\n".join(self._errors)

    async def request(self, method: str, params: Any, *, timeout_s: float) -> Any:
        """Return the result of a request.

        Raises RequestError, ServerGoneError, and TimeoutError; then, and when it is canceled, the request is withdrawn.
        """
        self._next_id += 1
        number = self._next_id
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        message: JsonObject = {"jsonrpc": "2.0", "id": number, "method": method}
        try:
            self._send(message if params is None else {**message, "params": params})
            async with asyncio.timeout(timeout_s):
                return await future
        except (TimeoutError, asyncio.CancelledError):
            with suppress(ServerGoneError):
                self.notify("$/cancelRequest", {"id": number})
            raise
        finally:
            self._waiting.pop(number, None)

    def notify(self, method: str, params: Any) -> None:
        """Send a notification. Raises ServerGoneError."""
        message: JsonObject = {"jsonrpc": "2.0", "method": method}
        self._send(message if params is None else {**message, "params": params})

    async def drain(self) -> None:
        """Wait until the server has read most of what was sent. Raises ServerGoneError."""
        try:
            if self._process.stdin is not None:
                await self._process.stdin.drain()
        except OSError as error:
            raise ServerGoneError from error

    async def close(self, *, grace_s: float = EXIT_GRACE_S) -> None:
        """End the server, and kill all processes of its group that are left."""
        try:
            try:
                if not self.is_closed:
                    self.is_closed = True
                    if self._process.returncode is None and grace_s and self.heard:
                        await self._ask_to_exit(grace_s)
            finally:
                self.kill()
            await self._process.wait()
            for task in (self._reading, self._reading_errors):
                task.cancel()
            await asyncio.gather(self._reading, self._reading_errors, return_exceptions=True)
        finally:  # a cancellation ends each of the waits, and the tasks end with the pipes
            close_pipes(self._process)

    def kill(self) -> None:
        """Kill the process and its group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _ask_to_exit(self, grace_s: float) -> None:
        with suppress(ServerGoneError, RequestError, TimeoutError):
            async with asyncio.timeout(grace_s):
                self._send({"jsonrpc": "2.0", "id": 0, "method": "shutdown"})
                self._send({"jsonrpc": "2.0", "method": "exit"})
                await self._process.wait()

    def _send(self, message: JsonObject) -> None:
        stdin = self._process.stdin
        if stdin is None or stdin.is_closing() or self.ended.is_set():
            raise ServerGoneError
        if stdin.transport.get_write_buffer_size() > _MOST_WAITING_BYTES:
            self.kill()
            raise ServerGoneError
        body = msgspec.json.encode(message)
        stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    async def _read(self) -> None:
        try:
            while (body := await self._read_body()) is not None:
                self.heard += 1
                is_large = len(body) > _LARGE_BYTES
                message: object = await asyncio.to_thread(decode_foreign, body) if is_large else decode_foreign(body)
                if isinstance(message, dict):
                    self._handle(cast("JsonObject", message))
        except (OSError, ValueError, asyncio.IncompleteReadError, msgspec.MsgspecError) as error:
            logger.warning("language server %d sent what is no message: %s", self._process.pid, error)
        finally:
            self.ended.set()
            self.kill()
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(ServerGoneError())
            self._guarded_notice("", None)

    async def _read_body(self) -> bytes | None:
        """Return the next message's body, None at the end. Raises ValueError for anything else than a message."""
        assert self._process.stdout is not None
        size: int | None = None
        while line := await self._process.stdout.readline():
            if not line.strip():
                if size is None:
                    raise ValueError("a message without a length")
                return await self._process.stdout.readexactly(size)
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                size = int(value)
                if not 0 <= size <= _LARGEST_BYTES:
                    raise ValueError(f"a message of {size} bytes")
        return None

    def _handle(self, message: JsonObject) -> None:
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str):
            if number is None:
                self._guarded_notice(method, message.get("params"))
            else:
                self._reply(number, method, message.get("params"))
            return
        future = self._waiting.pop(number, None) if isinstance(number, int) else None
        if future is None or future.done():
            return
        error = message.get("error")
        if isinstance(error, dict):
            given = cast("JsonObject", error)
            code = given.get("code")
            future.set_exception(RequestError(code if isinstance(code, int) else 0, str(given.get("message"))[:500]))
        else:
            future.set_result(message.get("result"))

    def _guarded_notice(self, method: str, params: Any) -> None:
        try:
            self._notice(method, params)
        except (KeyError, TypeError, ValueError, AttributeError) as error:  # a notification of another form
            logger.debug("language server %d: %s: %r", self._process.pid, method, error)

    def _reply(self, number: Any, method: str, params: Any) -> None:
        answer: JsonObject = {"jsonrpc": "2.0", "id": number}
        try:
            answer["result"] = self._answer(method, params)
        except MethodNotFoundError:
            answer["error"] = {"code": _METHOD_NOT_FOUND, "message": f"{method} is not supported"}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            answer["error"] = {"code": 0, "message": repr(error)}
        with suppress(ServerGoneError):
            self._send(answer)

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        with suppress(OSError):
            while data := await self._process.stderr.read(64 * 1024):
                self._errors.extend(data.decode("utf-8", "replace").splitlines()[-_ERROR_LINES:])


def spawn(work: Coroutine[None, None, None], tasks: "set[asyncio.Task[None]]", *, name: str) -> "asyncio.Task[None]":
    """Start a task and keep it in `tasks` while it runs; a failure other than those of servers is logged."""

    async def guarded() -> None:
        try:
            await work
        except (ServerGoneError, RequestError, TimeoutError) as error:
            logger.debug("%s: %r", name, error)
        except Exception:
            logger.exception("%s failed", name)

    def ended(task: "asyncio.Task[None]") -> None:
        tasks.discard(task)
        work.close()  # a task that is canceled before it begins has not awaited it

    task = asyncio.create_task(guarded(), name=name)
    tasks.add(task)
    task.add_done_callback(ended)
    return task
