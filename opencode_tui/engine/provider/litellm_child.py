"""The child process that calls providers through litellm; the only importer of litellm.

Two separate pipes carry JSON lines, one object each; stdout and stderr are left to the output of libraries, until it is ready.

    in    {"op": "start", "id", "call"}   {"op": "cancel", "id"}   {"op": "ping"}      `call` are litellm's arguments
    out   {"op": "ready"}   {"op": "pong"}   {"op": "batch", "id", "chunks"}   {"op": "end", "id"}   {"op": "failed", "id", …}

Requests run concurrently. The end of the input ends the process at any time, also during the import of litellm.
"""

import asyncio
import contextlib
import json
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from opencode_tui.config import own_process
from opencode_tui.network import is_refused

if TYPE_CHECKING:
    import httpx

_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else the import fetches a table from the network
    "LITELLM_MODE": "PRODUCTION",  # else it loads .env of the current folder, which may be untrusted
    "LITELLM_TELEMETRY": "False",
    "REPEATED_STREAMING_CHUNK_LIMIT": "1000000000",  # else a hundred identical deltas are an error
}
_WARM_UP = {
    "model": "openai/none",
    "messages": [{"role": "user", "content": "-"}],
    "mock_response": "-",
    "stream": True,
}

Chunk = dict[str, Any]
Command = dict[str, Any]
_redirects: ContextVar[list[str]] = ContextVar("redirects")
"""The targets of the redirects that answered the present call: the exceptions of litellm do not all carry them."""
_failures: ContextVar[list[Command]] = ContextVar("failures")
"""Why connections of the present call failed, to which addresses, and whether nothing listens there."""
_SOCKET = re.compile(r" ssl:(?:<[^>]*>|\w+)(?= \[)")
"""What aiohttp says about the socket of a failed connection."""


def main(input_fd: int, output_fd: int) -> None:
    """Serve until the input ends."""
    own_process.erase_keys()
    os.environ.update(_ENVIRONMENT)
    _share_tls_settings()
    inbox = _Inbox(input_fd)
    inbox.start()
    import litellm  # takes seconds; the inbox must listen before

    _refuse_redirects()
    litellm.suppress_debug_info = True
    litellm.drop_params = True
    litellm.num_retries = 0
    litellm.callbacks = []
    asyncio.run(_Server(output_fd, litellm.acompletion).serve(inbox))


def _share_tls_settings() -> None:
    """Make every TLS context of this process trust what `network.tls_context` does.

    That is NODE_EXTRA_CA_CERTS too, and what Python 3.13 began to refuse: certificates without all that RFC 5280 asks for, as
    many companies have.
    """
    import ssl

    extra, create = os.environ.get("NODE_EXTRA_CA_CERTS"), ssl.create_default_context

    def create_alike(*given: Any, **named: Any) -> ssl.SSLContext:
        context = create(*given, **named)
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if extra:
            with contextlib.suppress(OSError, ssl.SSLError):  # the request that fails for it reports the variable
                context.load_verify_locations(cafile=extra)
        return context

    setattr(ssl, "create_default_context", create_alike)  # noqa: B010 - as `_refuse_redirects`


def _discard_output() -> None:
    """Discard what libraries print from now on: calls contain keys and prompts, which the log must not."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)


def _refuse_redirects() -> None:
    """Make every httpx client of this process return a redirect as the response.

    litellm builds clients in many ways (OpenAI's library, its own handlers, sessions), and all of them follow redirects with the
    key and the user's headers to whatever host is named; `send` is the one method that they share.
    """
    import httpx  # litellm has imported it

    send, send_async = httpx.Client.send, httpx.AsyncClient.send

    def send_once(client: httpx.Client, request: httpx.Request, **options: Any) -> httpx.Response:
        once: Command = {**options, "follow_redirects": False}
        with _recorded_failure(request):
            return _record_redirect(send(client, request, **once))

    async def send_once_async(client: httpx.AsyncClient, request: httpx.Request, **options: Any) -> httpx.Response:
        once: Command = {**options, "follow_redirects": False}
        with _recorded_failure(request):
            return _record_redirect(await send_async(client, request, **once))

    setattr(httpx.Client, "send", send_once)  # noqa: B010 - a library's method has no other way to be replaced
    setattr(httpx.AsyncClient, "send", send_once_async)  # noqa: B010 - as above


@contextlib.contextmanager
def _recorded_failure(request: "httpx.Request") -> Generator[None]:
    """Record why no connection was made: litellm reports it as a failure of the server, without the reason."""
    import httpx  # litellm has imported it

    try:
        yield
    except httpx.RequestError as error:
        # litellm's transport raises the two bases for certificates and for proxies that refuse (its AIOHTTP_EXC_MAP).
        made_none = (
            httpx.ConnectError,
            httpx.ConnectTimeout,
            httpx.ProxyError,
            httpx.ProtocolError,
            httpx.RequestError,
        )
        failures = _failures.get(None)
        if failures is not None and type(error) in made_none:
            address = f"{request.url.scheme}://{request.url.netloc.decode('ascii', 'replace')}"
            reason = _SOCKET.sub("", str(error)) or type(error).__name__
            failures.append({"unreachable": reason, "address": address, "is_refused": is_refused(error)})
        raise


def _record_redirect(response: "httpx.Response") -> "httpx.Response":
    redirects = _redirects.get(None)
    if response.is_redirect and redirects is not None:
        redirects.append(response.headers["location"])
    return response


class _Inbox:
    """Reads commands in a thread, so that it detects the end of the input even while the process is busy."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._early: deque[Command] = deque()
        self._deliver: Callable[[Command], None] | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        threading.Thread(target=self._read, name="inbox", daemon=True).start()

    def connect(self, deliver: Callable[[Command], None]) -> bool:
        """Deliver the received and all later commands to the loop; return whether any had been received."""
        with self._lock:
            has_early = bool(self._early)
            while self._early:
                deliver(self._early.popleft())
            self._deliver = deliver
        return has_early

    def _read(self) -> None:
        with contextlib.suppress(OSError), open(self._descriptor, "rb", buffering=1 << 16) as lines:
            for line in lines:
                self._apply(json.loads(line))
        os._exit(0)

    def _apply(self, command: Command) -> None:
        with self._lock:
            if self._deliver is None:
                self._early.append(command)
            else:
                self._deliver(command)


class _Server:
    """Runs calls as tasks and writes their chunks."""

    def __init__(self, output_fd: int, complete: Callable[..., Any]) -> None:
        self._output = output_fd
        self._complete = complete
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._pending: dict[int, list[Chunk]] = {}

    async def serve(self, inbox: _Inbox) -> None:
        loop = asyncio.get_running_loop()

        def deliver(command: Command) -> None:
            loop.call_soon_threadsafe(self._obey, command)

        _discard_output()
        self._write({"op": "ready"})
        if not inbox.connect(deliver):
            with contextlib.suppress(Exception):  # only a warm-up
                await self._warm_up()
        await asyncio.Event().wait()

    async def _warm_up(self) -> None:
        """Make a call without a network request, because the first one imports another hundred modules."""
        stream = await self._complete(**_WARM_UP)
        async for _ in stream:
            pass

    def _obey(self, command: Command) -> None:
        if command["op"] == "ping":
            self._write({"op": "pong"})
            return
        identifier: int = command["id"]
        if command["op"] == "start":
            self._tasks[identifier] = asyncio.create_task(self._run(identifier, command["call"]))
        elif task := self._tasks.get(identifier):
            task.cancel()

    async def _run(self, identifier: int, call: Command) -> None:
        stream: Any = None
        redirects: list[str] = []
        _redirects.set(redirects)
        failures: list[Command] = []
        _failures.set(failures)
        try:
            stream = await self._complete(**call)
            async for chunk in stream:
                self._collect(identifier, chunk.model_dump(exclude_none=True))
            self._flush(identifier)
            self._write({"op": "end", "id": identifier})
        except Exception as error:  # noqa: BLE001 - whatever a provider's code raises is data for the parent, not the end of the child
            self._flush(identifier)
            redirect = {"redirect": redirects[-1]} if redirects else {}
            unreachable = failures[-1] if failures else {}
            self._write({"op": "failed", "id": identifier, **_described(error), **redirect, **unreachable})
        finally:
            self._tasks.pop(identifier, None)
            self._pending.pop(identifier, None)
            if stream is not None and hasattr(stream, "aclose"):
                with contextlib.suppress(
                    Exception
                ):  # the response is complete, so a failure of its connection does not matter
                    await stream.aclose()

    def _collect(self, identifier: int, chunk: Chunk) -> None:
        """Buffer a chunk until the next loop iteration, so that chunks that arrive together are sent together."""
        pending = self._pending.setdefault(identifier, [])
        pending.append(chunk)
        if len(pending) == 1:
            asyncio.get_running_loop().call_soon(self._flush, identifier)

    def _flush(self, identifier: int) -> None:
        if chunks := self._pending.pop(identifier, None):
            self._write({"op": "batch", "id": identifier, "chunks": chunks})

    def _write(self, message: Command) -> None:
        data = memoryview(json.dumps(message, default=str).encode() + b"\n")
        try:
            while data:
                data = data[os.write(self._output, data) :]
        except BrokenPipeError:
            os._exit(0)  # the parent has exited


def _described(error: Exception) -> Command:
    """Return the class names, status, text and headers of an exception."""
    origin = getattr(error, "original_exception", None) or error
    response = getattr(origin, "response", None)
    headers: Any = getattr(origin, "litellm_response_headers", None) or getattr(response, "headers", None) or {}
    return {
        "class": " ".join(cls.__name__ for cls in type(origin).__mro__[:-3]),
        "status": _whole(getattr(origin, "status_code", None)),
        "message": _message(origin),
        "code": str(getattr(origin, "code", None) or ""),
        "headers": {name.lower(): str(headers[name]) for name in headers},
    }


def _message(error: Exception) -> str:
    """Return the text of an exception, followed by that of a failed transfer that newer versions of OpenAI's library leave out."""
    import httpx  # litellm has imported it

    text = str(getattr(error, "message", None) or error)
    seen: set[int] = set()
    below: BaseException | None = error
    while below is not None and id(below) not in seen:  # an exception may be its own cause
        seen.add(id(below))
        if isinstance(below, httpx.TransportError) and str(below) not in text:
            text = f"{text}: {below}"
        below = below.__cause__ or (None if below.__suppress_context__ else below.__context__)
    return text


def _whole(status: object) -> int:
    text = str(status)
    return int(text) if text.isdigit() else 0


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
