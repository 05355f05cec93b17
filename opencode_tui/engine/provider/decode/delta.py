"""Provider-independent pieces of a stream, from the decoders to the normalizer.

`block` is the provider's number of a content block; None for a format without blocks (OpenAI).
"""

from typing import Any, NamedTuple

from opencode_tui.engine.provider.llm import FinishReason, Usage
from opencode_tui.schema.record import JsonObject


class WireText(NamedTuple):
    """A piece of text."""

    text: str
    block: int | None = None


class WireReasoning(NamedTuple):
    """A piece of reasoning; `metadata` replaces earlier values of the same keys."""

    text: str
    block: int | None = None
    metadata: JsonObject | None = None


class WireCall(NamedTuple):
    """A piece of a tool call; `arguments` is a piece of JSON or the complete value."""

    position: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: Any = None
    metadata: JsonObject | None = None


class WireStop(NamedTuple):
    """The block with this number is complete."""

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
    """The stream contained unreadable data, so the data around it may be incomplete."""

    text: str


class WireEnd(NamedTuple):
    """The provider's end marker."""


WireDelta = (
    WireText | WireReasoning | WireCall | WireStop | WireFinish | WireUsage | WireError | MalformedChunk | WireEnd
)


class ProtocolError(ValueError):
    """The bytes are not a stream of the expected format; the message says what they are."""
