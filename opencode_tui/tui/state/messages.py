"""The messages of one conversation in order."""

from collections.abc import Iterator

from opencode_tui.schema.session.message import AnyMessage, UserMessage
from opencode_tui.tui.state.items import AnyItem, CompactionItem, ToolItem, UserItem
from opencode_tui.tui.state.message import MessageView

_STEPS_BEHIND = 4
"""Messages between a compaction's marker and the first step after it: the summary, the program's prompt to continue."""

_RECENT = 3
"""Messages at the end in which calls may still run."""


class MessageViews:
    """The views of a session's messages, oldest first in `order`, with their indexes."""

    def __init__(self) -> None:
        self.order: list[MessageView] = []
        self._by_id: dict[str, MessageView] = {}

    def get(self, message_id: str) -> MessageView | None:
        """Return the view of a message, None when it is not known."""
        return self._by_id.get(message_id)

    def parent_of(self, info: AnyMessage) -> MessageView | None:
        """Return the request that a message answers, None for requests and where it is not known."""
        return None if isinstance(info, UserMessage) else self._by_id.get(info.parent_id)

    def add(self, info: AnyMessage) -> MessageView:
        """Append a message."""
        previous = self.order[-1] if self.order else None
        view = MessageView(info, at=len(self.order), parent=self.parent_of(info), previous=previous)
        self._by_id[info.id] = view
        self.order.append(view)
        return view

    def remove(self, message_id: str) -> bool:
        """Remove a message; return whether it was known."""
        view = self._by_id.pop(message_id, None)
        if view is None:
            return False
        self.order.remove(view)
        for at, one in enumerate(self.order):
            one.at = at
        return True

    def item_before(self, view: MessageView, item: AnyItem) -> AnyItem | None:
        """Return the item directly before one of a message's items, None at the beginning."""
        index = view.items.index(item)
        if index:
            return view.items[index - 1]
        for at in range(view.at - 1, -1, -1):
            if self.order[at].items:
                return self.order[at].items[-1]
        return None

    def recent_tools(self) -> Iterator[ToolItem]:
        """Yield the calls of the last messages, oldest first."""
        return (item for view in self.order[-_RECENT:] for item in view.items if isinstance(item, ToolItem))

    @property
    def last_user(self) -> UserItem | None:
        """The latest request that is not queued."""
        found = (view.user for view in reversed(self.order) if view.user is not None)
        return next((user for user in found if not user.is_hidden and not user.is_queued), None)

    @property
    def queued(self) -> list[UserItem]:
        """The requests that wait for the previous turn."""
        found = (view.user for view in self.order if view.user is not None)
        return [user for user in found if user.is_queued and not user.is_hidden]

    def tokens_before(self, view: MessageView) -> int:
        """Return the tokens of the context before a message, as they were last counted."""
        return next((one.used for one in reversed(self.order[: view.at]) if one.used), 0)

    def last_compaction(self) -> CompactionItem | None:
        """Return the compaction that no step has followed yet, if any."""
        for one in reversed(self.order):
            if one.sent:
                return None
            if one.compaction is not None:
                return None if one.compaction.is_running or one.compaction.failure else one.compaction
        return None

    def measure_compactions(self) -> list[CompactionItem]:
        """Call `measure_compaction` for every step; return the compactions."""
        markers = [view for view in self.order if view.compaction is not None]
        for view in markers:
            if view.compaction is not None and view.before == 0:
                view.compaction.before = view.before = self.tokens_before(view)
        found = [self.measure_compaction(view) for view in (self.order if markers else ())]
        return [marker for marker in found if marker is not None]

    def measure_compaction(self, view: MessageView) -> CompactionItem | None:
        """Set on the compaction before a step how many tokens the step was sent; return the compaction, if any."""
        for one in reversed(self.order[max(0, view.at - _STEPS_BEHIND) : view.at] if view.sent else ()):
            if one.sent:
                return None
            if one.compaction is not None:
                one.compaction.after, one.compaction.is_measured = view.sent, True
                return one.compaction
        return None
