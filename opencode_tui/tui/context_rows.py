"""Pure: the rows of the context view; what one summary stands for is one row until it is opened."""

from collections.abc import Container, Sequence
from dataclasses import dataclass

from opencode_tui.schema.context import ContextItem
from opencode_tui.text.quantity import amount, plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.tool import name_of
from opencode_tui.tui.session_facts import clock

_KINDS = {
    "agent": "System prompt",
    "environment": "Environment",
    "instruction": "Rules",
    "system": "System",
    "plugin": "Plugin",
    "tools": "Tools",
    "request": "You",
    "answer": "Answer",
    "thought": "Thought",
    "call": "Call",
    "file": "File",
    "subtask": "Task",
    "summary": "Summary",
    "marker": "Compaction",
    "added": "Added",
}
SENT = ("live", "kept")
"""States of what the request carries whole."""


@dataclass(frozen=True, slots=True)
class ContextRow:
    """One item, or several that a summary stands for; `numbers` are their places in the view's items."""

    id: str
    items: tuple[ContextItem, ...]
    is_fold: bool = False

    @property
    def item(self) -> ContextItem:
        """The one item, or the first of several."""
        return self.items[0]

    @property
    def tokens(self) -> int:
        """Tokens in the next request."""
        return sum(one.tokens for one in self.items)

    @property
    def is_sent(self) -> bool:
        """Whether the request carries it whole."""
        return self.item.state in SENT

    @property
    def begins_turn(self) -> bool:
        """Whether an empty row stands above it."""
        return self.item.kind == "request" and not self.is_fold


def context_rows(items: Sequence[ContextItem], opened: Container[str]) -> list[ContextRow]:
    """Return the rows in the order of the request; a fold whose id is in `opened` is followed by its items."""
    rows: list[ContextRow] = []
    at = 0
    while at < len(items):
        end = at + 1
        while items[at].state == "summarised" and end < len(items) and items[end].state == "summarised":
            end += 1
        folded = f"fold-{at}"
        if end - at > 1:
            rows.append(ContextRow(folded, tuple(items[at:end]), is_fold=True))
        if end - at == 1 or folded in opened:
            rows += [ContextRow(str(number), (items[number],)) for number in range(at, end)]
        at = end
    return rows


def kind_words(row: ContextRow) -> str:
    """Return what the row is, in a word or two: `Summary`, `Read`, the time of a request, `41 messages`."""
    item = row.item
    if row.is_fold:
        return plural(len({one.message_id for one in row.items}), "message")
    if item.kind == "request" and item.time:
        return clock(item.time)
    if item.kind == "call" and item.tool:
        return name_of(item.tool)
    return "Kept" if item.state == "kept" else _KINDS.get(item.kind, item.kind)


def name_words(row: ContextRow) -> str:
    """Return which one of its kind it is, in one safe line."""
    if row.is_fold:
        times = [clock(one.time) for one in row.items if one.time]
        return " to ".join(dict.fromkeys((times[0], times[-1]))) if times else ""
    said = screen_line(" ".join(row.item.name.split()))
    return f"agent {said}" if row.item.kind == "agent" else said


def token_words(row: ContextRow) -> str:
    """Return `31.4 k`, or `was 12.0 k` for what is not sent whole."""
    was = sum(one.was or 0 for one in row.items)
    return _aligned(row.tokens) if row.is_sent or not was else f"was {_aligned(was)}"


def _aligned(number: int) -> str:
    """An amount with its digit behind the point in one column, as far as it has one."""
    words = amount(number)
    return words.replace(" ", ".0 ") if 1_000 <= number < 99_500 and "." not in words else words
