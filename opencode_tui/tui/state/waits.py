"""Which requests and calls wait: for the turn before them, or for an answer of the user."""

from collections.abc import Sequence

from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.tui.state.items import Item, ToolItem, Wait
from opencode_tui.tui.state.message import MessageView


def update_marks(order: Sequence[MessageView], *, is_busy: bool) -> list[Item]:
    """Mark queued requests and ended compactions; return the changed items. Checks the last messages only."""
    return [*_update_queue_marks(order, is_busy), *([] if is_busy else _end_compaction(order))]


def _update_queue_marks(order: Sequence[MessageView], is_busy: bool) -> list[Item]:
    """Mark the requests without a step after one that is still open."""
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


class WaitingCalls:
    """The open permission requests of one session, oldest first."""

    def __init__(self, requests: Sequence[PermissionRequest] = ()) -> None:
        self._open = {request.id: request for request in requests}

    def ask(self, request: PermissionRequest) -> None:
        """Add a request."""
        self._open[request.id] = request

    def answer(self, request_id: str) -> bool:
        """Remove a request; return whether it was open."""
        return self._open.pop(request_id, None) is not None

    def update_wait(self, item: ToolItem) -> bool:
        """Set whether the item waits; return whether that changed."""
        wait = self._wait_of(item)
        if wait == item.wait:
            return False
        item.wait = wait
        return True

    def _wait_of(self, item: ToolItem) -> Wait:
        if item.part.state.status not in ("pending", "running"):
            return ""
        for number, request in enumerate(self._open.values()):
            if request.tool is not None and request.tool.call_id == item.part.call_id:
                return "waits" if number else "asks"
        return ""
