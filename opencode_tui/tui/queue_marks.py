"""Which requests wait for the turn before them, and which compactions are over because nothing runs any more; pure."""

from collections.abc import Sequence

from opencode_tui.tui.items import Item
from opencode_tui.tui.message_view import MessageView


def settle_marks(order: Sequence[MessageView], *, is_busy: bool) -> list[Item]:
    """Mark what waits and what has ended; return the items that are told so anew. Looks at the last messages only."""
    return [*_settle_queue(order, is_busy), *([] if is_busy else _end_compaction(order))]


def _settle_queue(order: Sequence[MessageView], is_busy: bool) -> list[Item]:
    """Mark the requests behind a step that is still open, without one of their own."""
    last = next((view for view in reversed(order) if view.user is None), None)
    is_open = is_busy and last is not None and last.goes_on
    touched: list[Item] = []
    is_answered = False
    for view in reversed(order):
        if view.user is None:
            is_answered = True
        elif view.user.is_queued != (is_open and not is_answered):
            view.user.is_queued = not view.user.is_queued
            touched.append(view.user)
        elif is_answered:
            break
    return touched


def _end_compaction(order: Sequence[MessageView]) -> list[Item]:
    ended = [view.compaction for view in order[-2:] if view.compaction is not None and view.compaction.is_running]
    for marker in ended:
        marker.is_running = False
    return list(ended)
