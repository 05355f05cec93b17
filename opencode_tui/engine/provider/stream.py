"""The one way to call a model: a request without a provider's dialect, a stream of events, the `Llm` protocol between them.

Names of events are those of seed 000's table. Every adapter feeds the same normaliser, so a stream always has this grammar:

    (text-start text-delta* text-end | reasoning-start reasoning-delta* reasoning-end
     | tool-input-start tool-input-delta* tool-input-end tool-call)*  finish-step

Blocks of different ids may interleave. A stream that ends without `FinishStep` has raised `ProviderError`.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import field
from typing import Any, Literal, Protocol

from opencode_tui.schema.model import Model
from opencode_tui.schema.value import immutable


@immutable
class Usage:
    """Tokens of one call; `input` is without what came from the cache, `output` includes reasoning. 0 when unknown."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int | None = None


@immutable
class TextStart:
    """A block of text begins."""

    id: str


@immutable
class TextDelta:
    """Text to append to block `id`."""

    id: str
    text: str


@immutable
class TextEnd:
    """Block `id` is whole."""

    id: str


@immutable
class ReasoningStart:
    """A block of thoughts begins."""

    id: str


@immutable
class ReasoningDelta:
    """Thoughts to append to block `id`."""

    id: str
    text: str


@immutable
class ReasoningEnd:
    """Block `id` is whole; `metadata` is what the provider needs to get it back (a signature), under the provider's name."""

    id: str
    metadata: dict[str, Any] | None = None


@immutable
class ToolInputStart:
    """The model begins to write a call; `id` is its call id, unique in the stream."""

    id: str
    tool: str


@immutable
class ToolInputDelta:
    """A piece of the arguments' JSON."""

    id: str
    text: str


@immutable
class ToolInputEnd:
    """The arguments are whole."""

    id: str


@immutable
class ToolCall:
    """A call to run. With `error` its arguments are unusable (`raw` holds them): it must never be executed."""

    id: str
    tool: str
    input: dict[str, Any]
    raw: str = ""
    error: str | None = None
    metadata: dict[str, Any] | None = None


FinishReason = Literal["stop", "tool-calls", "length", "content-filter", "error", "other", "unknown"]


@immutable
class FinishStep:
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


@immutable
class TextBlock:
    """Text of a message; `cache` asks the provider to keep everything up to here in its prompt cache.

    `part` is, here and below, the id of the stored part that the block was made of; it is not sent.
    """

    text: str
    cache: bool = False
    part: str | None = field(default=None, compare=False)


@immutable
class MediaBlock:
    """An image or document; `data` is base64."""

    mime: str
    data: str
    filename: str | None = None
    part: str | None = field(default=None, compare=False)


@immutable
class ThinkingBlock:
    """The model's earlier thoughts with the metadata that came with them."""

    text: str
    metadata: dict[str, Any] | None = None
    part: str | None = field(default=None, compare=False)


@immutable
class CallBlock:
    """A tool call that the model made; always answered by a `ResultBlock` in the next entry."""

    id: str
    tool: str
    input: dict[str, Any]
    metadata: dict[str, Any] | None = None
    part: str | None = field(default=None, compare=False)


@immutable
class ResultBlock:
    """The answer to the call `id`."""

    id: str
    tool: str
    text: str
    is_error: bool = False
    media: tuple[MediaBlock, ...] = ()
    part: str | None = field(default=None, compare=False)


@immutable
class UserEntry:
    """What the person (or the program in their name) said."""

    content: tuple[TextBlock | MediaBlock, ...]


@immutable
class AssistantEntry:
    """What the model said and called, in order."""

    content: tuple[TextBlock | ThinkingBlock | CallBlock, ...]


@immutable
class ToolEntry:
    """The answers to all calls of the assistant entry before, in the calls' order."""

    results: tuple[ResultBlock, ...]


ModelMessage = UserEntry | AssistantEntry | ToolEntry


@immutable
class ToolSpec:
    """A tool as the model sees it; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]


@immutable
class LlmRequest:
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
