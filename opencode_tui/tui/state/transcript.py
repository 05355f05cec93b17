"""The items of a session's conversation, updated by its events; pure, without widgets.

`items` are in the order of the screen. The view calls `pop_changes` once a frame: which items have changed, and
from which index on items were added, removed or moved. A token costs the same however long the conversation is.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from opencode_tui.schema.event.event import (
    BusLagged,
    Event,
    MessageRemoved,
    MessageUpdated,
    PartGrowth,
    PartProgress,
    PartRemoved,
    PartUpdated,
    PermissionAsked,
    PermissionReplied,
    SessionDeleted,
    SessionStatusChanged,
    SessionUpdated,
)
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AnyMessage
from opencode_tui.schema.session.part import AnyPart, CompactionPart, ToolPart
from opencode_tui.schema.session.session import AnyStatus, IdleStatus, RetryStatus, RevertState, SessionInfo
from opencode_tui.text.undo import UndoneFile
from opencode_tui.tui.state.message import (
    AnyItem,
    GrowingItem,
    Item,
    MessageView,
    MessageViews,
    RetryItem,
    ToolItem,
    UndoItem,
    UserItem,
    Wait,
)

UNDO_ID = "undo"
"""The ID of the item that represents an undo."""


class UndoCut:
    """The active or previewed undo."""

    def __init__(self) -> None:
        self.revert: RevertState | None = None
        self.preview: RevertState | None = None
        self.files: tuple[str, Sequence[UndoneFile], str] = ("", (), "")
        """The message that the reported undo goes back to, its effects on files, and why it had none."""

        self._item = UndoItem(UNDO_ID, "")

    @property
    def is_active(self) -> bool:
        """Return whether an undo is active or previewed."""
        return (self.preview or self.revert) is not None

    @property
    def shown_at(self) -> int | None:
        """The index of the rule in a preview: everything after it would be removed."""
        return self._item.at if self.preview is not None and self._item.is_preview else None

    def apply(self, order: Sequence[MessageView]) -> list[AnyItem]:
        """Return the items of all messages under the undo."""
        everything: list[AnyItem] = [item for view in order for item in view.items]
        boundary = self.preview or self.revert
        at = next((view.at for view in order if boundary and view.info.id == boundary.message_id), None)
        if boundary is None:
            return everything
        if at is None:  # an undo of files only: every message stays
            _, files, _ = self.files
            self._item = UndoItem(UNDO_ID, boundary.message_id, files=files)
            return [*everything, self._item] if files else everything
        first = _first_item(order, at, boundary.part_id)
        cut = len(everything) if first is None else everything.index(first)
        if self.preview is not None:
            self._item = UndoItem(UNDO_ID, boundary.message_id, is_preview=True)
            return [*everything[:cut], self._item, *everything[cut:]]
        _, files, undo_off = self.files if self.files[0] == boundary.message_id else ("", (), "")
        self._item = UndoItem(UNDO_ID, boundary.message_id, messages=len(order) - at, files=files, undo_off=undo_off)
        return [*everything[:cut], self._item]


def _first_item(order: Sequence[MessageView], at: int, part_id: str | None) -> AnyItem | None:
    """Return the first removed item; None if nothing after the boundary is visible."""
    view = order[at]
    first = view.first_from(part_id) if part_id is not None else view.items[0] if view.items else None
    return first or next((item for one in order[at + 1 :] for item in one.items), None)


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


@dataclass(slots=True)
class Changes:
    """Changes since the last call: `moved_from` is the first index whose item may differ, None if no item moved."""

    dirty: list[Item] = field(default_factory=list[Item])
    moved_from: int | None = None

    def __bool__(self) -> bool:
        return bool(self.dirty) or self.moved_from is not None


class Transcript:
    """The conversation of one session."""

    def __init__(self, session_id: str = "") -> None:
        self.session_id = session_id
        self.status: AnyStatus = IdleStatus()
        self.needs_reload = False
        """True if events were lost: read the messages again and `load` them."""

        self._views = MessageViews()
        self._waiting = WaitingCalls()
        self._cut = UndoCut()
        self.items: list[AnyItem] = []
        """The items, from top to bottom."""
        self._dirty: dict[str, Item] = {}
        self._moved_from: int | None = 0
        self._changed: Callable[[], None] | None = None
        self._is_notified = False

    def load(
        self,
        messages: Iterable[MessageWithParts],
        *,
        session: SessionInfo | None = None,
        status: AnyStatus | None = None,
        requests: Sequence[PermissionRequest] = (),
    ) -> None:
        """Replace all messages by these, oldest first."""
        self._views = MessageViews()
        self._dirty = {}
        self.needs_reload = False
        self._waiting = WaitingCalls(requests)
        if session is not None:
            self.session_id = session.id
            self._cut.revert = session.revert
        if status is not None:
            self.status = status
        for message in messages:
            view = self._add_message(message.info)
            for part in message.parts:
                view.put(part)
            view.mark_unsure()
        self._rebuild()

    def apply(self, event: Event) -> None:
        """Apply an event; those of other sessions change nothing."""
        match event:
            case PartGrowth():
                self._grow(event)
            case PartProgress():
                if event.session_id == self.session_id:
                    self._put(event.record())
            case PartUpdated():
                if event.part.session_id == self.session_id:
                    self._put(event.part)
            case PartRemoved():
                self._remove_part(event)
            case MessageUpdated():
                if event.info.session_id == self.session_id:
                    self._update_message(event.info)
            case MessageRemoved():
                self._remove_message(event)
            case SessionStatusChanged():
                if event.session_id == self.session_id:
                    self.status = event.status
                    self._mark_retries()
                    self._refresh_queue_marks()
            case SessionUpdated():
                if event.info.id == self.session_id:
                    self._set_revert(event.info.revert)
            case SessionDeleted():
                if event.info.id == self.session_id:
                    self.load([])
            case PermissionAsked():
                if event.session_id == self.session_id:
                    self._waiting.ask(event)
                    self._mark_waiting()
            case PermissionReplied():
                if self._waiting.answer(event.request_id):
                    self._mark_waiting()
            case BusLagged():
                self.needs_reload = True
            case _:
                pass

    @property
    def has_changes(self) -> bool:
        """Return whether `pop_changes` would return any."""
        return bool(self._dirty) or self._moved_from is not None

    def pop_changes(self) -> Changes:
        """Return the changes since the last call."""
        changes = Changes(list(self._dirty.values()), self._moved_from)
        self._dirty, self._moved_from, self._is_notified = {}, None, False
        return changes

    def call_on_change(self, changed: Callable[[], None] | None) -> None:
        """Call this on the first change after each `pop_changes`; None removes the callback."""
        self._changed = changed

    def has_message(self, message_id: str) -> bool:
        """Return whether a message is known, shown or not."""
        return self._views.get(message_id) is not None

    def item(self, item_id: str) -> AnyItem | None:
        """Return the item with an id, None when it is not shown."""
        return next((item for item in self.items if item.id == item_id), None)

    @property
    def last_user(self) -> UserItem | None:
        """The latest request that is not queued."""
        return self._views.last_user

    @property
    def queued(self) -> list[UserItem]:
        """The requests that wait for the previous turn."""
        return self._views.queued

    def preview_undo(self, message_id: str, part_id: str | None = None) -> None:
        """Preview an undo back to this message, or to this part of it."""
        self._cut.preview = RevertState(message_id=message_id, part_id=part_id)
        self._rebuild()

    def end_preview(self) -> None:
        """End the preview."""
        self._cut.preview = None
        self._rebuild()

    def show_undone(self, message_id: str, files: Sequence[UndoneFile], undo_off: str = "") -> None:
        """Set the effects on files of the active undo, which goes back to this message; `undo_off` says why it had none."""
        if self._cut.files != (message_id, files, undo_off):
            self._cut.files = (message_id, files, undo_off)
            self._rebuild()

    @property
    def cut_at(self) -> int | None:
        """The index of the undo rule in a preview: everything after it would be removed."""
        return self._cut.shown_at

    def _grow(self, event: PartGrowth) -> None:
        view = self._views.get(event.message_id)
        if view is None:
            return
        item = view.parts.get(event.part_id)
        if not isinstance(item, GrowingItem) or event.part_id in view.unsure:
            self._put(event.record())
            return
        was_hidden = item.is_hidden
        item.grow(event.delta)
        self._touch(item)
        if was_hidden and not item.is_hidden:
            self._move(item.at)

    def _put(self, part: AnyPart) -> None:
        view = self._views.get(part.message_id)
        if view is None:
            return
        view.unsure.discard(part.id)
        if isinstance(part, CompactionPart):
            view.before = self._views.tokens_before(view)
        was_hidden = {item.id for item in view.items if item.is_hidden}
        count = len(view.items)
        changed = view.put(part)
        if len(view.items) != count:
            self._place(view, changed)
        for item in changed:
            self._touch(item)
            if item.is_hidden != (item.id in was_hidden):
                self._move(item.at)
        if isinstance(part, ToolPart):
            self._follow_tool(view, part)

    def _follow_tool(self, view: MessageView, part: ToolPart) -> None:
        item = view.parts.get(part.id)
        if not isinstance(item, ToolItem):
            return
        self._waiting.update_wait(item)
        last: ToolItem | None = view.turn.last_tool
        if last is item or (last is not None and part.id != view.last_tool_id()):
            return
        view.turn.last_tool = item
        item.is_last = True
        if last is not None:
            last.is_last = False
            self._touch(last)

    def _update_message(self, info: AnyMessage) -> None:
        view = self._views.get(info.id)
        if view is None:
            view = self._add_message(info)
            self._place(view, view.items)
            self._refresh_queue_marks()
            return
        count = len(view.items)
        changed = view.update(info)
        if len(view.items) != count:
            self._rebuild()
        for item in changed:
            self._touch(item)
        marker = self._views.measure_compaction(view)
        if marker is not None:
            self._touch(marker)
        self._refresh_queue_marks()

    def _add_message(self, info: AnyMessage) -> MessageView:
        view = self._views.add(info)
        if self._views.parent_of(info) is not None:
            for item in view.first_changes:
                self._touch(item)
        return view

    def _remove_part(self, event: PartRemoved) -> None:
        view = self._views.get(event.message_id)
        if view is not None and view.remove(event.part_id):
            self._rebuild()

    def _remove_message(self, event: MessageRemoved) -> None:
        if self._views.remove(event.message_id):
            self._rebuild()

    def _set_revert(self, revert: RevertState | None) -> None:
        if revert != self._cut.revert:
            self._cut.revert = revert
            self._rebuild()

    def _place(self, view: MessageView, items: Sequence[AnyItem]) -> None:
        """Insert the new items of a message, nearly always at the end."""
        if not items:
            return
        if self._cut.is_active:
            self._rebuild()
            return
        before = self._views.item_before(view, items[0])
        at = 0 if before is None else before.at + 1
        self.items[at:at] = items
        for number in range(at, len(self.items)):
            self.items[number].at = number
        self._move(at)

    def measure_context(self, tokens: int) -> None:
        """Show the measured tokens of the next request at a compaction that no request has followed yet."""
        marker = self._views.last_compaction()
        if marker is not None:
            marker.after, marker.is_measured = tokens, True
            self._touch(marker)

    def _rebuild(self) -> None:
        """Lay all items out again: after a load, a removal, an undo."""
        self.items = self._cut.apply(self._views.order)
        for at, item in enumerate(self.items):
            item.at = at
        for view in self._views.order:
            view.find_last_tool()
        for marker in self._views.measure_compactions():
            self._touch(marker)
        self._mark_waiting()
        self._mark_retries()
        self._refresh_queue_marks()
        self._move(0)

    def _refresh_queue_marks(self) -> None:
        for item in update_marks(self._views.order, is_busy=not isinstance(self.status, IdleStatus)):
            self._touch(item)

    def _mark_retries(self) -> None:
        """Mark the retries of the last call while the next attempt waits."""
        last = self.items[-1] if self.items else None
        if isinstance(last, RetryItem):
            was_hidden, last.is_waiting = last.is_hidden, isinstance(self.status, RetryStatus)
            self._touch(last)
            if last.is_hidden != was_hidden:
                self._move(last.at)

    def _mark_waiting(self) -> None:
        for item in self._views.recent_tools():
            if self._waiting.update_wait(item):
                self._touch(item)

    def _touch(self, item: Item) -> None:
        """Record that an item has changed."""
        item.revision += 1
        self._dirty[item.id] = item
        self._notify()

    def _move(self, at: int) -> None:
        """Record that items were added, removed or moved from an index on."""
        self._moved_from = at if self._moved_from is None else min(at, self._moved_from)
        self._notify()

    def _notify(self) -> None:
        if not self._is_notified and self._changed is not None:
            self._is_notified = True
            self._changed()
