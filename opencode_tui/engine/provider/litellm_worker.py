"""The parent's side of litellm's child process, and the `Llm` adapter that uses it.

One child serves every provider without a direct adapter. It starts with the first request and restarts after it died; if it dies in
the middle of a response, the failure can be retried. Cancellation of a request does not wait for the child.
"""

import asyncio
import contextlib
import itertools
import json
import os
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import IO

from opencode_tui.config.redact import redact_text
from opencode_tui.engine.provider.decode import openai_request
from opencode_tui.engine.provider.decode.delta import ProtocolError, WireDelta
from opencode_tui.engine.provider.decode.openai_chat import OpenAiChatDecoder
from opencode_tui.engine.provider.decode.response import as_index, as_list, as_text
from opencode_tui.engine.provider.error import plain
from opencode_tui.engine.provider.error.body import Reported
from opencode_tui.engine.provider.failure import from_child
from opencode_tui.engine.provider.llm import LlmRequest, OnUsage, StreamEvent, Usage, has_media, ignore_usage
from opencode_tui.engine.provider.normalize import closing_events, normalizing
from opencode_tui.engine.provider.provider import Endpoint
from opencode_tui.engine.waits import waiting
from opencode_tui.programs import python_command, python_environ
from opencode_tui.schema.error import ProviderError
from opencode_tui.schema.ids import Clock, system_clock
from opencode_tui.schema.json_text import as_object, load_json
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.system_error import describe
from opencode_tui.storage.paths import ensure

_MAX_LINE = 64 * 1024 * 1024
_START_LIMIT_S = 60.0
_END_LIMIT_S = 0.25
_PING_S = 10.0
"""Seconds that the child has for the answer whether it still works, after a response without news."""

_NO_LIMIT_S = 24 * 3600.0
_CHILD_GRACE_S = 10.0
"""Seconds by which the limit of the child for a silent provider is longer than ours, so that a timeout is reported."""

_NO_PROVIDER = "LLM Provider NOT provided"
"""What litellm says of a provider that it does not know and that has no address."""

# The child must not import modules from the current folder: a repository could contain its own litellm.py.
_ENTRY = """import sys
sys.path.append(sys.argv[1])
from opencode_tui.engine.provider.litellm_child import main
main(int(sys.argv[2]), int(sys.argv[3]))"""
_PACKAGE_ROOT = Path(__file__).resolve().parents[3]

_MAX_REASON = 400
_LAST_BYTES = 4_096
_LOOPBACK = "localhost,127.0.0.1,::1"

_Message = JsonObject
_GONE: _Message = {"op": "gone"}


class LitellmWorker:
    """Owns the child process and exchanges messages with it. `log` receives the child's output until it is ready."""

    def __init__(self, *, log: Path | None = None) -> None:
        self._log = log
        self._starting = asyncio.Lock()
        self._child: _Child | None = None
        self._ids = itertools.count(1)

    @property
    def process_id(self) -> int | None:
        """The child's process ID, None while it is not running."""
        return self._child.process.pid if self._child and self._child.is_alive else None

    async def start(self) -> None:
        """Start the child if necessary and return when it is ready, after about 2 s. Raises OSError when it cannot start."""
        await self._living()

    async def ask(self, call: JsonObject) -> AsyncGenerator[_Message]:
        """Yield the child's messages about one call until it has ended; closing the generator cancels the call."""
        child = await self._living()
        identifier = next(self._ids)
        inbox = child.open(identifier)
        is_over = False
        try:
            await child.send({"op": "start", "id": identifier, "call": call})
            while not is_over:
                message = await inbox.get()
                is_over = message["op"] != "batch"
                yield message
        finally:
            child.unsubscribe(identifier, cancel=not is_over)

    async def close(self) -> None:
        """End the child; safe to call twice."""
        child, self._child = self._child, None
        if child is not None:
            await child.end()

    async def _living(self) -> "_Child":
        async with self._starting:
            if self._child is not None and not self._child.is_alive:
                await self.close()
            if self._child is None:
                self._child = await _start_child(self._log)
            child = self._child
        place = f"; see {self._log}" if self._log else ""
        try:
            async with asyncio.timeout(_START_LIMIT_S):
                await child.ready.wait()
        except TimeoutError:
            await self._end(child)
            raise ConnectionError(f"it did not start within {_START_LIMIT_S:g} s{place}") from None
        if not child.is_alive:
            words = await asyncio.to_thread(_last_line, self._log, child.log_start) if self._log else ""
            raise ConnectionError(f"it exited during start-up{words and f': {words}'}{place}")
        return child

    async def check(self) -> bool:
        """Return whether the child answers; one that does not, as when it was stopped, is killed; the next call starts another."""
        child = self._child
        if child is None or not child.is_alive or await child.answers(_PING_S):
            return True
        await self._end(child)
        return False

    async def _end(self, child: "_Child") -> None:
        if self._child is child:
            self._child = None
        await child.end()


class _Child:
    """A running child process with its two pipes."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        log_start: int,
    ) -> None:
        self.process = process
        self.log_start = log_start
        """Bytes that the log had before this child."""
        self.ready = asyncio.Event()
        self.is_alive = True
        self._answered = asyncio.Event()
        self._writer = writer
        self._inboxes: dict[int, asyncio.Queue[_Message]] = {}
        self._listener = asyncio.create_task(self._listen(reader), name="litellm-child")

    def open(self, identifier: int) -> asyncio.Queue[_Message]:
        """Return the queue that receives the messages about this call."""
        inbox = self._inboxes[identifier] = asyncio.Queue[_Message]()
        if not self.is_alive:
            inbox.put_nowait(_GONE)
        return inbox

    def unsubscribe(self, identifier: int, *, cancel: bool) -> None:
        """Unsubscribe from this call and send a cancel message to the child. Does not wait."""
        self._inboxes.pop(identifier, None)
        if cancel and self.is_alive:
            self._writer.write(_line({"op": "cancel", "id": identifier}))

    async def send(self, message: _Message) -> None:
        """Send a message; the listener detects a child that has exited."""
        with contextlib.suppress(ConnectionError):
            self._writer.write(_line(message))
            await self._writer.drain()

    async def answers(self, limit_s: float) -> bool:
        """Return whether it answers a question, or ends, within a time; a full pipe does not delay that."""
        self._answered.clear()
        self._writer.write(_line({"op": "ping"}))
        try:
            async with asyncio.timeout(limit_s):
                await self._answered.wait()
        except TimeoutError:
            return False
        return True

    async def end(self) -> None:
        """Close the pipes, which ends the child, and wait until it has exited."""
        self._writer.close()
        try:
            async with asyncio.timeout(_END_LIMIT_S):
                await self.process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
        await self._listener

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                self._deliver(load_json(line))
        except (ValueError, KeyError, TypeError):
            self._writer.close()  # an incomplete or too long line, or another's: the child is broken
        self.is_alive = False
        self.ready.set()
        self._answered.set()
        for inbox in self._inboxes.values():
            inbox.put_nowait(_GONE)

    def _deliver(self, message: _Message) -> None:
        if message["op"] == "ready":
            self.ready.set()
        elif message["op"] == "pong":
            self._answered.set()
        elif inbox := self._inboxes.get(message["id"]):
            inbox.put_nowait(message)


async def _start_child(log: Path | None) -> _Child:
    command_out, command_in = os.pipe()
    answer_out, answer_in = os.pipe()
    printed = await asyncio.to_thread(_open_log, log)
    log_start = os.fstat(printed.fileno()).st_size if printed is not None else 0
    try:
        process = await asyncio.create_subprocess_exec(
            *python_command("-c", _ENTRY, str(_PACKAGE_ROOT), str(command_out), str(answer_in)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=printed or asyncio.subprocess.DEVNULL,
            stderr=printed or asyncio.subprocess.DEVNULL,
            pass_fds=(command_out, answer_in),
            start_new_session=True,
            cwd="/",
            env=_child_environ(),
        )
    except BaseException:
        os.close(command_in)
        os.close(answer_out)
        raise
    finally:
        os.close(command_out)
        os.close(answer_in)
        if printed is not None:
            printed.close()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_MAX_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(answer_out, "rb", 0))
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(command_in, "wb", 0)
    )
    return _Child(process, reader, asyncio.StreamWriter(transport, protocol, None, loop), log_start)


def _child_environ() -> dict[str, str]:
    """Return the environment of the child: litellm and its libraries know some variables of proxies and certificates only."""
    environ = dict(python_environ(os.environ))
    environ["NO_PROXY"] = ",".join(filter(None, (environ.get("no_proxy") or environ.get("NO_PROXY"), _LOOPBACK)))
    environ.pop("no_proxy", None)
    certificates = environ.get("SSL_CERT_FILE") or environ.get("REQUESTS_CA_BUNDLE")
    return (
        environ if not certificates else {**environ, "SSL_CERT_FILE": certificates, "REQUESTS_CA_BUNDLE": certificates}
    )


def _open_log(log: Path | None) -> IO[bytes] | None:
    if log is None:
        return None
    ensure(log.parent)
    return os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb")


def _last_line(log: Path, start: int) -> str:
    """Return the last line that a child printed, such as the module that is missing; empty without one."""
    with contextlib.suppress(OSError), open(log, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(start, size - _LAST_BYTES))
        lines = file.read().decode("utf-8", "replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        return redact_text(" ".join(last.split()))[:_MAX_REASON]
    return ""


def _line(message: _Message) -> bytes:
    return json.dumps(message).encode() + b"\n"


def litellm_call(request: LlmRequest, endpoint: Endpoint) -> JsonObject:
    """Return litellm's arguments: OpenAI's body, the model prefixed with litellm's provider name, and the base URL."""
    call = {
        **openai_request.build(request),
        "num_retries": 0,
        "max_retries": 0,
        "timeout": endpoint.chunk_timeout_ms / 1000 + _CHILD_GRACE_S,
        **endpoint.cloud,
    }
    if endpoint.base_url:
        is_anthropic = str(call["model"]).startswith("anthropic/")
        call["api_base"] = endpoint.base_url.removesuffix("/v1") if is_anthropic else endpoint.base_url
    if endpoint.api_key:
        call["api_key"] = endpoint.api_key
    setting = f"provider.{endpoint.provider_id}.models.{request.model.model_id}.headers"
    own = plain.sendable(endpoint.provider_id, request.model.headers, setting)
    if headers := {**endpoint.headers, **own}:
        call["extra_headers"] = headers
    return call


class LitellmLlm:
    """A provider that is called through litellm. Several share one worker, which their owner closes."""

    def __init__(
        self,
        endpoint: Endpoint,
        worker: LitellmWorker,
        *,
        clock: Clock = system_clock,
        on_usage: OnUsage = ignore_usage,
    ) -> None:
        self._on_usage = on_usage
        self._endpoint = endpoint
        self._worker = worker
        self._clock = clock

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Sequence[StreamEvent]]:
        """Yield one batch of events for each of the child's messages; see `Llm.stream`."""
        with normalizing(openai_request.METADATA_KEY, request, self._on_usage) as normalizer:
            decoder = OpenAiChatDecoder()
            async with contextlib.aclosing(self._messages(request)) as messages:
                async for message in messages:
                    if message["op"] == "end":
                        break
                    if message["op"] != "batch":
                        raise self._failure(message, request)
                    deltas: list[WireDelta] = []
                    for chunk in as_list(message.get("chunks")):
                        decoder.read_event(as_object(chunk), deltas)
                    try:
                        events = normalizer.push(deltas)
                    except ProtocolError as error:
                        raise plain.invalid_response(self._endpoint.provider_id, str(error)) from error
                    if events:
                        yield events
                if normalizer.is_empty and normalizer.usage == Usage():
                    # litellm ends an unreadable response, such as a web page, without an error.
                    raise plain.truncated(self._endpoint.provider_id, "the response is empty")
                yield closing_events(
                    normalizer, self._endpoint.provider_id, secrets=self._secrets, now_ms=self._clock()
                )

    async def close(self) -> None:
        """Do nothing: the worker is shared."""

    @property
    def _secrets(self) -> tuple[str, ...]:
        return (self._endpoint.api_key,) if self._endpoint.api_key else ()

    async def _messages(self, request: LlmRequest) -> AsyncGenerator[_Message]:
        """Yield the child's messages. Raises ProviderError when none arrives in time, or the child cannot start."""
        endpoint = self._endpoint
        silence = endpoint.chunk_timeout_ms / 1000
        with waiting("process", "litellm", limit_s=_START_LIMIT_S):
            await self._start()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (endpoint.timeout_ms / 1000 if endpoint.timeout_ms else _NO_LIMIT_S)
        async with contextlib.aclosing(self._worker.ask(litellm_call(request, self._endpoint))) as messages:
            with waiting("first_byte", endpoint.provider_id, limit_s=endpoint.silence_s) as wait:
                while True:
                    try:
                        async with asyncio.timeout_at(min(deadline, loop.time() + silence)):
                            message = await anext(messages, None)
                    except TimeoutError as error:
                        reason = "the provider sent nothing in time"
                        if not await self._worker.check():
                            reason = "litellm's process did not respond and was ended"
                        raise plain.timed_out(endpoint.provider_id, reason) from error
                    if message is None:
                        return
                    wait.restart("more")
                    yield message

    async def _start(self) -> None:
        try:
            await self._worker.start()
        except OSError as error:
            raise plain.no_process(
                self._endpoint.provider_id, f"cannot start litellm's process ({describe(error)})"
            ) from error

    def _failure(self, message: _Message, request: LlmRequest) -> ProviderError:
        if message["op"] == "gone":
            return plain.no_process(
                self._endpoint.provider_id, "litellm's process exited in the middle of the response"
            )
        if reason := as_text(message.get("unreachable")):
            detail = redact_text(" ".join(reason.split()), self._secrets)[:_MAX_REASON]
            return plain.no_connection(
                self._endpoint.provider_id,
                as_text(message.get("address")),
                detail,
                proxy=None,
                is_refused=message.get("is_refused") is True,
            )
        if target := as_text(message.get("redirect")):
            return plain.redirected(self._endpoint.provider_id, self._endpoint.base_url, target)
        if _NO_PROVIDER in as_text(message.get("message")):
            return plain.missing_address(self._endpoint.provider_id)
        reported = Reported(
            self._endpoint.provider_id,
            status=as_index(message.get("status")) or 0,
            message=as_text(message.get("message")),
            code=f"{as_text(message.get('class'))} {as_text(message.get('code'))}",
            headers={name: as_text(value) for name, value in as_object(message.get("headers")).items()},
            secrets=self._secrets,
            key_setting=self._endpoint.key_setting,
            has_media=has_media(request),
            tools=tuple(tool.name for tool in request.tools),
        )
        return from_child(reported, now_ms=self._clock())
