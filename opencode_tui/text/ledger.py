"""Words for what a compaction keeps word for word."""

from collections.abc import Mapping

from opencode_tui.schema.api.context import LedgerView
from opencode_tui.schema.session.ledger import LedgerEntry, LedgerKind
from opencode_tui.text.quantity import amount, plural

KINDS: Mapping[LedgerKind, str] = {
    "rule": "Rule",
    "note": "Added",
    "correction": "Correction",
    "refusal": "Rejected",
    "request": "Request",
    "todo": "Todo",
    "command": "Running",
    "place": "Worktree",
    "check": "Failed check",
    "changed": "Changed",
    "read": "Read",
    "last": "Last request",
}
"""What an entry is."""

_CHARACTERS = 4
"""Characters of a token, about."""


def state_of(entry: LedgerEntry, *, is_compacted: bool) -> str:
    """Return the state of an entry: whether it is in the requests, and whether the user wrote it."""
    if entry.origin != "records":
        return entry.origin
    return "sent" if entry.is_sent else "next" if is_compacted else ""


def summary_of(view: LedgerView) -> str:
    """Return how much is kept, and when."""
    if not view.entries:
        return "nothing yet"
    kept = f"{plural(len(view.entries), 'entry')}, about {amount(len(view.text) // _CHARACTERS)} tokens"
    if not view.is_compacted:
        return f"{kept}, kept by the next compaction"
    waiting = sum(not one.is_sent for one in view.entries)
    return f"{kept}" + (f"; {waiting} of them from the next compaction on" if waiting else "")


def omitted_words(view: LedgerView) -> str:
    """Return what has no room; empty where everything has."""
    parts = [f"{count} of {KINDS[kind].lower()}" for kind, count in view.omitted.items()]
    return f"older ones have no room, recall finds them: {', '.join(parts)}" if parts else ""
