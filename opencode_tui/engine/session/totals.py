"""What a session has used, the sessions of its agents included."""

from collections.abc import Iterable
from decimal import Decimal

from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.message import AssistantMessage
from opencode_tui.schema.totals import SessionTotals


def add_up(conversations: Iterable[Iterable[MessageWithParts]]) -> SessionTotals:
    """Return the sums over the answers of several sessions; tokens and USD."""
    steps = input_tokens = output = cached = 0
    cost = Decimal(0)
    for messages in conversations:
        for message in messages:
            info = message.info
            if isinstance(info, AssistantMessage):
                steps += 1
                input_tokens += info.tokens.input
                output += info.tokens.output
                cached += info.tokens.cache.read + info.tokens.cache.write
                cost += Decimal(str(info.cost))
    return SessionTotals(steps=steps, input=input_tokens, output=output, cached=cached, cost=float(cost))
