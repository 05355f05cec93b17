"""The adapter of the formats that are decoded here: requests over HTTP, whose responses become events."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

from opencode_tui.engine.provider.decode.delta import ProtocolError
from opencode_tui.engine.provider.decode.response import WebPageError
from opencode_tui.engine.provider.error import plain
from opencode_tui.engine.provider.formats import ProviderFormat
from opencode_tui.engine.provider.http import HttpProvider
from opencode_tui.engine.provider.llm import LlmRequest, OnUsage, StreamEvent, ignore_usage
from opencode_tui.engine.provider.normalize import closing_events, normalizing
from opencode_tui.engine.provider.provider import Endpoint
from opencode_tui.schema.error import ProviderError
from opencode_tui.schema.ids import Clock, system_clock

_DRAIN_S = 0.05
"""Seconds to wait for the end of a response body, so that the connection can be reused."""


class DirectLlm:
    """A provider with one of the formats."""

    def __init__(
        self, endpoint: Endpoint, used: ProviderFormat, *, clock: Clock = system_clock, on_usage: OnUsage = ignore_usage
    ) -> None:
        self._on_usage = on_usage
        self._provider_id = endpoint.provider_id
        self._format = used
        self._clock = clock
        self._http = HttpProvider(endpoint, used.credentials(endpoint.api_key), clock=clock)

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Sequence[StreamEvent]]:
        """Yield one batch of events for each chunk of bytes that completes any; see `Llm.stream`."""
        with normalizing(self._format.metadata_key, request, self._on_usage) as normalizer:
            decoder = self._format.decoder()
            async with aclosing(
                self._http.post(self._format.path(request), self._format.encode(request), headers=request.model.headers)
            ) as chunks:
                try:
                    async for chunk in chunks:
                        if events := normalizer.push_metered(decoder.feed(chunk)):
                            yield events
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
