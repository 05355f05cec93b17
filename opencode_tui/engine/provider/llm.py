"""The interface to models: provider-independent requests and stream events, and the `Llm` protocol.

The names of events are those of seed 000's table. Every adapter feeds the same normalizer, so a stream always has this grammar:

    (text-start text-delta* text-end | reasoning-start reasoning-delta* reasoning-end
     | tool-input-start tool-input-delta* tool-input-end tool-call)*  finish-step

Blocks with different IDs may interleave. A stream that ends without `FinishStep` raises `ProviderError`.
"""

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from opencode_tui.schema.model import Model


class Usage(Struct, frozen=True):
    """Tokens of one call; `input` excludes cached tokens, `output` includes reasoning. 0 when unknown."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int | None = None


class TextStart(Struct, frozen=True):
    """A block of text starts."""

    id: str


class TextDelta(Struct, frozen=True):
    """Text to append to block `id`."""

    id: str
    text: str


class TextEnd(Struct, frozen=True):
    """Block `id` is complete."""

    id: str


class ReasoningStart(Struct, frozen=True):
    """A block of reasoning starts."""

    id: str


class ReasoningDelta(Struct, frozen=True):
    """Reasoning to append to block `id`."""

    id: str
    text: str


class ReasoningEnd(Struct, frozen=True):
    """Block `id` is complete; `metadata` is what the provider needs back with it (a signature), under the provider's name."""

    id: str
    metadata: dict[str, Any] | None = None


class ToolInputStart(Struct, frozen=True):
    """A call starts; `id` is its call ID, unique in the stream."""

    id: str
    tool: str


class ToolInputDelta(Struct, frozen=True):
    """A piece of the arguments' JSON."""

    id: str
    text: str


class ToolInputEnd(Struct, frozen=True):
    """The arguments are complete."""

    id: str


class ToolCall(Struct, frozen=True):
    """A call to run. With `error`, its arguments (`raw`) are invalid and it must not be executed."""

    id: str
    tool: str
    input: dict[str, Any]
    raw: str = ""
    error: str | None = None
    metadata: dict[str, Any] | None = None


FinishReason = Literal["stop", "tool-calls", "length", "content-filter", "error", "other", "unknown"]


class FinishStep(Struct, frozen=True):
    """The response is complete: why it ended and its usage."""

    reason: FinishReason
    usage: Usage


StreamEvent = (
    TextStart
    | TextDelta
    | TextEnd
    | ReasoningStart
    | ReasoningDelta
    | ReasoningEnd
    | ToolInputStart
    | ToolInputDelta
    | ToolInputEnd
    | ToolCall
    | FinishStep
)


class _Block(Struct, frozen=True, kw_only=True):
    """A piece of a message. `part` is the ID of its stored part: not sent, not compared."""

    part: str | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Block) and self._sent() == other._sent()

    def __hash__(self) -> int:
        return hash(self._sent())

    def _sent(self) -> tuple[object, ...]:
        return (type(self), *(getattr(self, name) for name in self.__struct_fields__ if name != "part"))


class TextBlock(_Block, frozen=True):
    """Text of a message; `cache` asks the provider to cache the prompt up to here."""

    text: str
    cache: bool = False


class MediaBlock(_Block, frozen=True):
    """An image or document; `data` is base64."""

    mime: str
    data: str
    filename: str | None = None


class ThinkingBlock(_Block, frozen=True):
    """The model's earlier reasoning with its metadata."""

    text: str
    metadata: dict[str, Any] | None = None


class CallBlock(_Block, frozen=True):
    """A tool call of the model; the next entry always has its `ResultBlock`."""

    id: str
    tool: str
    input: dict[str, Any]
    metadata: dict[str, Any] | None = None


class ResultBlock(_Block, frozen=True):
    """The result of the call `id`."""

    id: str
    tool: str
    text: str
    is_error: bool = False
    media: tuple[MediaBlock, ...] = ()


class UserEntry(Struct, frozen=True):
    """A message of the user (or of the program on their behalf)."""

    content: tuple[TextBlock | MediaBlock, ...]


class AssistantEntry(Struct, frozen=True):
    """The text, reasoning and calls of the model, in order."""

    content: tuple[TextBlock | ThinkingBlock | CallBlock, ...]


class ToolEntry(Struct, frozen=True):
    """The results of all calls of the preceding assistant entry, in the calls' order."""

    results: tuple[ResultBlock, ...]


ModelMessage = UserEntry | AssistantEntry | ToolEntry


class ToolSpec(Struct, frozen=True):
    """A tool as the model sees it; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]


class LlmRequest(Struct, frozen=True):
    """One model call. `system` is one or two segments, the first the same in every call (prompt caching).

    The messages are valid for any provider: `session/model_message.py` is the only place that repairs history.
    """

    model: Model
    system: tuple[str, ...]
    messages: tuple[ModelMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "required", "none"] = "auto"
    max_output: int = 32_000
    temperature: float | None = None
    top_p: float | None = None
    options: dict[str, Any] = field(default_factory=dict[str, Any])


class Llm(Protocol):
    """An adapter that sends requests to a model."""

    def stream(self, request: LlmRequest) -> AsyncGenerator[Sequence[StreamEvent]]:
        """Yield the events of the response in the grammar of this module, one batch for data that arrived together.

        Raises ProviderError (AuthError, ContextOverflowError, …) when the call fails at any point. Closing the generator or
        canceling its task closes the connection at once. Never retries; the loop does.
        """
        ...

    async def close(self) -> None:
        """Free connections and processes; safe to call twice."""
        ...
