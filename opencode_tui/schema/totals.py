"""Totals of a session."""

from opencode_tui.schema.record import Record


class SessionTotals(Record):
    """Usage of a session and its subagent sessions: model calls, tokens, USD."""

    steps: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float = 0
