"""Provider-independent pieces of a stream, from the decoders to the normalizer.

`block` is the number of a content block; None for a format without blocks (OpenAI's chat completions, Gemini).
"""

from typing import Any, NamedTuple

from opencode_tui.engine.provider.llm import FinishReason, Usage
from opencode_tui.schema.record import JsonObject


class WireText(NamedTuple):
    """A piece of text; `metadata` replaces earlier values of the same keys, and is dropped without an open block."""

    text: str
    block: int | None = None
    metadata: JsonObject | None = None


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
    """Why the model stopped; `said` is the provider's explanation of a refusal, `model` the one that it recommends instead."""

    reason: FinishReason
    said: str = ""
    model: str = ""


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


class WireSearch(NamedTuple):
    """A web search that the provider made itself: its query and results, and what the provider needs back with it.

    One with the ID of an earlier one replaces it: some providers name what they found only at the end.
    """

    id: str
    input: JsonObject
    pages: list[dict[str, str]]
    error: str
    metadata: JsonObject


WireDelta = (
    WireSearch
    | WireText
    | WireReasoning
    | WireCall
    | WireStop
    | WireFinish
    | WireUsage
    | WireError
    | MalformedChunk
    | WireEnd
)


def with_pages(searches: list[WireSearch], named: dict[str, str]) -> list[WireSearch]:
    """Return those searches that pages with a title change: they get the titles, and the last one all pages that none has.

    `named` are titles by address.
    """
    known = {page["url"] for search in searches for page in search.pages}
    found: list[WireSearch] = []
    for search in searches:
        pages = [{**page, "title": named.get(page["url"]) or page["title"]} for page in search.pages]
        if search is searches[-1]:
            pages += [{"title": title or url, "url": url} for url, title in named.items() if url not in known]
        if pages != search.pages:
            found.append(search._replace(pages=pages))
    return found


class ProtocolError(ValueError):
    """The bytes are not a stream of the expected format; the message says what they are."""
