"""What a provider's stream says, without its dialect: the decoders make these, the normalizer reads them.

`block` is the provider's own number of a content block; None where a format has only one running text (OpenAI).
"""

from typing import Any, NamedTuple

from opencode_tui.engine.provider.llm import FinishReason, Usage
from opencode_tui.schema.record import JsonObject


class WireText(NamedTuple):
    """Text to show."""

    text: str
    block: int | None = None


class WireReasoning(NamedTuple):
    """Thoughts; `metadata` replaces what was known of the block under the same keys."""

    text: str
    block: int | None = None
    metadata: JsonObject | None = None


class WireCall(NamedTuple):
    """A piece of a tool call, with whatever the provider says of it; `arguments` is a piece of JSON or the whole value."""

    position: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: Any = None
    metadata: JsonObject | None = None


class WireStop(NamedTuple):
    """The block with this number is whole."""

    block: int


class WireFinish(NamedTuple):
    """Why the model stopped."""

    reason: FinishReason


class WireUsage(NamedTuple):
    """Tokens so far; the last report counts."""

    usage: Usage


class WireError(NamedTuple):
    """The provider reported an error inside the stream, or instead of it."""

    body: JsonObject


class MalformedChunk(NamedTuple):
    """Something unreadable stood in the stream; what is around it may be incomplete."""

    text: str


class WireEnd(NamedTuple):
    """The provider's own mark that nothing follows."""


WireDelta = (
    WireText | WireReasoning | WireCall | WireStop | WireFinish | WireUsage | WireError | MalformedChunk | WireEnd
)


class ProtocolError(ValueError):
    """The bytes are not a stream of the expected format; the text says what they are."""
