"""`Llm` adapters for the two wire formats that we decode ourselves: OpenAI chat completions and Anthropic messages."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Protocol

from msgspec import Struct

from opencode_tui.engine.provider import failure
from opencode_tui.engine.provider.decode import anthropic_request, openai_request
from opencode_tui.engine.provider.decode.anthropic_messages import AnthropicMessagesDecoder
from opencode_tui.engine.provider.decode.delta import ProtocolError, WireDelta
from opencode_tui.engine.provider.decode.openai_chat import OpenAiChatDecoder
from opencode_tui.engine.provider.http import HttpProvider
from opencode_tui.engine.provider.llm import LlmRequest, StreamEvent
from opencode_tui.engine.provider.normalize import WireFormat, closing_events, new_normalizer
from opencode_tui.engine.provider.provider import Endpoint
from opencode_tui.schema.error import ProviderError
from opencode_tui.schema.ids import Clock, system_clock

_DRAIN_S = 0.05
"""Seconds to wait for the end of a response body, so that the connection can be reused."""


class Decoder(Protocol):
    """Decodes the bytes of one response to deltas; raises ProtocolError for bytes that are not a response."""

    def feed(self, chunk: bytes) -> list[WireDelta]:
        """Return the deltas that these bytes complete."""
        ...

    def end(self) -> list[WireDelta]:
        """Return the deltas that the end of the body completes."""
        ...


class Dialect(Struct, frozen=True):
    """A wire format: the path of requests, their encoder, the decoder of responses, the headers with the key."""

    wire_format: WireFormat
    path: str
    encode: Callable[[LlmRequest], bytes]
    decoder: Callable[[], Decoder]
    credentials: Callable[[str | None], dict[str, str]]


def _bearer(key: str | None) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}


def _anthropic_key(key: str | None) -> dict[str, str]:
    return {"anthropic-version": anthropic_request.VERSION, **({"x-api-key": key} if key else {})}


OPENAI = Dialect("openai", "/chat/completions", openai_request.encode, OpenAiChatDecoder, _bearer)
ANTHROPIC = Dialect("anthropic", "/messages", anthropic_request.encode, AnthropicMessagesDecoder, _anthropic_key)


class DirectLlm:
    """A provider with one of the two wire formats."""

    def __init__(self, endpoint: Endpoint, dialect: Dialect, *, clock: Clock = system_clock) -> None:
        self._provider_id = endpoint.provider_id
        self._dialect = dialect
        self._clock = clock
        self._http = HttpProvider(endpoint, dialect.credentials(endpoint.api_key), clock=clock)

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Sequence[StreamEvent]]:
        """Yield one batch of events for each chunk of bytes that completes any; see `Llm.stream`."""
        normalizer = new_normalizer(self._dialect.wire_format, request)
        decoder = self._dialect.decoder()
        async with aclosing(
            self._http.post(self._dialect.path, self._dialect.encode(request), headers=request.model.headers)
        ) as chunks:
            try:
                async for chunk in chunks:
                    if events := normalizer.push(decoder.feed(chunk)):
                        yield events
                    if normalizer.has_end or normalizer.error is not None:
                        break
                else:
                    if events := normalizer.push(decoder.end()):
                        yield events
            except ProtocolError as error:
                raise failure.invalid_response(self._provider_id, str(error)) from error
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
