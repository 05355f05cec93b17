"""The content of the next request of a session, item by item, and reports of pruning and compaction."""

from typing import Any, Literal

from opencode_tui.schema.field import Field
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.record import Record, absent
from opencode_tui.schema.session.ledger import LedgerEdit, LedgerEntry, LedgerKind
from opencode_tui.schema.session.prefix import PrefixBreak

ContextState = Literal["sent", "pruned", "summarized", "unsent", "reverted", "kept"]
"""The state of an item, in order: sent; sent without its pruned output; replaced by a summary; not sent; undone; sent because it is
preserved across a summary.
"""

ContextKind = Literal[
    "provider", "family", "agent", "environment", "instruction", "system", "plugin", "tools",
    "request", "answer", "thought", "call", "file", "subtask", "summary", "marker", "added",
    "older",
]  # fmt: skip
"""What an item is: layers of the system prompt, the tools' definitions, then what messages consist of.

`added` is what the program adds to the prompts: the text of attached files, reminders. `older` stands for all messages of a long
session before those that are listed.
"""

ContextGroup = Literal["system", "messages", "summary", "outputs"]
"""The group of an item in the context; `system` is the system prompt and the tools."""


class ContextItem(Record):
    """One item that the next request contains, or leaves out.

    `tokens` is its size in that request, `share` the part of the request (0 to 1); `was` is its former size if it is not sent in
    full, `frees` the tokens that pruning it would free. `name` is a path, a tool's title or the start of a text. `time` is when
    its message was created, in ms since 1970.
    """

    kind: ContextKind
    group: ContextGroup
    name: str
    state: ContextState = "sent"
    why: str | None = absent()
    tokens: int = 0
    share: float = 0
    was: int | None = absent()
    frees: int | None = absent()
    message_id: str | None = absent()
    part_id: str | None = absent()
    tool: str | None = absent()
    time: int | None = absent()


class PrefixChange(Record):
    """A fact that changed since the start of the session's requests was frozen: announced with the next prompt, by this text."""

    name: str
    text: str


class PrefixView(Record):
    """What all requests of a session start with: frozen at `since` (ms since 1970), so that a provider's cache holds it.

    `pending` is announced with the next prompt. `breaks` are the requests, of `requests` in all, that did not start with the one
    before; `lost_cost` is their cost in USD, as far as the prices are known.
    """

    since: int | None = absent()
    pending: list[PrefixChange] = Field(default_factory=list[PrefixChange])
    requests: int = 0
    breaks: list[PrefixBreak] = Field(default_factory=list[PrefixBreak])
    lost_tokens: int = 0
    lost_cost: float = 0


class BudgetUse(Record):
    """The use of a budget in USD; `limit` includes what the user allowed beyond it."""

    scope: Literal["session", "day"]
    limit: float
    spent: float


class ContextView(Record):
    """The next request of a session, item by item in order, without the user's next prompt.

    `tokens` is the sum of the items, `usable` how many the conversation may take before it is compacted (absent when the model's
    limit is not known), `context` the model's limit. `reported` is what the provider counted for the newest answer and everything
    before it. `factor` is the scale of the estimates to that report, `learned` the number of reports that they are based on.
    `prunable` is what pruning by the rules would free now.
    """

    session_id: str
    model: ModelRef
    agent: str
    tokens: int
    usable: int | None = absent()
    context: int | None = absent()
    reported: int | None = absent()
    factor: float = 1
    learned: int = 0
    prunable: int = 0
    cost: float = 0
    prefix: PrefixView = Field(default_factory=PrefixView)
    budgets: list[BudgetUse] = Field(default_factory=list[BudgetUse])
    items: list[ContextItem] = Field(default_factory=list[ContextItem])


class RequestView(Record):
    """The next request as it would go to the provider; keys in `headers` and in `url` are redacted.

    `url` is absent when it is unknown: the demo has none, litellm chooses its own.
    """

    session_id: str
    model: ModelRef
    adapter: str
    method: str = "POST"
    url: str | None = absent()
    headers: dict[str, str] = Field(default_factory=dict[str, str])
    body: dict[str, Any] = Field(default_factory=dict[str, Any])


class PrunedPart(Record):
    """A call whose output is pruned or restored; `tokens` of the output."""

    part_id: str
    message_id: str
    tool: str
    title: str = ""
    tokens: int = 0


class PruneReport(Record):
    """What pruning or restoring changed, or would change: the calls, oldest first, and the tokens of all."""

    session_id: str
    tokens: int = 0
    parts: list[PrunedPart] = Field(default_factory=list[PrunedPart])


class PartChoice(Record):
    """The calls to prune or restore, by the ids of their parts; by default those that the rules choose, or all.

    With `dry_run` nothing is changed.
    """

    parts: list[str] | None = absent()
    dry_run: bool = False


class CompactSession(Record):
    """A request to summarize a session's older messages.

    `model` writes it (without one, that of the settings or of the conversation); `auto` lets the conversation go on afterwards;
    `focus` is what the summary should say most about. With `dry_run` nothing is changed.
    """

    model: ModelRef | None = absent()
    auto: bool = False
    dry_run: bool = False
    focus: str | None = absent()


class CompactionReport(Record):
    """The effect of a compaction: the `messages` that the summary replaces, and the estimated tokens `before` and `after`.

    `kept` is the text that is kept verbatim. A dry run has no message, no summary and no `after`.
    """

    session_id: str
    model: ModelRef
    messages: int
    before: int
    after: int | None = absent()
    kept: str = ""
    summary: str | None = absent()
    message_id: str | None = absent()
    cost: float = 0


class LedgerView(Record):
    """What a compaction would keep of a session now, word for word, and the `text` that the model gets then.

    `removed` are the entries that the user removed, `omitted` how many older ones of a kind have no room. With `is_compacted` the
    requests have a ledger: entries with `is_sent` are in it as they are here.
    """

    session_id: str
    entries: list[LedgerEntry] = Field(default_factory=list[LedgerEntry])
    removed: list[LedgerEdit] = Field(default_factory=list[LedgerEdit])
    omitted: dict[LedgerKind, int] = Field(default_factory=dict[LedgerKind, int])
    text: str = ""
    is_compacted: bool = False


class LedgerChange(Record):
    """A change of the ledger: without `id` a `text` to add, with it the entry's new text, or none to remove the entry.

    `is_restored` gives an entry back what the records say.
    """

    id: str | None = absent()
    text: str | None = absent()
    is_restored: bool = False
