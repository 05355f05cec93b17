"""How every adapter begins and ends the reading of an answer."""

from collections.abc import Sequence

from opencode_tui.engine.provider import failure
from opencode_tui.engine.provider.normalise import Normaliser, WireFormat
from opencode_tui.engine.provider.stream import AssistantEntry, CallBlock, LlmRequest, StreamEvent


def new_normaliser(wire_format: WireFormat, request: LlmRequest) -> Normaliser:
    """Return the normaliser for the answer to a request: it knows the tools, and the call ids that are taken."""
    return Normaliser(wire_format, tools=[tool.name for tool in request.tools], used_ids=_call_ids(request))


def closing_events(
    normaliser: Normaliser, provider_id: str, *, secrets: tuple[str, ...], now_ms: int
) -> Sequence[StreamEvent]:
    """Return the last events of an answer. Raises the ProviderError with which the provider, or the lack of an end, closes it."""
    if normaliser.error is not None:
        raise failure.from_stream(provider_id, normaliser.error, secrets=secrets, now_ms=now_ms)
    if not normaliser.is_whole:
        raise failure.truncated(provider_id, "the answer is empty" if normaliser.is_empty else "the answer broke off")
    return normaliser.finish()


def _call_ids(request: LlmRequest) -> set[str]:
    entries = (entry for entry in request.messages if isinstance(entry, AssistantEntry))
    return {block.id for entry in entries for block in entry.content if isinstance(block, CallBlock)}
