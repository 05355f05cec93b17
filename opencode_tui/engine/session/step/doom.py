"""Pure: whether a turn repeats itself. Source: docs/internals/loop.md#repeated-calls.

Checks the calls of the whole turn, across messages: the third equal call in a row, or the third round of a cycle of two
to four calls, the twelfth where it reads a background command.
"""

import json
from collections.abc import Sequence

from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import ToolStateError, ToolStatePending
from opencode_tui.schema.tools import row_of

DOOM_LOOP_THRESHOLD = 3
POLL_THRESHOLD = 12
"""The rounds of a cycle that ends with a read of a background command: its results differ."""

LONGEST_CYCLE = 4

MOST_COMPARED = POLL_THRESHOLD * LONGEST_CYCLE
"""The newest calls that decide whether there is a loop."""

CallKey = tuple[str, str]
"""A call's tool and its input as canonical JSON."""


def call_key(tool: str, given: JsonObject) -> CallKey:
    """Return the key by which two calls are equal."""
    return (tool, json.dumps(given, sort_keys=True, ensure_ascii=False, default=str))


def calls_of_turn(messages: Sequence[MessageWithParts], after: int) -> list[CallKey]:
    """Return the calls of all messages after index `after`, in order, without those that never ran."""
    return [
        call_key(part.tool, part.state.input)
        for message in messages[after + 1 :]
        for part in message.parts
        if isinstance(part, ToolPart) and not isinstance(part.state, ToolStatePending)
    ]


def threshold_of(tool: str) -> int:
    """Return how many rounds of a cycle that ends with a call of this tool are a loop."""
    return POLL_THRESHOLD if row_of(tool).result == "background" else DOOM_LOOP_THRESHOLD


def is_stuck(messages: Sequence[MessageWithParts], after: int) -> bool:
    """Return whether a loop goes on for as many rounds again, although nobody can be asked about it or a rule denies it."""
    parts = [part for message in messages[after + 1 :] for part in message.parts if isinstance(part, ToolPart)]
    state = parts[-1].state if parts else None
    is_refused = isinstance(state, ToolStateError) and (state.unasked or state.stop_reason == "denied")
    return is_refused and is_doom_loop(calls_of_turn(messages, after), times=2)


def is_doom_loop(calls: Sequence[CallKey], *, times: int = 1) -> bool:
    """Return whether the newest call completes the last allowed round of a cycle of one to four calls, or so many `times` that."""
    if not calls:
        return False
    rounds = threshold_of(calls[-1][0]) * times
    for period in range(1, LONGEST_CYCLE + 1):
        length = period * rounds
        if len(calls) < length:
            break
        newest = calls[-length:]
        if all(newest[n] == newest[n + period] for n in range(length - period)):
            return True
    return False
