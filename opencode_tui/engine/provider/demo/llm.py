"""The demo model as a provider adapter: streams the next act as any model would, word by word, without a network."""

import asyncio
import json
import re
import secrets
from collections.abc import AsyncGenerator, Iterator, Sequence

from opencode_tui.engine.provider.demo.plan import Action, plan_next
from opencode_tui.engine.provider.demo.script import Call
from opencode_tui.engine.provider.stream import (
    CallBlock,
    FinishStep,
    LlmRequest,
    MediaBlock,
    ModelMessage,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    TextBlock,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingBlock,
    ToolCall,
    ToolEntry,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    Usage,
)
from opencode_tui.schema.model import Limit, Model

DEMO_MODEL = Model(
    provider_id="demo",
    model_id="tour",
    name="Demo (offline, scripted)",
    adapter="demo",
    api_id="tour",
    limit=Limit(context=32_000, output=4_000),
    reasoning=True,
    temperature=False,
)
"""The model entry: free, small, always there."""

_DEFAULT_DELAY_MS = 8
_WORD = re.compile(r"\s*\S+\s*\Z|\s*\S+", re.DOTALL)
_CHARACTERS_PER_TOKEN = 4


class DemoLlm:
    """The scripted model; waits `delay_ms` after each word, so that its text streams visibly."""

    def __init__(self, *, delay_ms: float = _DEFAULT_DELAY_MS) -> None:
        self._delay_s = delay_ms / 1000

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Sequence[StreamEvent]]:
        """Yield the next act of the turn; never fails, and holds nothing that would need closing."""
        action = await asyncio.to_thread(plan_next, request)
        for event in _events(action, request):
            yield (event,)
            await asyncio.sleep(self._delay_s if isinstance(event, TextDelta | ReasoningDelta | ToolInputDelta) else 0)

    async def close(self) -> None:
        """Do nothing: there is no connection."""


def _events(action: Action, request: LlmRequest) -> Iterator[StreamEvent]:
    if action.thought:
        yield ReasoningStart("thought")
        yield from (ReasoningDelta("thought", word) for word in _WORD.findall(action.thought))
        yield ReasoningEnd("thought")
    yield TextStart("text")
    yield from (TextDelta("text", word) for word in _WORD.findall(action.text))
    yield TextEnd("text")
    if action.call is not None:
        yield from _call_events(action.call)
    yield FinishStep("stop" if action.call is None else "tool-calls", _usage(action, request))


def _call_events(call: Call) -> Iterator[StreamEvent]:
    name = f"call_{secrets.token_hex(12)}"
    raw = json.dumps(call.input, ensure_ascii=False)
    yield ToolInputStart(name, call.tool)
    yield from (ToolInputDelta(name, piece) for piece in _WORD.findall(raw))
    yield ToolInputEnd(name)
    yield ToolCall(name, call.tool, call.input, raw=raw)


def _usage(action: Action, request: LlmRequest) -> Usage:
    """Return estimated tokens; nothing is counted by anyone here, so four characters are one."""
    written = len(action.text) + (len(json.dumps(action.call.input)) if action.call else 0)
    read = sum(map(len, request.system)) + sum(
        len(tool.description) + len(json.dumps(tool.parameters)) for tool in request.tools
    )
    read += sum(_size(entry) for entry in request.messages)
    thought = _tokens(len(action.thought))
    return Usage(input=_tokens(read), output=_tokens(written) + thought, reasoning=thought)


def _size(entry: ModelMessage) -> int:
    """Return the characters of an entry; media are not counted, this model does not look at them."""
    if isinstance(entry, ToolEntry):
        return sum(len(result.text) for result in entry.results)
    return sum(_block_size(block) for block in entry.content)


def _block_size(block: TextBlock | MediaBlock | ThinkingBlock | CallBlock) -> int:
    match block:
        case TextBlock() | ThinkingBlock():
            return len(block.text)
        case CallBlock():
            return len(json.dumps(block.input))
        case MediaBlock():
            return 0


def _tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_PER_TOKEN)
