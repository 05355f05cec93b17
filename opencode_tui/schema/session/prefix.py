"""The start of a session's requests that stays the same: its system text and tools, and what broke it.

Stored beside the session as `session_prefix/{sessionID}`, a kind of ours. A session without one gets it with its next request.
"""

from typing import Any

from opencode_tui.schema.field import Field
from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.record import Record, absent


class FrozenLayer(Record):
    """A piece of the system prompt as it was; `kind` and `name` identify it."""

    kind: str
    name: str
    text: str


class FrozenTool(Record):
    """A tool as the model sees it; without a description it is the program's own tool of that name, as this version has it.

    `server` is the MCP server that provides it.
    """

    name: str
    description: str | None = absent()
    parameters: dict[str, Any] | None = absent()
    server: str | None = absent()


class FrozenPrefix(Record):
    """What all requests of one model and agent start with, from the request `request` on; `time` is when that was, in ms.

    `known` has a mark of each fact that it states, by its name: what differs from it now is announced in a message. Starts of
    older versions are without `request`.
    """

    agent: str
    model: str
    time: int
    request: str | None = absent()
    layers: list[FrozenLayer] = Field(default_factory=list[FrozenLayer])
    tools: list[FrozenTool] = Field(default_factory=list[FrozenTool])
    known: dict[str, str] = Field(default_factory=dict[str, str])


class PrefixBreak(Record):
    """A request that did not start with the whole request before it.

    `kept` are the bytes that both start with, `lost` those of the earlier request after them; `tokens` is the estimate for
    `lost`. `cost` is what these cost more than cached ones, in USD; absent when the model's prices are unknown.
    """

    message_id: str
    time: int
    model: str
    cause: str
    place: str
    kept: int
    lost: int
    tokens: int
    cost: float | None = absent()


class SentRequest(Record):
    """The newest request in short: `units` are digests and sizes of its pieces in order, as base64.

    `effort` is how much reasoning it asked for, empty for the provider's default; requests of older versions are without it.
    """

    agent: str
    model: str
    units: str
    effort: str | None = absent()


class SessionPrefix(Record):
    """The frozen starts of a session's requests.

    They hold for one folder and one state of the history: `boundary` identifies the summary that the requests start with, empty
    without one. `frozen` has one entry for each model and agent that answered, the first one first. `breaks` are the newest ones.
    """

    directory: FilePath
    boundary: str = ""
    frozen: list[FrozenPrefix] = Field(default_factory=list[FrozenPrefix])
    breaks: list[PrefixBreak] = Field(default_factory=list[PrefixBreak])
    requests: int = 0
    last: SentRequest | None = absent()
