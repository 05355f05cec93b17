"""The scripted model server: a real HTTP server on loopback that speaks the formats of OpenAI (both), Anthropic and Gemini.

It runs in a thread of its own, so that plain tests, coroutine tests and child processes use it alike:

    with ModelServer() as server:
        server.script(Answer(text="hello"), failure(429, "slow down", retry_after="1"))
        …                                   # point a provider at server.url("openai")
        assert server.requests[0].body["model"] == "fake-model"

Each request takes the next scripted answer; when none is left, `model` reads the prompt, by default a `DirectiveModel`. Requests
for a session's title come at any time, so they are kept apart: in `titles`, answered by `title_answers`, else by `model`. With a
`Window` the server counts what it is sent with a real tokenizer, reports that as usage, and refuses what exceeds it, as providers
do. By hand:

    python -m tests.support.provider.model_server --port 4010 [--log requests.jsonl]
"""

import argparse
import asyncio
import contextlib
import gzip
import json
import socket
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.provider.chat_view import as_chat
from tests.support.provider.model_script import Answer, Api, DirectiveModel, content_text, failure
from tests.support.provider.stream_format import body_chunks
from tests.support.provider.token_counter import TokenCounter, Window, refusal

_STALL_LIMIT_S = 120
_PATHS: dict[str, Api] = {
    "/openai/v1/chat/completions": "openai",
    "/responses/v1/responses": "responses",
    "/anthropic/v1/messages": "anthropic",
}
_GEMINI = ("/gemini/v1/models/", ":streamGenerateContent")
"""What the path of a request in Gemini's format starts and ends with; the model is between."""


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it arrived; `time` is seconds of the monotonic clock, `tokens` its true count where the server counts."""

    api: Api
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    time: float
    tokens: int = 0


def provider_config(
    base_url: str, *, limit: tuple[int, int] = (200_000, 8_000), has_all: bool = False
) -> dict[str, Any]:
    """Return the value of the `provider` key that reaches the server at `base_url` in three ways, or in all.

    `limit` is the model's context and output in tokens.
    """
    model = {
        "fake-model": {
            "name": "Scripted model",
            "limit": {"context": limit[0], "output": limit[1]},
            "cost": {"input": 1, "output": 2, "cache_read": 0.1},
            "tool_call": True,
            "reasoning": True,
            "attachment": True,
            "modalities": {"input": ["text", "image"], "output": ["text"]},
        }
    }
    openai = {"baseURL": f"{base_url}/openai/v1", "apiKey": "fake-key-for-tests"}
    anthropic = {"baseURL": f"{base_url}/anthropic/v1", "apiKey": "fake-key-for-tests"}
    more = {
        "fake-responses": ("@ai-sdk/openai", {"baseURL": f"{base_url}/responses/v1"}),
        "fake-gemini": ("@ai-sdk/google", {"baseURL": f"{base_url}/gemini/v1"}),
        "fake-gemini-litellm": ("@ai-sdk/google", {"baseURL": f"{base_url}/gemini/v1", "adapter": "litellm"}),
    }
    added = {
        name: {"npm": package, "name": "Scripted", "options": {**openai, **options}, "models": model}
        for name, (package, options) in more.items()
    }
    return {
        **(added if has_all else {}),
        "fake": {"npm": "@ai-sdk/openai-compatible", "name": "Scripted", "options": openai, "models": model},
        "fake-anthropic": {"npm": "@ai-sdk/anthropic", "name": "Scripted", "options": anthropic, "models": model},
        "fake-litellm": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Scripted",
            "options": {**openai, "adapter": "litellm"},
            "models": model,
        },
    }


class ModelServer:
    """A server that answers by script; start and stop it with `with` or `async with`."""

    def __init__(
        self,
        *,
        port: int = 0,
        log: Path | None = None,
        window: Window | None = None,
        model: DirectiveModel | None = None,
    ) -> None:
        self.requests: list[Received] = []
        self.titles: list[Received] = []
        self.answered: list[Received] = []
        """Those whose answer was sent to its end, in that order."""
        self.title_answers: deque[Answer] = deque()
        self.summary_answers: deque[Answer] = deque()
        """Answers for requests for a summary, which may come during a turn; without any they get the next scripted answer."""
        self.refused = 0
        """Requests that exceeded the window."""
        self._window = window
        self._counter = TokenCounter(window.vocabulary) if window is not None else None
        self.disconnects = threading.Semaphore(0)
        """Released once for each answer during which the client went away."""
        self._answers: deque[Answer] = deque()
        self._model = model or DirectiveModel()
        self._log = log
        self._lock = threading.Lock()
        self._socket = socket.create_server(("127.0.0.1", port), backlog=256)
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="model-server", daemon=True)
        self.base_url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def script(self, *answers: Answer) -> None:
        """Queue answers for the next requests, in order."""
        with self._lock:
            self._answers.extend(answers)

    def script_anew(self, *answers: Answer) -> None:
        """Queue answers in the place of those that were not asked for."""
        with self._lock:
            self._answers.clear()
            self._answers.extend(answers)

    def url(self, api: Api) -> str:
        """Return the `baseURL` for a wire format."""
        return f"{self.base_url}/{api}/v1"

    def config(self, *, has_all: bool = False) -> dict[str, Any]:
        """Return the value of the `provider` key for this server."""
        return provider_config(self.base_url, has_all=has_all)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of all requests so far, in order of arrival."""
        return [request.body for request in self.requests]

    def start(self) -> None:
        """Begin to serve; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """End every connection and the thread."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        connections: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            connections.add(task)
            try:
                await self._connection(reader, writer)
            except asyncio.CancelledError:
                writer.transport.abort()
            finally:
                connections.discard(task)

        server = await asyncio.start_server(connected, sock=self._socket, limit=1 << 24)
        await self._stop.wait()
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        await server.wait_closed()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, TimeoutError):
            while (request := await _read_request(reader)) is not None and await self._answer(request, reader, writer):
                pass
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def _answer(self, request: "_Request", reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        is_gemini = request.path.startswith(_GEMINI[0]) and request.path.endswith(_GEMINI[1])
        api = "gemini" if is_gemini else _PATHS.get(request.path)
        if request.method != "POST" or api is None:
            await _send_whole(writer, 200 if request.method == "GET" else 404, {"object": "list", "data": []})
            return True
        try:
            body = json.loads(request.body)
        except ValueError:
            await _send_answer(writer, failure(400, "the body is not JSON"), [])
            return True
        tokens = 0 if self._counter is None else self._counter.request(as_chat(body), api=api)
        received = Received(api, request.path, request.headers, body, time.monotonic(), tokens)
        self._record(received)
        answer = self._next_answer(body, tokens, api)
        try:
            is_kept_open = await self._stream(answer, writer, api=api, body=body, reader=reader)
            self.answered.append(received)
            return is_kept_open
        except ConnectionError:
            self.disconnects.release()
            raise

    def _next_answer(self, body: dict[str, Any], tokens: int, api: Api) -> Answer:
        if self._window is not None and self._window.tokens:
            chat = as_chat(body)
            asked = chat.get("max_tokens", chat.get("max_completion_tokens", 0))
            if tokens + (asked if self._window.counts_output else 0) > self._window.tokens:
                self.refused += 1
                return refusal(self._window, tokens, api=api)
        with self._lock:
            answers = self._answers_for(body)
            answer = answers.popleft() if answers else self._model.answer(body)
        if self._counter is None or answer.usage is not None:
            return answer
        return replace(answer, usage=(tokens, self._counter.answer(answer), 0))

    def _answers_for(self, body: dict[str, Any]) -> deque[Answer]:
        if _asks_for_title(body):
            return self.title_answers
        return self.summary_answers if self.summary_answers and asks_for_summary(body) else self._answers

    async def _stream(
        self,
        answer: Answer,
        writer: asyncio.StreamWriter,
        *,
        api: Api,
        body: dict[str, Any],
        reader: asyncio.StreamReader,
    ) -> bool:
        watch = asyncio.create_task(_until_closed(reader))
        send = asyncio.create_task(_send_answer(writer, answer, _pieces(answer, api=api, body=body)))
        try:
            await asyncio.wait({watch, send}, return_when=asyncio.FIRST_COMPLETED)
            if not send.done():
                raise ConnectionResetError("the client went away")
            return send.result()
        finally:
            watch.cancel()
            send.cancel()
            await asyncio.gather(watch, send, return_exceptions=True)

    def _record(self, received: Received) -> None:
        with self._lock:
            (self.titles if _asks_for_title(received.body) else self.requests).append(received)
            if self._log is not None:
                line = {"api": received.api, "path": received.path, "headers": received.headers, "body": received.body}
                with self._log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps(line) + "\n")


def asks_for_summary(body: dict[str, Any]) -> bool:
    """Tell whether a request is one for the summary of a conversation."""
    last = as_chat(body)["messages"][-1]
    return not body.get("tools") and "summarize the conversation" in content_text(last.get("content"))


def _asks_for_title(body: dict[str, Any]) -> bool:
    body = as_chat(body)
    contents = [
        body.get("system"),
        *(one.get("content") for one in body.get("messages", [])[:1] if one["role"] != "user"),
    ]
    return any("title generator" in content_text(content) for content in contents)


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


async def _read_request(reader: asyncio.StreamReader) -> _Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    body = b""
    if "chunked" in headers.get("transfer-encoding", ""):
        while size := int((await reader.readline()).split(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    return _Request(method, path.partition("?")[0], headers, body)


async def _until_closed(reader: asyncio.StreamReader) -> None:
    """Return when the client has closed its side; polls, because reading would eat the next request."""
    while not reader.at_eof() and reader.exception() is None:
        await asyncio.sleep(0.005)


def _pieces(answer: Answer, *, api: Api, body: dict[str, Any]) -> list[bytes]:
    pieces = [answer.body] if answer.body is not None else list(body_chunks(answer, api=api, body=body))
    if answer.is_burst:
        pieces = [b"".join(pieces)]
    if answer.is_gzip:
        pieces = [gzip.compress(b"".join(pieces))]
    return pieces


async def _send_whole(writer: asyncio.StreamWriter, status: int, value: object) -> None:
    await _send_answer(writer, Answer(status=status, body=b""), [json.dumps(value).encode()])


async def _send_answer(writer: asyncio.StreamWriter, answer: Answer, pieces: list[bytes]) -> bool:
    """Send an answer; returns whether the connection can take another request."""
    sends_events = answer.body is None
    headers = {
        "content-type": "text/event-stream" if sends_events else "application/json",
        "transfer-encoding": "chunked",
    }
    if answer.is_gzip:
        headers["content-encoding"] = "gzip"
    headers.update(answer.headers)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {answer.status} Scripted\r\n{lines}\r\n".encode("latin-1"))
    fault_at = answer.fault_after if answer.fault else len(pieces)
    for piece in pieces[:fault_at]:
        if answer.delay_ms:
            await writer.drain()
            await asyncio.sleep(answer.delay_ms / 1000)
        for event in (event for word, event in answer.holds if word.encode() in piece):
            await writer.drain()
            while not event.is_set():
                await asyncio.sleep(0.01)
        if piece:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
    await writer.drain()
    return await _end_body(writer, answer)


async def _end_body(writer: asyncio.StreamWriter, answer: Answer) -> bool:
    match answer.fault:
        case None:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            return True
        case "stall":
            await asyncio.sleep(_STALL_LIMIT_S)
        case "reset":
            await asyncio.sleep(0.05)
            raw: socket.socket = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        case "drop":
            pass
    return False


def main() -> None:
    """Serve until Ctrl-C; prints the settings to paste."""
    parser = argparse.ArgumentParser(description="A scripted model for trying the program without a key.")
    parser.add_argument("--port", type=int, default=4010)
    parser.add_argument("--log", type=Path, help="append every request as a line of JSON")
    options = parser.parse_args()
    with ModelServer(port=options.port, log=options.log) as server:
        print(json.dumps({"model": "fake/fake-model", "provider": server.config(has_all=True)}, indent=2), flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
