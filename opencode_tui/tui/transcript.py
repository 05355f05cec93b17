"""What a session's conversation shows, kept up to date by its events; pure, knows no widget.

`items` are in the order of the screen. Whoever draws them asks `take_changes` once a frame: which items say something else now, and
from which place on items came, went or moved. A token costs the same however long the conversation is.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from opencode_tui.schema.event import (
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
from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.message import AnyMessage, UserMessage
from opencode_tui.schema.part import AnyPart, CompactionPart, ToolPart
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session import RevertState, SessionInfo
from opencode_tui.schema.status import AnyStatus, IdleStatus
from opencode_tui.tui.items import AnyItem, GrowingItem, Item, ToolItem, UndoneFile, UserItem
from opencode_tui.tui.message_view import MessageView
from opencode_tui.tui.queue_marks import settle_marks
from opencode_tui.tui.undo_cut import UndoCut
from opencode_tui.tui.waiting_calls import WaitingCalls

_STEPS_BEHIND = 4
"""Messages between a compaction's marker and the first step behind it: the summary, the program's word to go on."""


@dataclass(slots=True)
class Changes:
    """What is new since the last time: `moved_from` is the first place whose item may be another one, None when none is."""

    dirty: list[Item] = field(default_factory=list[Item])
    moved_from: int | None = None

    def __bool__(self) -> bool:
        return bool(self.dirty) or self.moved_from is not None


class Transcript:
    """The conversation of one session."""

    def __init__(self, session_id: str = "") -> None:
        self.session_id = session_id
        self.items: list[AnyItem] = []
        self.status: AnyStatus = IdleStatus()
        self.needs_reload = False
        """Events were lost: read the messages again and `load` them."""

        self.changed: Callable[[], None] | None = None
        """Called when there is something new to draw, once until it is taken."""

        self._messages: dict[str, MessageView] = {}
        self._order: list[MessageView] = []
        self._waiting = WaitingCalls()
        self._cut = UndoCut()
        self._dirty: dict[str, Item] = {}
        self._moved_from: int | None = 0
        self._is_told = False

    def load(
        self,
        messages: Iterable[MessageWithParts],
        *,
        session: SessionInfo | None = None,
        status: AnyStatus | None = None,
        requests: Sequence[PermissionRequest] = (),
    ) -> None:
        """Show these messages, oldest first, in the place of all that was there."""
        self._messages, self._order, self._dirty = {}, [], {}
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
            view.doubt()
        self._rebuild()

    def apply(self, event: Event) -> None:
        """Take an event; those of other sessions change nothing."""
        match event:
            case PartGrowth():
                self._grow(event)
            case PartProgress():
                if event.session_id == self.session_id:
                    self._put(event.live.record())
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
                    self._settle_queue()
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

    def take_changes(self) -> Changes:
        """Return what is new since the last call."""
        changes = Changes(list(self._dirty.values()), self._moved_from)
        self._dirty, self._moved_from, self._is_told = {}, None, False
        return changes

    @property
    def has_changes(self) -> bool:
        """Tell whether `take_changes` would return any."""
        return bool(self._dirty) or self._moved_from is not None

    def item(self, item_id: str) -> AnyItem | None:
        """Return the item with an id, None when it is not shown."""
        return next((item for item in self.items if item.id == item_id), None)

    def running_tools(self) -> list[ToolItem]:
        """Return the calls that have begun and not ended, oldest first."""
        recent = (item for view in self._order[-3:] for item in view.items)
        return [item for item in recent if isinstance(item, ToolItem) and item.part.state.status == "running"]

    @property
    def last_user(self) -> UserItem | None:
        """The newest request that is not queued."""
        found = (view.user for view in reversed(self._order) if view.user is not None)
        return next((user for user in found if not user.is_hidden and not user.is_queued), None)

    @property
    def queued(self) -> list[UserItem]:
        """The requests that wait for the turn before."""
        found = (view.user for view in self._order if view.user is not None)
        return [user for user in found if user.is_queued and not user.is_hidden]

    def preview_undo(self, message_id: str, part_id: str | None = None) -> None:
        """Show what an undo back to this message (or to this part of it) would take away."""
        self._cut.preview = RevertState(message_id=message_id, part_id=part_id)
        self._rebuild()

    def end_preview(self) -> None:
        """Show the conversation as it is again."""
        self._cut.preview = None
        self._rebuild()

    def tell_undone(self, message_id: str, files: Sequence[UndoneFile]) -> None:
        """Take what the active undo, which goes back to this message, did with files."""
        self._cut.files = (message_id, files)
        self._rebuild()

    @property
    def cut_at(self) -> int | None:
        """The place of the undo rule while an undo is only shown: everything behind it would go."""
        return self._cut.shown_at

    def _grow(self, event: PartGrowth) -> None:
        view = self._messages.get(event.message_id)
        if view is None:
            return
        item = view.parts.get(event.part_id)
        if not isinstance(item, GrowingItem) or event.part_id in view.unsure:
            self._put(event.live.record())
            return
        was_hidden = item.is_hidden
        item.grow(event.delta)
        self._touch(item)
        if was_hidden and not item.is_hidden:
            self._move(item.at)

    def _put(self, part: AnyPart) -> None:
        view = self._messages.get(part.message_id)
        if view is None:
            return
        view.unsure.discard(part.id)
        if isinstance(part, CompactionPart) and self._previous(view) is not None:
            view.before = self._tokens_before(view)
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
        self._waiting.sign(item)
        last: ToolItem | None = view.turn.last_tool
        if last is item or (last is not None and part.id != view.last_tool_id()):
            return
        view.turn.last_tool = item
        item.is_last = True
        if last is not None:
            last.is_last = False
            self._touch(last)

    def _update_message(self, info: AnyMessage) -> None:
        view = self._messages.get(info.id)
        if view is None:
            view = self._add_message(info)
            self._place(view, view.items)
            self._settle_queue()
            return
        count = len(view.items)
        changed = view.update(info)
        if len(view.items) != count:
            self._rebuild()
        for item in changed:
            self._touch(item)
        self._measure_compaction(view)
        self._settle_queue()

    def _add_message(self, info: AnyMessage) -> MessageView:
        previous = self._order[-1] if self._order else None
        parent = None if isinstance(info, UserMessage) else self._messages.get(info.parent_id)
        view = MessageView(info, at=len(self._order), parent=parent, previous=previous)
        self._messages[info.id] = view
        self._order.append(view)
        if parent is not None and view.turn.user is not None:
            self._touch(view.turn.user)
        return view

    def _remove_part(self, event: PartRemoved) -> None:
        view = self._messages.get(event.message_id)
        if view is not None and view.remove(event.part_id):
            self._rebuild()

    def _remove_message(self, event: MessageRemoved) -> None:
        view = self._messages.pop(event.message_id, None)
        if view is None:
            return
        self._order.remove(view)
        for at, one in enumerate(self._order):
            one.at = at
        self._rebuild()

    def _previous(self, view: MessageView) -> MessageView | None:
        return self._order[view.at - 1] if view.at else None

    def _tokens_before(self, view: MessageView) -> int:
        return next((one.used for one in reversed(self._order[: view.at]) if one.used), 0)

    def _measure_compaction(self, view: MessageView) -> None:
        """Tell the compaction directly before a step what the step was sent."""
        for one in reversed(self._order[max(0, view.at - _STEPS_BEHIND) : view.at] if view.sent else ()):
            if one.sent:
                return
            if one.compaction is not None:
                one.compaction.after, one.compaction.is_measured = view.sent, True
                self._touch(one.compaction)
                return

    def _set_revert(self, revert: RevertState | None) -> None:
        if revert != self._cut.revert:
            self._cut.revert = revert
            self._rebuild()

    def _place(self, view: MessageView, items: Sequence[AnyItem]) -> None:
        """Put new items of a message into their place; nearly always that is the end."""
        if not items:
            return
        if self._cut.is_active:
            self._rebuild()
            return
        before = self._item_before(view, items[0])
        at = 0 if before is None else before.at + 1
        if at == len(self.items):
            for number, item in enumerate(items, at):
                item.at = number
            self.items.extend(items)
        else:
            self.items[at:at] = items
            for number in range(at, len(self.items)):
                self.items[number].at = number
        self._move(at)

    def _item_before(self, view: MessageView, item: AnyItem) -> AnyItem | None:
        index = view.items.index(item)
        if index:
            return view.items[index - 1]
        for at in range(view.at - 1, -1, -1):
            if self._order[at].items:
                return self._order[at].items[-1]
        return None

    def _rebuild(self) -> None:
        """Lay all items out anew: after a load, a removal, an undo."""
        for view in self._order:
            if view.compaction is not None and view.before == 0:
                view.before = self._tokens_before(view)
                view.compaction.before = view.before
        self.items = self._cut.apply(self._order)
        for at, item in enumerate(self.items):
            item.at = at
        is_compacted = any(view.compaction is not None for view in self._order)
        for view in self._order:
            view.find_last_tool()
            if is_compacted:
                self._measure_compaction(view)
        self._mark_waiting()
        self._settle_queue()
        self._move(0)

    def _settle_queue(self) -> None:
        for item in settle_marks(self._order, is_busy=not isinstance(self.status, IdleStatus)):
            self._touch(item)

    def _mark_waiting(self) -> None:
        recent = (item for view in self._order[-3:] for item in view.items if isinstance(item, ToolItem))
        for item in recent:
            if self._waiting.sign(item):
                self._touch(item)

    def _touch(self, item: Item) -> None:
        item.revision += 1
        self._dirty[item.id] = item
        self._tell()

    def _move(self, at: int) -> None:
        self._moved_from = at if self._moved_from is None else min(at, self._moved_from)
        self._tell()

    def _tell(self) -> None:
        if not self._is_told and self.changed is not None:
            self._is_told = True
            self.changed()
