"""A conversation with a model adapter whose tools answer from a script, for tests of the demo model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from opencode_tui.engine.provider.demo import DEMO_MODEL
from opencode_tui.engine.provider.demo.llm import DemoLlm
from opencode_tui.engine.provider.llm import (
    AssistantEntry,
    CallBlock,
    LlmRequest,
    ModelMessage,
    ResultBlock,
    StreamEvent,
    TextBlock,
    TextDelta,
    ToolCall,
    ToolEntry,
    ToolSpec,
    UserEntry,
)

TOOLS = ("read", "write", "edit", "bash", "glob", "grep", "list", "todowrite")
Answer = Callable[[str, dict[str, Any]], "str | Refused"]


@dataclass(frozen=True, slots=True)
class Refused:
    """A tool's error."""

    text: str


@dataclass
class Conversation:
    """Turns with the demo model; `calls` are (tool, input), `texts` what it said in each step, of the latest turn."""

    answer: Answer = lambda tool, arguments: "ok"
    tools: Sequence[str] = TOOLS
    system: tuple[str, ...] = ("agent", "<env>\n  Working directory: /w\n</env>")
    messages: list[ModelMessage] = field(default_factory=list[ModelMessage])
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    texts: list[str] = field(default_factory=list[str])
    batches: list[list[StreamEvent]] = field(default_factory=list[list[StreamEvent]])

    async def say(self, text: str, *, most_steps: int = 12) -> str:
        """Hold a turn to its end and return the closing text; fails when it takes more steps."""
        self.messages.append(UserEntry((TextBlock(text),)))
        self.calls, self.texts, self.batches = [], [], []
        for _ in range(most_steps):
            call = await self._step()
            if call is None:
                return self.texts[-1]
        raise AssertionError(f"no end after {most_steps} steps: {self.calls}")

    async def _step(self) -> ToolCall | None:
        specs = tuple(ToolSpec(name, "", {"type": "object"}) for name in self.tools)
        request = LlmRequest(DEMO_MODEL, self.system, tuple(self.messages), specs)
        events = [event async for batch in DemoLlm(delay_ms=0).stream(request) for event in batch]
        text = "".join(event.text for event in events if isinstance(event, TextDelta))
        call = next((event for event in events if isinstance(event, ToolCall)), None)
        self.batches.append(events)
        self.texts.append(text)
        blocks = (CallBlock(call.id, call.tool, call.input),) if call else ()
        self.messages.append(AssistantEntry((TextBlock(text), *blocks)))
        if call is not None:
            self.calls.append((call.tool, call.input))
            given = self.answer(call.tool, call.input)
            is_error = isinstance(given, Refused)
            result = ResultBlock(call.id, call.tool, given.text if isinstance(given, Refused) else given, is_error)
            self.messages.append(ToolEntry((result,)))
        return call


def numbered(*lines: str, more: bool = False, path: str = "/w/file") -> str:
    """Return a read tool's result for these lines."""
    body = "\n".join(f"{number}: {line}" for number, line in enumerate(lines, 1))
    status = "(File has more lines. Read on with offset=9)" if more else f"(End of file - total {len(lines)} lines)"
    return f"<path>{path}</path>\n<type>file</type>\n<content>\n{body}\n\n{status}\n</content>"
