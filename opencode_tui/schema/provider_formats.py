"""The formats of providers: one row each, from which settings, the catalog, the routes and the engine derive theirs.

A new format is its name and its row here, `engine/provider/decode/NAME_request.py` with the encoder of requests and `FORMAT`, and
the decoder of streams beside it.
"""

from typing import Literal

from msgspec import Struct

FormatName = Literal["openai", "responses", "anthropic", "gemini"]
"""OpenAI's chat completions, which most servers have, and its Responses; Anthropic's messages; Gemini's `generateContent`."""

COMPATIBLE: FormatName = "openai"
"""The format of servers about which nothing is known."""

Efforts = Literal["names", "summaries", "thinking", "levels"]
"""How a request asks for reasoning: by an effort, by one with a summary of it, by Anthropic's thinking, by Gemini's levels."""


class FormatRow(Struct, frozen=True, kw_only=True):
    """A format as all layers know it.

    `package` is the one of OpenCode that has it. `searches` is whether all its models search the web at the provider (others only
    as `model_facts.json` says), `no_search_with` the effort with which none does. `pictures` is how they are counted as tokens.
    """

    name: FormatName
    package: str
    efforts: Efforts = "names"
    searches: bool = False
    no_search_with: str = ""
    pictures: Literal["tiles", "area"] = "tiles"


FORMATS = (
    FormatRow(name="openai", package="@ai-sdk/openai-compatible"),
    FormatRow(
        name="responses",
        package="@ai-sdk/openai",
        efforts="summaries",
        # Source: https://platform.openai.com/docs/guides/tools-web-search, limitations
        no_search_with="minimal",
    ),
    FormatRow(
        name="anthropic",
        package="@ai-sdk/anthropic",
        efforts="thinking",
        searches=True,
        pictures="area",
    ),
    FormatRow(name="gemini", package="@ai-sdk/google", efforts="levels"),
)

_BY_NAME: dict[str, FormatRow] = {row.name: row for row in FORMATS}


def row_of(adapter: str) -> FormatRow | None:
    """Return the row of the format that an adapter is; None for one that is no format (litellm, a plan, the demo)."""
    return _BY_NAME.get(adapter)
