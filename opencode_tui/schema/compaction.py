"""Compaction by hand: what is asked, and what came of it."""

from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.record import Record, absent


class CompactSession(Record):
    """A wish to put a summary in the place of a session's older messages.

    `model` writes it (without one, that of the settings or of the conversation); `auto` lets the conversation go on afterwards;
    `dry_run` only tells what would be done.
    """

    model: ModelRef | None = absent()
    auto: bool = False
    dry_run: bool = False


class CompactionReport(Record):
    """What a compaction does: `messages` that the summary stands for, their tokens `before` and those `after`, both estimates.

    `kept` is what stays word for word. A compaction that was only looked at has no message, no summary and no `after`.
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
