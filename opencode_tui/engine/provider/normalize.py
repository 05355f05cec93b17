"""Converts the deltas of every adapter to `StreamEvent`s.

The events obey the grammar of `llm.py`; tool calls come at the end, in the order in which they start, because only the end of the
response shows whether it is complete. Text contains no unpaired surrogates.
"""

import re
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from msgspec.structs import replace

from opencode_tui.engine.provider.call_assembly import UNNAMED, CallAssembler, OpenCall
from opencode_tui.engine.provider.decode.delta import (
    MalformedChunk,
    WireCall,
    WireDelta,
    WireEnd,
    WireError,
    WireFinish,
    WireReasoning,
    WireSearch,
    WireStop,
    WireText,
    WireUsage,
)
from opencode_tui.engine.provider.error.plain import truncated
from opencode_tui.engine.provider.failure import from_stream
from opencode_tui.engine.provider.llm import (
    AssistantEntry,
    CallBlock,
    FinishReason,
    FinishStep,
    LlmRequest,
    OnUsage,
    ProviderSearch,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    Usage,
    UsageSoFar,
    has_media,
)
from opencode_tui.schema.json_text import with_finite_numbers
from opencode_tui.schema.record import JsonObject

_SURROGATE = re.compile("[\ud800-\udfff]")
_HIGH_AT_END = re.compile("[\ud800-\udbff]$")
_THINK_OPEN = "<think>"
_THINK_CLOSE = "</think>"
_LEADING_SPACE_LIMIT = 4_096
"""Characters of white space after which the text of an answer begins without a tag."""

_UNNAMED_ERROR: JsonObject = {"error": {"message": "the provider ended the answer with an error"}}

Piece = tuple[Literal["text", "thought"], str]


@dataclass(slots=True)
class _Block:
    """An open block of text or reasoning; `held` is the first half of a surrogate pair."""

    id: str
    is_thought: bool
    metadata: JsonObject = field(default_factory=dict[str, object])
    held: str = ""


class Normalizer:
    """Converts the deltas of one response to events; metadata is stored under `metadata_key`."""

    def __init__(
        self,
        metadata_key: str,
        *,
        tools: Collection[str] = (),
        used_ids: Collection[str] = (),
        has_media: bool = True,
    ) -> None:
        self.has_media = has_media
        """Whether the request may have an image or a document, which an error can be about."""
        self._metadata_key = metadata_key
        self._assembler = CallAssembler(tools=tools, used_ids=used_ids)
        self._blocks: dict[tuple[bool, int | None], _Block] = {}
        self._started = 0
        self._think = ThinkTag()
        self._think_key: int | None = None
        self._reason: FinishReason | None = None
        self._finish = WireFinish("unknown")
        self._usage = Usage()
        self._has_end = False
        self._has_search = False
        self._is_damaged = False
        self.error: JsonObject | None = None
        """The provider's error object; later deltas are ignored."""

    @property
    def is_whole(self) -> bool:
        """Whether the response has a finish reason, or the provider marked the end of a response with content."""
        return self._reason is not None or (self._has_end and not self.is_empty)

    @property
    def failure(self) -> JsonObject | None:
        """The provider's error object, or one for an answer that ended in an error without saying which; None without one."""
        return self.error or (_UNNAMED_ERROR if self._reason == "error" else None)

    @property
    def has_end(self) -> bool:
        """Whether the provider marked the end of the stream."""
        return self._has_end

    @property
    def lacks_call(self) -> bool:
        """Whether the response ended for a tool call that it does not have."""
        return self._reason == "tool-calls" and not self._assembler.calls and not self._has_search

    @property
    def usage(self) -> Usage:
        """The tokens that were reported so far."""
        return self._usage

    @property
    def is_empty(self) -> bool:
        """Whether the response has no content."""
        return self._started == 0 and not self._assembler.calls

    def push(self, deltas: Iterable[WireDelta]) -> list[StreamEvent]:
        """Return the events of these deltas."""
        events: list[StreamEvent] = []
        for delta in deltas:
            if self.error is not None:
                break
            if isinstance(delta, WireText):
                self._text(delta, events)
            else:
                self._other(delta, events)
        return events

    def push_metered(self, deltas: Iterable[WireDelta]) -> list[StreamEvent]:
        """Return the events of these deltas, and the usage when it changed before the end."""
        before = self._usage
        events = self.push(deltas)
        if self._usage is not before and self._reason is None:
            events.append(UsageSoFar(self._usage))
        return events

    def finish(self) -> list[StreamEvent]:
        """Return the events that close a complete response; call it only when `is_whole`."""
        events: list[StreamEvent] = []
        self._flush_think(events)
        self._close_blocks(list(self._blocks), events)
        calls = self._assembler.calls
        for call in calls:
            self._announce(call, events)
        for call in calls:
            finished = self._assembler.finished(call, flaw=self._flaw(call))
            events += (ToolInputEnd(call.id), replace(finished, metadata=self._named(call.metadata)))
        said, model = self._finish.said, self._finish.model
        events.append(FinishStep(self._final_reason(), self._usage, said, model, lacks_call=self.lacks_call))
        return events

    def _other(
        self,
        delta: WireSearch
        | WireReasoning
        | WireCall
        | WireStop
        | WireFinish
        | WireUsage
        | WireError
        | MalformedChunk
        | WireEnd,
        events: list[StreamEvent],
    ) -> None:
        match delta:
            case WireReasoning():
                self._thought(delta, events)
            case WireCall():
                self._call(delta, events)
            case WireStop(block):
                self._flush_think(events)
                self._close_blocks([key for key in self._blocks if key[1] == block], events)
                self._assembler.close(block)
            case WireSearch():
                self._flush_think(events)
                self._close_blocks([key for key in self._blocks if key[1] is None], events)
                self._started += 1
                self._has_search = True
                named = {self._metadata_key: with_finite_numbers(delta.metadata)}
                events.append(
                    ProviderSearch(delta.id, with_finite_numbers(delta.input), delta.pages, delta.error, named)
                )
            case WireFinish(reason):
                self._reason, self._finish = reason, delta
            case WireUsage(usage):
                self._usage = self._usage if usage == Usage() else usage
            case WireError(body):
                # After the reason of a whole answer an error adds nothing (OpenRouter: "Token limit reached" after `length`).
                if self._reason not in ("length", "stop", "tool-calls") or (self.is_empty and self._reason != "length"):
                    self.error = body
            case MalformedChunk():
                self._is_damaged = True
            case WireEnd():
                self._has_end = True

    def _text(self, delta: WireText, events: list[StreamEvent]) -> None:
        text, key, metadata = delta
        if text and self._think.is_text_only:
            self._append(False, key, text, events)
        elif text:
            self._think_key = key
            for kind, piece in self._think.split(text):
                self._append(kind == "thought", key, piece, events)
        if metadata:
            self._flush_think(events)
            if block := self._blocks.get((False, key)):
                block.metadata.update(metadata)

    def _thought(self, delta: WireReasoning, events: list[StreamEvent]) -> None:
        self._flush_think(events)
        if delta.text or (delta.metadata and delta.block is not None) or self._has_details(delta):
            self._append(True, delta.block, delta.text, events)
        if delta.metadata and (block := self._blocks.get((True, delta.block))):
            block.metadata.update(delta.metadata)

    def _has_details(self, delta: WireReasoning) -> bool:
        return bool(delta.metadata and ("details" in delta.metadata or "redactedData" in delta.metadata))

    def _call(self, piece: WireCall, events: list[StreamEvent]) -> None:
        self._flush_think(events)
        self._close_blocks([key for key in self._blocks if key[1] is None], events)
        call = self._assembler.add(piece)
        if call.is_announced or self._assembler.is_named(call):
            self._announce(call, events)

    def _announce(self, call: OpenCall, events: list[StreamEvent]) -> None:
        if not call.is_announced:
            call.is_announced = True
            events.append(ToolInputStart(call.id, call.name or UNNAMED))
        if call.unsent:
            events.append(ToolInputDelta(call.id, _without_surrogates("".join(call.unsent))))
            call.unsent.clear()

    def _append(self, is_thought: bool, key: int | None, text: str, events: list[StreamEvent]) -> None:
        block = self._blocks.get((is_thought, key))
        if block is None:
            block = self._open(is_thought, key, events)
        if block.held or not text.isascii():
            text = block.held + text
            high = _HIGH_AT_END.search(text)
            block.held = high.group() if high else ""
            text = _without_surrogates(text[:-1] if high else text)
        if text:
            events.append(ReasoningDelta(block.id, text) if is_thought else TextDelta(block.id, text))

    def _open(self, is_thought: bool, key: int | None, events: list[StreamEvent]) -> _Block:
        if key is None:
            self._close_blocks([other for other in self._blocks if other[1] is None], events)
        block = _Block(f"{'reasoning' if is_thought else 'text'}-{self._started}", is_thought)
        self._started += 1
        self._blocks[is_thought, key] = block
        events.append(ReasoningStart(block.id) if is_thought else TextStart(block.id))
        return block

    def _close_blocks(self, keys: list[tuple[bool, int | None]], events: list[StreamEvent]) -> None:
        for key in keys:
            block = self._blocks.pop(key)
            if block.held:
                events.append(ReasoningDelta(block.id, "\ufffd") if block.is_thought else TextDelta(block.id, "\ufffd"))
            end = ReasoningEnd if block.is_thought else TextEnd
            events.append(end(block.id, self._named(block.metadata)))

    def _named(self, metadata: JsonObject | None) -> JsonObject | None:
        """Return metadata under the provider's name, as records store it; None for none."""
        return {self._metadata_key: with_finite_numbers(metadata)} if metadata else None

    def _flush_think(self, events: list[StreamEvent]) -> None:
        if self._think.is_text_only:
            return
        for kind, piece in self._think.flush():
            self._append(kind == "thought", self._think_key, piece, events)

    def _flaw(self, call: OpenCall) -> str | None:
        if self._is_damaged:
            return "Part of the response was unreadable, so the arguments may be incomplete. Make the call again."
        if self._reason == "content-filter":
            return "The provider stopped this response, so its calls are not run."
        if self._reason == "length" and call is self._assembler.calls[-1] and not call.raw.strip():
            return "The response hit the output limit before the arguments. Make the call again."
        return None

    def _final_reason(self) -> FinishReason:
        reason = self._reason or "unknown"
        if self._assembler.calls:
            return "tool-calls" if reason in ("stop", "unknown", "other") else reason
        if self.lacks_call:
            return "unknown"
        return "stop" if reason == "tool-calls" else reason


def _without_surrogates(text: str) -> str:
    """Return valid Unicode: surrogate pairs become one character, unpaired surrogates U+FFFD."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@contextmanager
def normalizing(metadata_key: str, request: LlmRequest, on_usage: OnUsage) -> Generator[Normalizer]:
    """Yield the normalizer for the response to a request, with its tools and the call IDs in use.

    At the end, also of a response that was cut off, `on_usage` is called with what was reported.
    """
    normalizer = Normalizer(
        metadata_key,
        tools=[tool.name for tool in request.tools],
        used_ids=_call_ids(request),
        has_media=has_media(request),
    )
    try:
        yield normalizer
    finally:
        on_usage(normalizer.usage, request.model)


def closing_events(
    normalizer: Normalizer, provider_id: str, *, secrets: tuple[str, ...], now_ms: int
) -> Sequence[StreamEvent]:
    """Return the last events of a response. Raises ProviderError for the provider's error or a missing end."""
    if (error := normalizer.failure) is not None:
        raise from_stream(provider_id, error, secrets=secrets, now_ms=now_ms, has_media=normalizer.has_media)
    if not normalizer.is_whole:
        raise truncated(provider_id, "the response is empty" if normalizer.is_empty else "the response was cut off")
    return normalizer.finish()


def _call_ids(request: LlmRequest) -> set[str]:
    entries = (entry for entry in request.messages if isinstance(entry, AssistantEntry))
    return {block.id for entry in entries for block in entry.content if isinstance(block, CallBlock)}


class ThinkTag:
    """Separates `<think>…</think>` at the start of a response from its text, however the stream is split.

    Models on servers without a reasoning parser write it. Anywhere else the tag is text.
    """

    def __init__(self) -> None:
        self.is_text_only = False
        """Whether everything that follows is text."""
        self._held = ""
        self._is_inside = False
        self._is_closed = False

    def split(self, text: str) -> list[Piece]:
        """Return the parts that are decided so far, in order."""
        if self.is_text_only:
            return [("text", text)]
        self._held += text
        if self._is_closed:
            return self._after_tag([])
        if not self._is_inside:
            begun = self._held.lstrip()
            if begun.startswith(_THINK_OPEN):
                self._is_inside, self._held = True, begun[len(_THINK_OPEN) :]
            elif not _THINK_OPEN.startswith(begun) or len(self._held) > _LEADING_SPACE_LIMIT:
                return self._close("text", self._held)
            else:
                return []
        thought, tag, rest = self._held.partition(_THINK_CLOSE)
        if tag:
            self._is_closed, self._held = True, rest
            return self._after_tag([("thought", thought)] if thought else [])
        kept = _overlap(thought)
        self._held = thought[len(thought) - kept :]
        shown = thought[: len(thought) - kept]
        return [("thought", shown)] if shown else []

    def flush(self) -> list[Piece]:
        """Return the buffered rest at the end of the stream."""
        return self._close("thought" if self._is_inside and not self._is_closed else "text", self._held)

    def _after_tag(self, pieces: list[Piece]) -> list[Piece]:
        """Remove the empty lines between reasoning and text."""
        self._held = self._held.lstrip("\n")
        return pieces + self._close("text", self._held) if self._held else pieces

    def _close(self, kind: Literal["text", "thought"], text: str) -> list[Piece]:
        self.is_text_only = True
        self._held = ""
        return [(kind, text)] if text else []


def _overlap(text: str) -> int:
    """Return the number of characters at the end of the text that may start the closing tag."""
    return next((size for size in range(len(_THINK_CLOSE) - 1, 0, -1) if text.endswith(_THINK_CLOSE[:size])), 0)
