"""The changes of one shared session that were not sent yet: the latest state of each item.

Records are immutable and a growing part is a view, so that collecting costs nothing while a turn runs; all work is done later, on a
thread.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

from opencode_tui.engine.session.request.reminder import ANNOUNCED
from opencode_tui.redaction.session import Redactor
from opencode_tui.schema.event.event import (
    Event,
    MessageRemoved,
    MessageUpdated,
    PartGrowth,
    PartProgress,
    PartRemoved,
    PartUpdated,
    ReadPart,
    SessionDiff,
    SessionUpdated,
)
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AnyMessage, UserMessage
from opencode_tui.schema.session.part import AnyPart, TextPart
from opencode_tui.schema.session.session import SessionInfo

PartKey = tuple[str, str]
"""A message's id and a part's; the second is empty for the message itself."""

FindModels = Callable[[Iterable[ModelRef]], Sequence[JsonObject]]


@dataclass(slots=True)
class Pending:
    """Items to send; a later one replaces an earlier one."""

    session: SessionInfo | None = None
    messages: dict[str, AnyMessage] = field(default_factory=dict[str, AnyMessage])
    parts: dict[PartKey, AnyPart | ReadPart] = field(default_factory=dict[PartKey, "AnyPart | ReadPart"])
    removed: dict[PartKey, None] = field(default_factory=dict[PartKey, None])
    diff: Sequence[FileDiff] | None = None
    models: dict[str, ModelRef] = field(default_factory=dict[str, ModelRef])

    def __bool__(self) -> bool:
        return bool(self.session or self.messages or self.parts or self.removed or self.models or self.diff is not None)

    @classmethod
    def everything(cls, info: SessionInfo, messages: Sequence[MessageWithParts], diff: Sequence[FileDiff]) -> Self:
        """Return all items of a session."""
        made = cls(session=info, diff=diff)
        for message in messages:
            made.put_message(message.info)
            for part in message.parts:
                made.parts[message.info.id, part.id] = part
        return made

    def put_message(self, info: AnyMessage) -> None:
        """Add a message."""
        self.messages[info.id] = info
        self.removed.pop((info.id, ""), None)
        if isinstance(info, UserMessage):
            self.models[str(info.model)] = info.model

    def put(self, event: Event) -> bool:
        """Add what an event changes; return whether it changes anything that is shared."""
        match event:
            case SessionUpdated():
                self.session = event.info
            case MessageUpdated():
                self.put_message(event.info)
            case PartUpdated():
                self.parts[event.part.message_id, event.part.id] = event.part
                self.removed.pop((event.part.message_id, event.part.id), None)
            case PartGrowth() | PartProgress():
                self.parts[event.message_id, event.part_id] = event.record
            case PartRemoved():
                self.parts.pop((event.message_id, event.part_id), None)
                self.removed[event.message_id, event.part_id] = None
            case MessageRemoved():
                self.messages.pop(event.message_id, None)
                self.parts = {key: part for key, part in self.parts.items() if key[0] != event.message_id}
                self.removed[event.message_id, ""] = None
            case SessionDiff():
                self.diff = event.diff
            case _:
                return False
        return True

    def restore(self, older: "Pending") -> None:
        """Put back what could not be sent; what has changed since is newer."""
        self.session = self.session or older.session
        self.messages = {**older.messages, **self.messages}
        self.parts = {**older.parts, **self.parts}
        self.models = {**older.models, **self.models}
        self.diff = older.diff if self.diff is None else self.diff
        for message_id, part_id in self.removed:
            if part_id:
                self.parts.pop((message_id, part_id), None)
            else:
                self.messages.pop(message_id, None)
                self.parts = {key: part for key, part in self.parts.items() if key[0] != message_id}
        gone = {key: None for key in older.removed if key not in self.parts and key[0] not in self.messages}
        self.removed = {**gone, **self.removed}

    def items(self, redactor: Redactor, find_models: FindModels, *, removes: bool) -> list[JsonObject]:
        """Return the items as the server gets them, redacted; `removes`: it understands removed ones. Blocks."""
        items: list[JsonObject] = []
        if self.session is not None:
            items.append({"type": "session", "data": redactor.session(self.session.to_dict())})
        items += [{"type": "message", "data": redactor.message(info.to_dict())} for info in self.messages.values()]
        for part in self.parts.values():
            if isinstance(part, TextPart) and ANNOUNCED in (part.metadata or {}):
                continue  # like the system text, it may have the user's own instructions
            record = part.to_dict() if isinstance(part, AnyPart) else part().to_dict()
            items.append({"type": "part", "data": redactor.part(record)})
        if removes:
            items += [{"type": "removed", "data": _removed(*key)} for key in self.removed]
        if self.diff is not None:
            items.append({"type": "session_diff", "data": redactor.diffs([one.to_dict() for one in self.diff])})
        if self.models:
            items.append({"type": "model", "data": list(find_models(self.models.values()))})
        return items


def _removed(message_id: str, part_id: str) -> JsonObject:
    return {"messageID": message_id, "partID": part_id} if part_id else {"messageID": message_id}
