"""Providers over HTTP, without a library of theirs: streaming POSTs, whose connection closes when the caller stops reading.

`DirectLlm` is the adapter of all formats (`formats.py`), `HttpProvider` its client.

HTTP/1.1 with keep-alive, one client per provider. Credentials are not sent to another origin on redirects; the size of a
decompressed body and the time without data are limited. The first request imports httpcore, in a thread: httpx on it would bring
cookies, mails and a second form of each request.
"""

import asyncio
import socket
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, cast
from urllib.parse import urljoin, urlsplit

from opencode_tui import __version__
from opencode_tui.config.redact import redact_text
from opencode_tui.engine.provider.connections import connection_failures, new_request, open_pool
from opencode_tui.engine.provider.decode.delta import ProtocolError
from opencode_tui.engine.provider.decode.response import WebPageError
from opencode_tui.engine.provider.error import plain
from opencode_tui.engine.provider.formats import ProviderFormat
from opencode_tui.engine.provider.inflate import unpacker
from opencode_tui.engine.provider.llm import LlmRequest, OnUsage, StreamEvent, has_media, ignore_usage
from opencode_tui.engine.provider.normalize import closing_events, normalizing
from opencode_tui.engine.provider.provider import Endpoint
from opencode_tui.engine.waits import Waiting, waiting
from opencode_tui.schema.error import ConfigError, ProviderError
from opencode_tui.schema.ids import Clock, system_clock

if TYPE_CHECKING:
    import httpcore
    from httpcore import AsyncNetworkStream


_CONNECT_TIMEOUT_S = 15.0
_WRITE_TIMEOUT_S = 60.0
_MAX_ERROR_BODY = 64 * 1024
_MAX_ANSWER_BYTES = 256 * 1024 * 1024
_MAX_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})

_ERROR_BODY_S = 10.0
"""Seconds for the text of an error; its status has arrived, so a text that does not end is left out."""

_GATHER_S = 0.025
"""Seconds for which chunks that follow each other quickly are left to the system, and then read at once.

To wait for a chunk and to wake all that follow it costs ten times as much as to decode it. A first chunk is read at once.
"""

_READY_S = 0.001
"""Seconds in which a chunk comes that did not have to be waited for."""

_FULL_BYTES = 16 * 1024
"""Bytes in `_GATHER_S` from which each chunk is read as soon as possible: they come faster than they are decoded."""

_ACKNOWLEDGE: int | None = getattr(socket, "TCP_QUICKACK", None)

_WRONG_REQUEST = frozenset({400, 422})

_DRAIN_S = 0.05
"""Seconds to wait for the end of a response body, so that the connection can be reused."""


def request_headers(endpoint: Endpoint, credentials: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of every request to an endpoint; headers of the settings win."""
    return {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "accept-encoding": "identity",
        "user-agent": f"opencode-tui/{__version__}",
        **credentials,
        **{name.lower(): value for name, value in endpoint.headers.items()},
    }


class HttpProvider:
    """Sends requests to one endpoint; `credentials` are the headers with the key."""

    def __init__(self, endpoint: Endpoint, credentials: dict[str, str], *, clock: Clock = system_clock) -> None:
        self._endpoint = endpoint
        self._headers = request_headers(endpoint, credentials)
        self._clock = clock
        self._client: httpcore.AsyncConnectionPool | None = None
        self._opening = asyncio.Lock()
        read_s = endpoint.chunk_timeout_ms / 1000
        self._limits = {"connect": _CONNECT_TIMEOUT_S, "read": read_s, "write": _WRITE_TIMEOUT_S, "pool": None}

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not appear in any text."""
        named = [value for name, value in self._headers.items() if "key" in name or "auth" in name or "token" in name]
        words = [value.rpartition(" ")[2] for value in named]
        return tuple(secret for secret in (self._endpoint.api_key, *named, *words) if secret)

    async def post(
        self,
        path: str,
        body: bytes,
        *,
        wait: Waiting,
        headers: Mapping[str, str] = _NO_HEADERS,
        request: LlmRequest | None = None,
    ) -> AsyncGenerator[bytes]:
        """Yield the decompressed bytes of the response as they arrive. Raises ProviderError for every failure.

        Closing the generator or canceling its task closes the connection. `wait` follows whether there is one. `request` is
        what the body was made of, for errors.
        """
        client = await self._open()
        limit = self._endpoint.timeout_ms
        deadline = None if limit is None else asyncio.get_running_loop().time() + limit / 1000
        url = self._endpoint.base_url.rstrip("/") + path
        async with aclosing(self._received(client, url, body, headers, wait=wait, request=request)) as chunks:
            while True:
                try:
                    if deadline is None:
                        chunk = await anext(chunks, None)
                    else:
                        async with asyncio.timeout_at(deadline):
                            chunk = await anext(chunks, None)
                except TimeoutError as error:
                    raise plain.timed_out(
                        self._provider_id, f"no complete response within {(limit or 0) / 1000:g} s"
                    ) from error
                if chunk is None:
                    return
                yield chunk

    async def get(self, path: str) -> AsyncGenerator[bytes]:
        """Yield the bytes of the response to a GET, as `post` does."""
        client = await self._open()
        url = self._endpoint.base_url.rstrip("/") + path
        accept = {"accept": "application/json"}
        with waiting("first_byte", self._provider_id, limit_s=self._endpoint.silence_s) as wait:
            async with aclosing(self._received(client, url, b"", accept, method="GET", wait=wait)) as chunks:
                async for chunk in chunks:
                    yield chunk

    async def close(self) -> None:
        """Close all connections; safe to call twice."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @property
    def _provider_id(self) -> str:
        return self._endpoint.provider_id

    async def _open(self) -> "httpcore.AsyncConnectionPool":
        async with self._opening:
            if self._client is None:
                try:
                    self._client = await asyncio.to_thread(self._connect)
                except ConfigError as error:
                    raise plain.wrong_network(self._provider_id, str(error)) from None
            return self._client

    def _connect(self) -> "httpcore.AsyncConnectionPool":
        endpoint = self._endpoint
        return open_pool(endpoint.base_url, plain.route_to(endpoint.base_url, endpoint.provider_id, endpoint.proxy))

    async def _received(
        self,
        client: "httpcore.AsyncConnectionPool",
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        wait: Waiting,
        method: str = "POST",
        request: LlmRequest | None = None,
    ) -> AsyncGenerator[bytes]:
        # already imported by `_open`; not at module level, because most commands do not need it
        import httpcore

        from opencode_tui.network import is_refused

        async def trace(step: str, _: object) -> None:
            """Follow whether the connection or the response is waited for; called a dozen times for a request."""
            if step == "connection.connect_tcp.started":
                wait.restart("connection", limit_s=_CONNECT_TIMEOUT_S)
            elif step == "http11.send_request_headers.started":
                wait.restart("first_byte", limit_s=self._endpoint.silence_s)

        has_answer = False
        model_id = request.model.model_id if request is not None else ""
        own = plain.sendable(self._provider_id, headers, f"provider.{self._provider_id}.models.{model_id}.headers")
        try:
            for _ in range(_MAX_REDIRECTS + 1):
                sent = {**self._headers, **own}
                try:
                    posted = new_request(method, url, sent, body, {"trace": trace, "timeout": self._limits})
                except ValueError as error:
                    raise plain.invalid_response(self._provider_id, f"invalid URL {url!r} ({error})") from error
                async with aclosing(await self._answered(client, posted)) as response:
                    _acknowledge(response)
                    if response.status in _REDIRECTS and _header(response, "location") is not None:
                        url = self._redirected(url, response)
                        continue
                    if not 200 <= response.status < 300:
                        raise await self._refused(response, request, body)
                    has_answer = True
                    async for chunk in self._decoded(response):
                        yield chunk
                    return
            raise plain.invalid_response(self._provider_id, "too many redirects")
        except httpcore.ConnectTimeout as error:
            detail = f"no connection within {_CONNECT_TIMEOUT_S:g} s"
            raise plain.no_connection(
                self._provider_id, url, detail, proxy=self._endpoint.proxy, kind="timeout"
            ) from error
        except httpcore.WriteTimeout as error:
            detail = f"{plain.host(url)} accepted nothing of the request for {_WRITE_TIMEOUT_S:g} s"
            raise plain.timed_out(self._provider_id, detail) from error
        except httpcore.TimeoutException as error:
            seconds = self._endpoint.chunk_timeout_ms / 1000
            raise plain.timed_out(self._provider_id, f"{plain.host(url)} sent nothing for {seconds:g} s") from error
        except httpcore.UnsupportedProtocol as error:
            raise plain.invalid_response(self._provider_id, f"invalid URL {url!r} ({error})") from error
        except connection_failures() as error:
            detail = redact_text(str(error), self.secrets) or type(error).__name__
            if has_answer:
                raise plain.truncated(
                    self._provider_id, f"the connection to {plain.host(url)} was lost ({detail})"
                ) from error
            raise plain.no_connection(
                self._provider_id, url, detail, proxy=self._endpoint.proxy, is_refused=is_refused(error)
            ) from error

    def _redirected(self, url: str, response: "httpcore.Response") -> str:
        """Return the target of a redirect that keeps the request and the server. Raises ProviderError for all others."""
        location = _header(response, "location") or ""
        with suppress(ValueError):
            target = urljoin(url, location)
            if response.status in (307, 308) and urlsplit(target)[:2] == urlsplit(url)[:2]:
                return target
        raise plain.redirected(self._provider_id, url, location)

    async def _answered(
        self, client: "httpcore.AsyncConnectionPool", request: "httpcore.Request"
    ) -> "httpcore.Response":
        """Return the response with its headers. Raises ProviderError where they take too long byte by byte."""
        limit_s = self._endpoint.fruitless_s
        try:
            async with asyncio.timeout(limit_s):
                return await client.handle_async_request(request)
        except TimeoutError as error:
            detail = f"{plain.host(self._endpoint.base_url)} sent no response within {limit_s:g} s"
            raise plain.timed_out(self._provider_id, detail) from error

    async def _refused(self, response: "httpcore.Response", request: LlmRequest | None, sent: bytes) -> Exception:
        """Return the error for a response with another status than success, by what arrives of its body within some seconds."""
        from opencode_tui.engine.provider import failure  # only for failed calls
        from opencode_tui.engine.provider.error.body import Reported
        from opencode_tui.engine.provider.error.rejected_tool import sent_tools

        body = b""
        with suppress(TimeoutError, *connection_failures()):
            async with asyncio.timeout(_ERROR_BODY_S):
                async for chunk in self._decoded(response):
                    body += chunk
                    if len(body) >= _MAX_ERROR_BODY:
                        break
        reported = Reported(
            self._provider_id,
            status=response.status,
            body=body[:_MAX_ERROR_BODY].decode("utf-8", "replace"),
            headers={name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers},
            secrets=self.secrets,
            key_setting=self._endpoint.key_setting,
            model_id=request.model.model_id if request is not None else "",
            has_media=request is None or has_media(request),
            tools=sent_tools(sent) if request is not None and response.status in _WRONG_REQUEST else (),
        )
        return failure.from_response(reported, now_ms=self._clock())

    async def _decoded(self, response: "httpcore.Response") -> AsyncGenerator[bytes]:
        """Yield the decompressed body in slices of limited size, up to a limited total; many small chunks are gathered."""
        encoding = (_header(response, "content-encoding") or "identity").lower()
        if encoding not in ("identity", "", "gzip", "x-gzip", "deflate"):
            raise plain.invalid_response(self._provider_id, f"the response has the unexpected encoding {encoding!r}")
        unpack = _as_it_is if encoding in ("identity", "") else unpacker()
        size = 0
        now = asyncio.get_running_loop().time
        waited, gathered, asked = -_GATHER_S, 0, now()
        async for raw in response.aiter_stream():
            came = now()
            gathered += len(raw)
            try:
                for chunk in unpack(raw):
                    size += len(chunk)
                    if size > _MAX_ANSWER_BYTES:
                        limit = f"the response is larger than {_MAX_ANSWER_BYTES // 2**20} MB"
                        raise plain.invalid_response(self._provider_id, limit)
                    yield chunk
            except zlib.error as error:
                raise plain.invalid_response(self._provider_id, f"cannot decompress the response ({error})") from error
            if came - asked > _READY_S:
                if came - waited < _GATHER_S and gathered < _FULL_BYTES:
                    await asyncio.sleep(_GATHER_S)
                waited, gathered = now(), 0
            asked = now()


def _acknowledge(response: "httpcore.Response") -> None:
    """Acknowledge the headers now: a server with Nagle's algorithm does not send what follows them before that.

    The system would wait up to 40 ms, in case there is something to send. Only Linux lets a program change that, and only for a
    moment, so this is done for each response.
    """
    stream = cast("AsyncNetworkStream", response.extensions["network_stream"])
    connection: socket.socket | None = stream.get_extra_info("socket")
    if _ACKNOWLEDGE is not None and connection is not None:
        with suppress(OSError):  # the connection is lost, which the next read reports
            connection.setsockopt(socket.IPPROTO_TCP, _ACKNOWLEDGE, 1)


def _header(response: "httpcore.Response", name: str) -> str | None:
    """Return the value of a header, named in small letters."""
    found = next((value for key, value in response.headers if key.lower() == name.encode()), None)
    return None if found is None else found.decode("latin-1")


def _as_it_is(raw: bytes) -> tuple[bytes, ...]:
    return (raw,)


class DirectLlm:
    """A provider with one of the formats."""

    def __init__(
        self, endpoint: Endpoint, used: ProviderFormat, *, clock: Clock = system_clock, on_usage: OnUsage = ignore_usage
    ) -> None:
        self._on_usage = on_usage
        self._provider_id = endpoint.provider_id
        self._silence_s = endpoint.silence_s
        self._fruitless_s = endpoint.fruitless_s
        self._format = used
        self._clock = clock
        self._http = HttpProvider(endpoint, used.credentials(endpoint.api_key), clock=clock)

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Sequence[StreamEvent]]:
        """Yield one batch of events for each chunk of bytes that completes any; see `Llm.stream`."""
        with (
            normalizing(self._format.metadata_key, request, self._on_usage) as normalizer,
            waiting("first_byte", self._provider_id, limit_s=self._silence_s) as wait,
        ):
            decoder = self._format.decoder()
            path, body, headers = self._format.path(request), self._format.encode(request), request.model.headers
            async with aclosing(self._http.post(path, body, wait=wait, headers=headers, request=request)) as chunks:
                try:
                    async for chunk in chunks:
                        if events := normalizer.push_metered(decoder.feed(chunk)):
                            wait.restart("more")
                            yield events
                        elif self._fruitless_s is not None and wait.lasted_s > self._fruitless_s:
                            detail = f"nothing of an answer in what came for {self._fruitless_s:g} s"
                            raise plain.timed_out(self._provider_id, detail)
                        if normalizer.has_end or normalizer.error is not None:
                            break
                    else:
                        if events := normalizer.push_metered(decoder.end()):
                            yield events
                except WebPageError as error:
                    raise plain.web_page(self._provider_id, str(error)) from error
                except ProtocolError as error:
                    raise plain.invalid_response(self._provider_id, str(error)) from error
                except ProviderError:
                    if not normalizer.is_whole:
                        raise
                yield closing_events(normalizer, self._provider_id, secrets=self._http.secrets, now_ms=self._clock())
                await _drain(chunks)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.close()


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read the few bytes after the provider's end marker; ignore errors, because the response is complete."""
    try:
        async with asyncio.timeout(_DRAIN_S):
            async for _ in chunks:
                pass
    except (TimeoutError, ProviderError):
        return
