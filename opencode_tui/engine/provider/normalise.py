"""The one place where a provider's stream becomes `StreamEvent`s, whichever adapter read it.

What comes out obeys the grammar of `stream.py`; tool calls come at the end, in the order in which they began, because only
the end tells whether the answer is whole. Text holds no lone surrogates.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal

from opencode_tui.engine.provider.call_assembly import UNNAMED, CallAssembler, OpenCall
from opencode_tui.engine.provider.stream import (
    FinishReason,
    FinishStep,
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
)
from opencode_tui.engine.provider.think_tag import ThinkTag
from opencode_tui.engine.provider.wire.delta import (
    WireCall,
    WireDamage,
    WireDelta,
    WireEnd,
    WireError,
    WireFinish,
    WireStop,
    WireText,
    WireThought,
    WireUsage,
)
from opencode_tui.schema.record import JsonObject

WireFormat = Literal["openai", "anthropic"]
_SURROGATE = re.compile("[\ud800-\udfff]")
_HIGH_AT_END = re.compile("[\ud800-\udbff]$")


@dataclass(slots=True)
class _Block:
    """An open block of text or thoughts; `held` is half of a surrogate pair whose other half is still to come."""

    id: str
    is_thought: bool
    metadata: JsonObject = field(default_factory=dict[str, object])
    held: str = ""


class Normaliser:
    """Turns the deltas of one answer into events."""

    def __init__(self, wire_format: WireFormat, *, tools: Collection[str] = (), used_ids: Collection[str] = ()) -> None:
        self._format = wire_format
        self._assembler = CallAssembler(tools=tools, used_ids=used_ids)
        self._blocks: dict[tuple[bool, int | None], _Block] = {}
        self._started = 0
        self._think = ThinkTag()
        self._think_key: int | None = None
        self._reason: FinishReason | None = None
        self._usage = Usage()
        self._has_end = False
        self._is_damaged = False
        self.error: JsonObject | None = None
        """The provider's own error object; nothing after it counts."""

    @property
    def is_whole(self) -> bool:
        """Whether the model said why it stopped, or the provider that nothing follows an answer."""
        return self._reason is not None or (self._has_end and not self.is_empty)

    @property
    def has_end(self) -> bool:
        """Whether the provider said that nothing follows."""
        return self._has_end

    @property
    def has_usage(self) -> bool:
        """Whether tokens were reported."""
        return self._usage != Usage()

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all was said."""
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

    def finish(self) -> list[StreamEvent]:
        """Return the events that close a whole answer; call it only when `is_whole`."""
        events: list[StreamEvent] = []
        self._flush_think(events)
        self._close_blocks(list(self._blocks), events)
        calls = self._assembler.calls
        for call in calls:
            self._announce(call, events)
        for call in calls:
            events += (ToolInputEnd(call.id), self._assembler.finished(call, flaw=self._flaw(call)))
        events.append(FinishStep(self._final_reason(), self._usage))
        return events

    def _other(
        self,
        delta: WireThought | WireCall | WireStop | WireFinish | WireUsage | WireError | WireDamage | WireEnd,
        events: list[StreamEvent],
    ) -> None:
        match delta:
            case WireThought():
                self._thought(delta, events)
            case WireCall():
                self._call(delta, events)
            case WireStop(block):
                self._flush_think(events)
                self._close_blocks([key for key in self._blocks if key[1] == block], events)
                self._assembler.close(block)
            case WireFinish(reason):
                self._reason = reason
            case WireUsage(usage):
                self._usage = self._usage if usage == Usage() else usage
            case WireError(body):
                self.error = body
            case WireDamage():
                self._is_damaged = True
            case WireEnd():
                self._has_end = True

    def _text(self, delta: WireText, events: list[StreamEvent]) -> None:
        text, key = delta
        if not text:
            return
        if self._think.is_settled:
            self._append(False, key, text, events)
            return
        self._think_key = key
        for kind, piece in self._think.split(text):
            self._append(kind == "thought", key, piece, events)

    def _thought(self, delta: WireThought, events: list[StreamEvent]) -> None:
        self._flush_think(events)
        if delta.text or (delta.metadata and delta.block is not None) or self._has_details(delta):
            self._append(True, delta.block, delta.text, events)
        if delta.metadata and (block := self._blocks.get((True, delta.block))):
            block.metadata.update(delta.metadata)

    def _has_details(self, delta: WireThought) -> bool:
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
            if block.is_thought:
                events.append(ReasoningEnd(block.id, {self._format: block.metadata} if block.metadata else None))
            else:
                events.append(TextEnd(block.id))

    def _flush_think(self, events: list[StreamEvent]) -> None:
        if self._think.is_settled:
            return
        for kind, piece in self._think.flush():
            self._append(kind == "thought", self._think_key, piece, events)

    def _flaw(self, call: OpenCall) -> str | None:
        if self._is_damaged:
            return "Part of the answer was unreadable, so the arguments may be incomplete. Make the call again."
        if self._reason == "length" and call is self._assembler.calls[-1] and not call.raw.strip():
            return "The answer hit the output limit before the arguments. Make the call again."
        return None

    def _final_reason(self) -> FinishReason:
        reason = self._reason or "unknown"
        if self._assembler.calls:
            return "tool-calls" if reason in ("stop", "unknown", "other") else reason
        return "stop" if reason == "tool-calls" else reason


def _without_surrogates(text: str) -> str:
    """Return valid Unicode: pairs that came as two halves become one character, single halves U+FFFD."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
