"""The one way to call a model: a request without a provider's dialect, a stream of events, the `Llm` protocol between them.

Names of events are those of seed 000's table. Every adapter feeds the same normalizer, so a stream always has this grammar:

    (text-start text-delta* text-end | reasoning-start reasoning-delta* reasoning-end
     | tool-input-start tool-input-delta* tool-input-end tool-call)*  finish-step

Blocks of different ids may interleave. A stream that ends without `FinishStep` has raised `ProviderError`.
"""

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from opencode_tui.schema.model import Model


class Usage(Struct, frozen=True):
    """Tokens of one call; `input` is without what came from the cache, `output` includes reasoning. 0 when unknown."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int | None = None


class TextStart(Struct, frozen=True):
    """A block of text begins."""

    id: str


class TextDelta(Struct, frozen=True):
    """Text to append to block `id`."""

    id: str
    text: str


class TextEnd(Struct, frozen=True):
    """Block `id` is whole."""

    id: str


class ReasoningStart(Struct, frozen=True):
    """A block of thoughts begins."""

    id: str


class ReasoningDelta(Struct, frozen=True):
    """Thoughts to append to block `id`."""

    id: str
    text: str


class ReasoningEnd(Struct, frozen=True):
    """Block `id` is whole; `metadata` is what the provider needs to get it back (a signature), under the provider's name."""

    id: str
    metadata: dict[str, Any] | None = None


class ToolInputStart(Struct, frozen=True):
    """The model begins to write a call; `id` is its call id, unique in the stream."""

    id: str
    tool: str


class ToolInputDelta(Struct, frozen=True):
    """A piece of the arguments' JSON."""

    id: str
    text: str


class ToolInputEnd(Struct, frozen=True):
    """The arguments are whole."""

    id: str


class ToolCall(Struct, frozen=True):
    """A call to run. With `error` its arguments are unusable (`raw` holds them): it must never be executed."""

    id: str
    tool: str
    input: dict[str, Any]
    raw: str = ""
    error: str | None = None
    metadata: dict[str, Any] | None = None


FinishReason = Literal["stop", "tool-calls", "length", "content-filter", "error", "other", "unknown"]


class FinishStep(Struct, frozen=True):
    """The answer is whole: why it ended and what it used."""

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
    """A piece of a message. `part` is the id of the stored part that it was made of: not sent, not compared."""

    part: str | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Block) and self._sent() == other._sent()

    def __hash__(self) -> int:
        return hash(self._sent())

    def _sent(self) -> tuple[object, ...]:
        return (type(self), *(getattr(self, name) for name in self.__struct_fields__ if name != "part"))


class TextBlock(_Block, frozen=True):
    """Text of a message; `cache` asks the provider to keep everything up to here in its prompt cache."""

    text: str
    cache: bool = False


class MediaBlock(_Block, frozen=True):
    """An image or document; `data` is base64."""

    mime: str
    data: str
    filename: str | None = None


class ThinkingBlock(_Block, frozen=True):
    """The model's earlier thoughts with the metadata that came with them."""

    text: str
    metadata: dict[str, Any] | None = None


class CallBlock(_Block, frozen=True):
    """A tool call that the model made; always answered by a `ResultBlock` in the next entry."""

    id: str
    tool: str
    input: dict[str, Any]
    metadata: dict[str, Any] | None = None


class ResultBlock(_Block, frozen=True):
    """The answer to the call `id`."""

    id: str
    tool: str
    text: str
    is_error: bool = False
    media: tuple[MediaBlock, ...] = ()


class UserEntry(Struct, frozen=True):
    """What the person (or the program in their name) said."""

    content: tuple[TextBlock | MediaBlock, ...]


class AssistantEntry(Struct, frozen=True):
    """What the model said and called, in order."""

    content: tuple[TextBlock | ThinkingBlock | CallBlock, ...]


class ToolEntry(Struct, frozen=True):
    """The answers to all calls of the assistant entry before, in the calls' order."""

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
    """Something that answers requests."""

    def stream(self, request: LlmRequest) -> AsyncGenerator[Sequence[StreamEvent]]:
        """Yield the answer's events, one batch for what arrived together, as the grammar of this module says.

        Raises ProviderError (AuthError, ContextOverflowError, …) when the call fails at any point. Closing the generator or
        cancelling its task closes the connection at once. Never retries: that is the loop's.
        """
        ...

    async def close(self) -> None:
        """Free connections and processes; safe to call twice."""
        ...
