"""How the time of turns was spent: on the model, on tools, and on the user's answers."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.outline import OutlinedMessage
from opencode_tui.schema.session.part import StepStartPart, ToolPart
from opencode_tui.schema.session.stored_error import PROGRAM_ENDED, StoredAbortedError
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError, ToolStateRunning
from opencode_tui.text.bars import bar
from opencode_tui.text.cells import pad
from opencode_tui.text.quantity import duration

_WORK, _WAIT, _STEP = range(3)
"""What a moment is counted as, in this order, when several are true of it."""

_Span = tuple[int, int, int]
"""Its start and end in ms since 1970, and what it is."""


class TimeShares(Struct, frozen=True):
    """Milliseconds of the steps in which tools worked, in which the user was waited for, and the rest: that of the model."""

    model: int = 0
    tools: int = 0
    you: int = 0

    @property
    def total(self) -> int:
        """Return the time of all steps."""
        return self.model + self.tools + self.you

    def plus(self, other: "TimeShares") -> "TimeShares":
        """Return the shares of both, whose steps are at different times."""
        return TimeShares(self.model + other.model, self.tools + other.tools, self.you + other.you)

    def named(self) -> Sequence[tuple[str, int, int]]:
        """Return the name, the time and the percentage of each share of at least 1 %; all percentages add up to 100."""
        times = [("model", self.model), ("tools", self.tools), ("you", self.you)]
        if not self.total:
            return []
        whole = [time * 100 // self.total for _, time in times]
        by_rest = sorted(range(len(times)), key=lambda at: -(times[at][1] * 100 % self.total))
        for at in by_rest[: 100 - sum(whole)]:
            whole[at] += 1
        return [(name, time, share) for (name, time), share in zip(times, whole, strict=True) if share]


def time_shares(messages: Sequence[MessageWithParts | OutlinedMessage]) -> TimeShares:
    """Return the shares of the steps that have ended.

    A moment at which a tool works is that of tools, also while another call waits. The time between turns counts for
    neither, and so does a command that the user ran. The agents of a call are its work.
    """
    spans: list[_Span] = []
    for one in messages:
        if isinstance(one, OutlinedMessage):
            _add_spans(one, spans)
        else:
            spans += _spans(one)
    edges = sorted([(start, kind, 1) for start, _, kind in spans] + [(end, kind, -1) for _, end, kind in spans])
    sums, open_spans = [0, 0, 0], [0, 0, 0]
    for (at, kind, change), (following, _, _) in pairwise([*edges, (edges[-1][0], 0, 0)] if edges else []):
        open_spans[kind] += change
        if open_spans[_STEP]:
            sums[next(one for one in (_WORK, _WAIT, _STEP) if open_spans[one])] += following - at
    return TimeShares(model=sums[_STEP], tools=sums[_WORK], you=sums[_WAIT])


def _add_spans(message: OutlinedMessage, spans: list[_Span]) -> None:
    """Add what `_spans` yields of a message."""
    if message.text:
        return
    spans.append((message.created, max(message.created, message.completed), _STEP))
    for start, waited, end in message.calls:
        if waited != start:
            spans.append((start, waited, _WAIT))
        spans.append((waited, end, _WORK))


def _spans(message: MessageWithParts) -> Iterator[_Span]:
    """Yield the span of a step, and those of its calls. A call waits first, then it works."""
    info = message.info
    calls = [one for one in message.parts if isinstance(one, ToolPart)]
    if not isinstance(info, AssistantMessage) or info.time.completed is None:
        return
    if calls and not info.tokens.context and not any(isinstance(one, StepStartPart) for one in message.parts):
        return  # a command that the user ran: no model was asked
    end = info.time.completed
    if isinstance(info.error, StoredAbortedError) and info.error.data.message == PROGRAM_ENDED:
        end = _last_sign(message, end)  # the record was completed when the session was opened again
    yield info.time.created, max(info.time.created, end), _STEP
    for call in calls:
        state = call.state
        if isinstance(state, ToolStateCompleted | ToolStateError) and state.time.end is not None:
            waits = state.time.start + max(0, (state.time.waited or 0) - (state.time.recorded or 0))
            yield state.time.start, min(waits, state.time.end), _WAIT
            yield min(waits, state.time.end), state.time.end, _WORK


def _last_sign(message: MessageWithParts, end: int) -> int:
    """Return the last time before the end at which a call of the message started or ended."""
    states = [one.state for one in message.parts if isinstance(one, ToolPart)]
    times = [one.time for one in states if isinstance(one, ToolStateRunning | ToolStateCompleted | ToolStateError)]
    known = [moment for one in times for moment in (one.start, one.end or 0) if moment < end]
    return max([message.info.time.created, *known])


def shares_line(shares: TimeShares, width: int) -> str:
    """Return `model ████████ 61 %   tools ███ 22 %`, with bars of at most `width` cells together; empty below a second."""
    if shares.total < 1000:
        return ""
    words = (f"{name} {_bar(time, shares, width)}{share} %" for name, time, share in shares.named())
    return "   ".join(words)


def _bar(time: int, shares: TimeShares, width: int) -> str:
    return f"{bar(time, shares.total, width)} " if width else ""


def shares_table(shares: TimeShares, width: int) -> str:
    """Return a row for each share, with bars of at most `width` cells; empty below a second."""
    if shares.total < 1000:
        return ""
    lines = [f"Time of the turns  {duration(shares.total / 1000)}"]
    for name, time, share in shares.named():
        facts = pad(duration(time / 1000), 10, is_right=True) + pad(f"{share} %", 7, is_right=True)
        lines.append(f"  {pad(name, 6)}{facts}  {bar(time, shares.total, width)}")
    return "\n".join(lines)
