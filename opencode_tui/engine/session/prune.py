"""Pure: which old tool outputs the model need not see again. Source: seed 001, 4.1; SPEC section 3, "prune".

From the newest message back: the two newest turns are safe, then the newest 40,000 tokens of outputs; what is older goes, if at
least 20,000 are gained. The walk ends at a summary and at the first output that is pruned already. Tokens are characters over four.
"""

from collections.abc import Iterator, Sequence

from opencode_tui.engine.session.tokens.characters import tokens_by_length
from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.message import AssistantMessage, UserMessage
from opencode_tui.schema.part import ToolPart
from opencode_tui.schema.tool_state import ToolStateCompleted

PROTECT = 40_000
"""Tokens of the newest outputs behind the safe turns that stay."""

MINIMUM = 20_000
"""Tokens that must be gained, else nothing is pruned."""

SAFE_TURNS = 2
"""The newest turns, whose outputs stay whatever they take."""

PROTECTED_TOOLS = frozenset({"skill"})
"""Tools whose outputs are instructions for all that follows."""

KEEP = "keep"
"""The key in a call's metadata that says that the person wants its output to stay."""


def prunable(messages: Sequence[MessageWithParts]) -> list[ToolPart]:
    """Return the calls whose outputs are to go, newest first; none when too little would be gained."""
    total = gained = 0
    chosen: list[ToolPart] = []
    for part in _eligible(messages):
        size = output_tokens(part)
        total += size
        if total > PROTECT:
            gained += size
            chosen.append(part)
    return chosen if gained >= MINIMUM else []


def pruned(messages: Sequence[MessageWithParts]) -> list[ToolPart]:
    """Return the calls whose outputs are left out, oldest first."""
    return [part for message in messages for part, state in _completed(message) if state.time.compacted is not None]


def output_tokens(part: ToolPart) -> int:
    """Return the tokens of a completed call's output, 0 for any other call."""
    return tokens_by_length(part.state.output) if isinstance(part.state, ToolStateCompleted) else 0


def _eligible(messages: Sequence[MessageWithParts]) -> Iterator[ToolPart]:
    turns = 0
    for message in reversed(messages):
        info = message.info
        turns += isinstance(info, UserMessage)
        if turns < SAFE_TURNS:
            continue
        if isinstance(info, AssistantMessage) and info.summary:
            return
        for part, state in reversed(_completed(message)):
            if part.tool in PROTECTED_TOOLS or state.metadata.get(KEEP):
                continue
            if state.time.compacted is not None:
                return
            yield part


def _completed(message: MessageWithParts) -> list[tuple[ToolPart, ToolStateCompleted]]:
    return [
        (part, part.state)
        for part in message.parts
        if isinstance(part, ToolPart) and isinstance(part.state, ToolStateCompleted)
    ]
