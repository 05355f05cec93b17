"""Which tool calls wait for the person's word: the oldest question is asked, those behind it wait."""

from collections.abc import Sequence

from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.tui.items import ToolItem, Wait


class WaitingCalls:
    """The open permission requests of one session, in the order in which they were asked."""

    def __init__(self, requests: Sequence[PermissionRequest] = ()) -> None:
        self._open = {request.id: request for request in requests}

    def ask(self, request: PermissionRequest) -> None:
        """Take a request."""
        self._open[request.id] = request

    def answer(self, request_id: str) -> bool:
        """Forget a request; tell whether it was open."""
        return self._open.pop(request_id, None) is not None

    def sign(self, item: ToolItem) -> bool:
        """Tell the item whether it waits; return whether that is new."""
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
