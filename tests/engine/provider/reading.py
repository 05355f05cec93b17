"""Feeds bytes through a decoder and the normalizer, and gathers what comes out in a form that is easy to compare."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from opencode_tui.engine.provider.decode.delta import ProtocolError
from opencode_tui.engine.provider.error.plain import invalid_response
from opencode_tui.engine.provider.formats import find_format
from opencode_tui.engine.provider.llm import (
    FinishStep,
    ProviderSearch,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    UsageSoFar,
)
from opencode_tui.engine.provider.normalize import Normalizer, closing_events
from opencode_tui.schema.error import ProviderError
from opencode_tui.schema.provider_formats import COMPATIBLE, row_of

TOOLS = ("bash", "read", "write", "edit", "glob", "grep", "list", "todoread", "todowrite", "task")


@dataclass
class Heard:
    """An answer: blocks in order of their start, the calls, the end, and the error that broke it."""

    blocks: list[tuple[str, str]] = field(default_factory=list)
    metadata: list[Any] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    finish: FinishStep | None = None
    error: ProviderError | None = None

    def joined(self, kind: str) -> str:
        return "".join(text for block, text in self.blocks if block == kind)


def decode(
    api: str, chunks: Iterable[bytes], *, tools: Iterable[str] = TOOLS
) -> tuple[list[StreamEvent], ProviderError | None]:
    """Return the events of these bytes as the direct adapter would give them, and the error at their end."""
    row = row_of(api)
    used = find_format(row.name if row else COMPATIBLE)
    normalizer = Normalizer(used.metadata_key, tools=tuple(tools))
    decoder = used.decoder()
    events: list[StreamEvent] = []
    try:
        for chunk in chunks:
            events += normalizer.push(decoder.feed(chunk))
            if normalizer.has_end or normalizer.error is not None:
                break
        else:
            events += normalizer.push(decoder.end())
        return events + list(closing_events(normalizer, "test", secrets=(), now_ms=0)), None
    except ProtocolError as error:
        return events, invalid_response("test", str(error))
    except ProviderError as error:
        return events, error


def gather(events: Iterable[StreamEvent], error: ProviderError | None = None) -> Heard:
    """Return the answer that these events tell; asserts the grammar of the stream on the way."""
    heard = Heard(error=error)
    open_blocks: dict[str, int] = {}
    inputs: dict[str, list[str]] = {}
    ended: set[str] = set()
    for event in events:
        assert heard.finish is None, "an event after the end"
        match event:
            case TextStart(identifier) | ReasoningStart(identifier):
                assert identifier not in open_blocks
                open_blocks[identifier] = len(heard.blocks)
                heard.blocks.append(("text" if isinstance(event, TextStart) else "reasoning", ""))
            case TextDelta(identifier, text) | ReasoningDelta(identifier, text):
                kind, before = heard.blocks[open_blocks[identifier]]
                assert text
                heard.blocks[open_blocks[identifier]] = (kind, before + text)
            case TextEnd(identifier):
                del open_blocks[identifier]
            case ReasoningEnd(identifier, metadata):
                del open_blocks[identifier]
                heard.metadata.append(metadata)
            case ToolInputStart(identifier, tool):
                assert identifier not in inputs
                assert tool
                inputs[identifier] = []
                heard.blocks.append(("tool", tool))
            case ToolInputDelta(identifier, text):
                inputs[identifier].append(text)
            case ToolInputEnd(identifier):
                assert identifier in inputs
                ended.add(identifier)
            case ToolCall():
                assert event.id in ended
                heard.calls.append(event)
            case ProviderSearch():
                heard.blocks.append(("search", str(event.input.get("query"))))
                heard.metadata.append(event.metadata)
            case UsageSoFar():
                pass  # for answers that do not end
            case FinishStep():
                heard.finish = event
    assert error is not None or not open_blocks
    assert len({call.id for call in heard.calls}) == len(heard.calls)
    return heard
