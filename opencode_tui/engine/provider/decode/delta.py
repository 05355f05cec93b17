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


class Searches:
    """The searches of a response whose provider names the pages that they found later."""

    def __init__(self) -> None:
        self._made: list[WireSearch] = []
        self._titles: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._made)

    def add(self, search: WireSearch, deltas: list[WireDelta]) -> None:
        """Append a search to the deltas."""
        self._made.append(search)
        deltas.append(search)

    def name(self, url: str, title: str) -> None:
        """Record the title of a page; the first one counts."""
        if url:
            self._titles.setdefault(url, title)

    def add_titles(self, deltas: list[WireDelta]) -> None:
        """Append the searches that titles change: pages get theirs, and the last search all named pages that none has."""
        known = {page["url"] for search in self._made for page in search.pages}
        for at, search in enumerate(self._made):
            pages = [{**page, "title": self._titles.get(page["url"]) or page["title"]} for page in search.pages]
            if at == len(self._made) - 1:
                pages += [
                    {"title": title or url, "url": url} for url, title in self._titles.items() if url not in known
                ]
            if pages != search.pages:
                self._made[at] = search._replace(pages=pages)
                deltas.append(self._made[at])


class ProtocolError(ValueError):
    """The bytes are not a stream of the expected format; the message says what they are."""
