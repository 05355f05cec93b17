"""The interface to models: provider-independent requests and stream events, and the `Llm` protocol.

The names of events are those of OpenCode. Every adapter feeds the same normalizer, so a stream always has this grammar:

    (text-start text-delta* text-end | reasoning-start reasoning-delta* reasoning-end
     | tool-input-start tool-input-delta* tool-input-end tool-call)*  finish-step

Blocks with different IDs may interleave, and `UsageSoFar` may be anywhere before the end. A stream
that ends without `FinishStep` raises `ProviderError`.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from decimal import Decimal
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from opencode_tui.schema.model import Model
from opencode_tui.schema.tools import tool_with


class Usage(Struct, frozen=True):
    """Tokens of one call; `input` excludes cached tokens, `output` includes reasoning. 0 when unknown.

    `cache_write_hour` is the part of `cache_write` that the cache keeps for an hour; `searches` are the calls of the provider's own
    web search. `paid` is what the provider says that the call cost, in USD.
    """

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int | None = None
    cache_write_hour: int = 0
    searches: int = 0
    paid: Decimal | None = None


class TextStart(Struct, frozen=True):
    """A block of text starts."""

    id: str


class TextDelta(Struct, frozen=True):
    """Text to append to block `id`."""

    id: str
    text: str


class TextEnd(Struct, frozen=True):
    """Block `id` is complete; `metadata` is what the provider needs back with it, under the provider's name."""

    id: str
    metadata: dict[str, Any] | None = None


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
    """A call to run. With `error`, its arguments (`raw`) are invalid and it must not be executed.

    `metadata` is what the provider needs back with it, under the provider's name.
    """

    id: str
    tool: str
    input: dict[str, Any]
    raw: str = ""
    error: str | None = None
    metadata: dict[str, Any] | None = None


WEB_SEARCH = tool_with("search")
"""The tool that searches the web; a provider's own search takes its place."""


class ProviderSearch(Struct, frozen=True):
    """A web search that the provider made itself, with its results (title and URL of each), or its `error`.

    `metadata` is what the provider needs back with it, under the provider's name. One with the ID of an earlier one replaces it.
    """

    id: str
    input: dict[str, Any]
    pages: list[dict[str, str]]
    error: str
    metadata: dict[str, Any]


FinishReason = Literal["stop", "tool-calls", "length", "content-filter", "error", "other", "unknown"]


class FinishStep(Struct, frozen=True):
    """The response is complete: why it ended and its usage.

    `said` is the provider's explanation of a refusal, `model` the ID of the model that it recommends instead. With `lacks_call` the
    response ended for a tool call that it does not have; the model is asked once more.
    """

    reason: FinishReason
    usage: Usage
    said: str = ""
    model: str = ""
    lacks_call: bool = False


class UsageSoFar(Struct, frozen=True):
    """What the provider has reported before the end; it counts where no `FinishStep` follows."""

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
    | ProviderSearch
    | UsageSoFar
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
    """Text of a message; `cache` asks the provider to cache the prompt up to here, `metadata` is what came with a model's text."""

    text: str
    cache: bool = False
    metadata: dict[str, Any] | None = None


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
    """A tool as the model sees it; `parameters` is a JSON schema of type object, `server` the MCP server that provides it."""

    name: str
    description: str
    parameters: dict[str, Any]
    server: str = ""


class LlmRequest(Struct, frozen=True):
    """One model call. `system` is one or two segments, the first the same in every call (prompt caching).

    The messages are valid for any provider: `engine/session/request/model_message.py` is the only place that repairs history.
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
    searches: bool = False
    """Whether the provider searches the web itself, in the place of the tool for it."""
    unasked: tuple[str, ...] = ()
    """The names of options that are a default of ours, not of the user."""


def has_media(request: LlmRequest) -> bool:
    """Return whether a request has an image or a document."""
    for entry in request.messages:
        if isinstance(entry, UserEntry) and any(isinstance(block, MediaBlock) for block in entry.content):
            return True
        if isinstance(entry, ToolEntry) and any(result.media for result in entry.results):
            return True
    return False


def provider_searches(request: LlmRequest, provider: str, key: str) -> dict[str, Any]:
    """Return what a provider needs back with its own searches, by their call IDs; empty when it does not search now.

    `key` is where the metadata of a call has it, under the provider's name.
    """
    if not request.searches:
        return {}
    calls = (
        (block.id, (block.metadata or {}).get(provider))
        for entry in request.messages
        if isinstance(entry, AssistantEntry)
        for block in entry.content
        if isinstance(block, CallBlock)
    )
    return {identifier: own[key] for identifier, own in calls if isinstance(own, dict) and key in own}


OnUsage = Callable[[Usage, Model], None]
"""Called once for each call with the tokens that were reported, also if the response was cut off."""


def ignore_usage(usage: Usage, model: Model) -> None:
    """Do nothing with the usage of a call."""


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
