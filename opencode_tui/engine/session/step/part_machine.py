"""Pure: apply the events of a stream to the parts of a message.

`apply` takes an event and returns changes in the order in which they must be stored and published. The machine uses no disk and no
bus; ids and times come from its arguments. Source: docs/internals/loop.md#one-step.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import assert_never

from msgspec import Struct

from opencode_tui.engine.provider.llm import (
    WEB_SEARCH,
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
    Usage,
    UsageSoFar,
)
from opencode_tui.engine.session.records.open_records import LiveText
from opencode_tui.schema.ids import Clock, Identifier
from opencode_tui.schema.session.part import AnyPart, PartTime, ReasoningPart, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError, ToolStatePending, ToolTime

PROVIDER_EXECUTED = "providerExecuted"
"""The key in the metadata of a call that the provider ran itself; OpenCode's name."""


class Stored(Struct, frozen=True):
    """A part is new or has a new state: write it, then publish it."""

    part: AnyPart


class Grew(Struct, frozen=True):
    """Text was appended to a part that is already stored."""

    live: LiveText
    delta: str


PartChange = Stored | Grew


def merge_growth(changes: Iterable[PartChange]) -> list[PartChange]:
    """Return the changes in order, with consecutive growths of one part merged."""
    merged: list[PartChange] = []
    for grown, group in groupby(changes, _grown_part):
        if grown is None:
            merged.extend(group)
        else:
            merged.append(Grew(grown, "".join(change.delta for change in group if isinstance(change, Grew))))
    return merged


def _grown_part(change: PartChange) -> LiveText | None:
    return change.live if isinstance(change, Grew) else None


class PartMachine:
    """The parts of one answer. `calls` and `finish` are the tool calls and the finish reason at the end of the stream, `usage` the
    last that was reported."""

    def __init__(self, *, session_id: str, message_id: str, identifier: Identifier, clock: Clock) -> None:
        self._session_id = session_id
        self._message_id = message_id
        self._identifier = identifier
        self._clock = clock
        self._open: dict[tuple[str, str], LiveText] = {}
        self._tools: dict[str, ToolPart] = {}
        self._searches: dict[str, str] = {}
        self.calls: list[tuple[ToolPart, ToolCall]] = []
        self.finish: FinishStep | None = None
        self.usage = Usage()
        self.part_ids: list[str] = []

    def apply(self, event: StreamEvent) -> list[PartChange]:
        """Apply one event and return the changes; empty for events without any."""
        match event:
            case TextDelta():
                return self._append("text", event.id, event.text)
            case ReasoningDelta():
                return self._append("reasoning", event.id, event.text)
            case TextStart() | ReasoningStart() | ToolInputDelta() | ToolInputEnd():
                return []
            case TextEnd():
                return self._close("text", event.id, event.metadata)
            case ReasoningEnd():
                return self._close("reasoning", event.id, event.metadata)
            case ToolInputStart():
                return [Stored(self._pending(event.id, event.tool))]
            case ToolCall():
                return self._call(event)
            case ProviderSearch():
                return [Stored(self._searched(event))]
            case UsageSoFar():
                self.usage = event.usage
                return []
            case FinishStep():
                self.finish, self.usage = event, event.usage
                return self.close_open()
            case _:
                assert_never(event)

    def close_open(self) -> list[PartChange]:
        """Close every open text, for a stream that ended early, and return the changes."""
        return [change for kind, block in tuple(self._open) for change in self._close(kind, block, None)]

    def unfinished_tools(self) -> list[ToolPart]:
        """Return the calls that the model started to write; none of them has run."""
        return list(self._tools.values())

    def _append(self, kind: str, block: str, text: str) -> list[PartChange]:
        if not text:
            return []
        live = self._open.get((kind, block))
        if live is not None:
            live.append(text)
            return [Grew(live, text)]
        live = self._open[(kind, block)] = LiveText(self._new_text(kind))
        begun = Stored(live.record())
        live.append(text)
        return [begun, Grew(live, text)]

    def _new_text(self, kind: str) -> TextPart | ReasoningPart:
        part_id = self._new_id()
        time = PartTime.trusted(start=self._clock())
        part_type = TextPart if kind == "text" else ReasoningPart
        return part_type(id=part_id, session_id=self._session_id, message_id=self._message_id, text="", time=time)

    def _close(self, kind: str, block: str, metadata: dict[str, object] | None) -> list[PartChange]:
        live = self._open.pop((kind, block), None)
        if live is None:
            if not metadata:
                return []
            live = LiveText(self._new_text(kind))
        return [Stored(live.closed(end=self._clock(), metadata=metadata))]

    def _pending(self, call_id: str, tool: str) -> ToolPart:
        part = ToolPart(
            id=self._new_id(),
            session_id=self._session_id,
            message_id=self._message_id,
            call_id=call_id,
            tool=tool,
            state=ToolStatePending(),
        )
        self._tools[call_id] = part
        return part

    def _call(self, event: ToolCall) -> list[PartChange]:
        known = self._tools.get(event.id)
        part = known or self._pending(event.id, event.tool)
        changed = part.changed(tool=event.tool, metadata=event.metadata or part.metadata)
        self._tools[event.id] = changed
        self.calls.append((changed, event))
        return [] if known is not None and changed == known else [Stored(changed)]

    def _searched(self, event: ProviderSearch) -> ToolPart:
        """Return the part of a search that the provider made: a call that is complete at once, and may be reported again."""
        now = self._clock()
        time = ToolTime(start=now, end=now)
        lines = (
            f"{number}. {page['title']}" + (f"\n   {page['url']}" if page["title"] != page["url"] else "")
            for number, page in enumerate(event.pages, start=1)
        )
        title = str(event.input.get("query") or "")
        state = (
            ToolStateError(input=event.input, error=f"The provider's search failed: {event.error}.", time=time)
            if event.error
            else ToolStateCompleted(
                input=event.input,
                output="\n\n".join(lines) or "No results.",
                title=title,
                metadata={
                    **({"count": len(event.pages)} if event.pages else {}),
                    "results": event.pages,
                    PROVIDER_EXECUTED: True,
                },
                time=time,
            )
        )
        part_id = self._searches.get(event.id) or self._new_id()
        self._searches[event.id] = part_id
        return ToolPart(
            id=part_id,
            session_id=self._session_id,
            message_id=self._message_id,
            call_id=event.id,
            tool=WEB_SEARCH,
            state=state,
            metadata={**event.metadata, PROVIDER_EXECUTED: True},
        )

    def _new_id(self) -> str:
        part_id = self._identifier.ascending("prt")
        self.part_ids.append(part_id)
        return part_id
