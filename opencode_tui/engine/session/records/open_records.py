"""What the store of sessions has in memory: the records of open sessions, texts that still grow, and who gets their events."""

import threading
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from msgspec import Struct

from opencode_tui.bus import Bus
from opencode_tui.engine.session.records.loading import Loaded, recent_start
from opencode_tui.schema.event.event import Event, session_of
from opencode_tui.schema.ids import spans_wrap
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import AnyMessage, UserMessage
from opencode_tui.schema.session.part import AnyPart, PartTime, ReasoningPart, TextPart, ToolPart
from opencode_tui.storage.locks import NEVER_RUN, Seen

# Parts that are still growing, stored as pieces: nothing is copied or joined per token.


class LiveText:
    """A text or reasoning part while the model writes it. One thread appends, any may read."""

    def __init__(self, start: TextPart | ReasoningPart) -> None:
        self._start = start
        self._pieces: list[str] = [start.text] if start.text else []
        self._published = len(start.text)
        self._joining = threading.Lock()

    @property
    def id(self) -> str:
        """The part's id."""
        return self._start.id

    def append(self, text: str) -> None:
        """Add text at the end."""
        self._pieces.append(text)

    def text(self) -> str:
        """Return the whole text so far."""
        with self._joining:
            count = len(self._pieces)
            if count > 1:
                self._pieces[:count] = ["".join(self._pieces[:count])]  # keeps what is appended meanwhile
            return self._pieces[0] if count else ""

    def record(self, length: int | None = None) -> TextPart | ReasoningPart:
        """Return the part as it is now, still open, or as it was at a length."""
        return self._start.changed(text=self.text()[:length])

    def publish(self, delta: str) -> "GrownText":
        """Return the part as it is with this delta, which follows the previous one; more may be appended already."""
        self._published += len(delta)
        return GrownText(self, self._published)

    def closed(self, *, end: int, metadata: dict[str, object] | None = None) -> TextPart | ReasoningPart:
        """Return the finished part: trailing white space removed, `time.end` set."""
        started = self._start.time.start if self._start.time else end
        return self._start.changed(
            text=self.text().rstrip(),
            time=PartTime.trusted(start=started, end=end),
            metadata=metadata if metadata is not None else self._start.metadata,
        )


class GrownText(Struct, frozen=True):
    """A growing part at the length that it has with one delta, so that a reader applies no text twice."""

    live: LiveText
    length: int

    def record(self) -> TextPart | ReasoningPart:
        """Return the part."""
        return self.live.record(self.length)


class LiveTool:
    """A tool part while its call runs; new progress replaces the previous one."""

    def __init__(self, part: ToolPart) -> None:
        self.part = part

    def record(self) -> ToolPart:
        """Return the part as it is now."""
        return self.part


@dataclass(slots=True)
class OpenRecords:
    """An open session's messages and their parts in order, by id, and the texts that are still growing."""

    messages: dict[str, AnyMessage] = field(default_factory=dict[str, AnyMessage])
    parts: dict[str, dict[str, AnyPart]] = field(default_factory=dict[str, dict[str, AnyPart]])
    growing: dict[str, LiveText] = field(default_factory=dict[str, LiveText])
    older: dict[str, None] = field(default_factory=dict[str, None])
    """The names of older messages that are not in memory, in order."""
    older_changes: int = 0
    """Changes of those, so that whoever reads them meanwhile reads them again."""
    is_whole: bool = True
    """Whether everything could be read, or is damaged for good: else it is read again at the next look."""
    seen: Seen = NEVER_RUN
    """Who had changed the session when its records were read."""
    older_sum: tuple[int, list[FileDiff] | None] | None = None
    """What their turns changed in files, as `SessionStore.sum_up_older` computed it, and `older_changes` since then."""
    unsummed: list[UserMessage] = field(default_factory=list[UserMessage])
    """The requests among them that are not in that sum: they were in memory when it was computed."""

    def __len__(self) -> int:
        """Return the number of messages and parts."""
        return len(self.messages) + sum(map(len, self.parts.values()))

    def together(self) -> list[MessageWithParts]:
        """Return the messages in memory with their parts, oldest first."""
        return [with_parts(info, self.parts_of(message_id)) for message_id, info in self.messages.items()]

    def parts_of(self, message_id: str) -> list[AnyPart]:
        """Return the parts of a message, in order; a growing text with all of its content."""
        return [self._now(part) for part in self.parts.get(message_id, {}).values()]

    def _now(self, part: AnyPart) -> AnyPart:
        live = self.growing.get(part.id)
        return part if live is None else live.record()

    def put_message(self, info: AnyMessage) -> None:
        """Add or replace a message; an older one stays on disk only. A new one is where its id sorts, as on the disk."""
        if info.id in self.older:
            self.older_changes += 1
            return
        last = next(reversed(self.messages), None)
        is_new = info.id not in self.messages
        self.messages[info.id] = info
        if is_new and last is not None and not spans_wrap((last, info.id)) and info.id < last:
            later = [name for name in self.messages if name > info.id and not spans_wrap((name, info.id))]
            for name in later:
                self.messages[name] = self.messages.pop(name)

    def put_part(self, part: AnyPart) -> None:
        """Add or replace a part; ends its growth."""
        self.growing.pop(part.id, None)
        if part.message_id in self.older:
            self.older_changes += 1
        else:
            self.parts.setdefault(part.message_id, {})[part.id] = part

    def is_late(self, part: AnyPart) -> bool:
        """Return whether a part shows a call as open that has ended: what carried it out may still be ending."""
        known = self.parts.get(part.message_id, {}).get(part.id)
        return isinstance(part, ToolPart) and isinstance(known, ToolPart) and part.is_open and not known.is_open

    def remove_part(self, message_id: str, part_id: str) -> None:
        """Remove a part."""
        self.older_changes += message_id in self.older
        self.growing.pop(part_id, None)
        self.parts.get(message_id, {}).pop(part_id, None)

    def remove_message(self, message_id: str) -> tuple[str, ...]:
        """Remove a message and its parts; return the ids of the parts that are in memory."""
        self.older_changes += message_id in self.older
        self.older.pop(message_id, None)
        self.messages.pop(message_id, None)
        parts = tuple(self.parts.pop(message_id, {}))
        for part_id in parts:
            self.growing.pop(part_id, None)
        return parts

    def release(self, pending: Container[str]) -> None:
        """Leave on disk what a session that is opened now would not read, but no message that is `pending`."""
        here, names = tuple(self.messages), (*self.older, *self.messages)
        if any(after < before for before, after in pairwise(names)):
            return
        start = recent_start(names, self.messages.get, self.parts_of) - len(self.older)
        busy = (at for at, name in enumerate(here[: max(0, start)]) if name in pending or self._grows(name))
        released = here[: next(busy, max(0, start))]
        requests: list[UserMessage] = []
        for name in released:
            info = self.messages.pop(name)
            self.parts.pop(name, None)
            self.older[name] = None
            if isinstance(info, UserMessage):
                requests.append(info)
        if released:
            self._add_older(requests)

    def _add_older(self, requests: Sequence[UserMessage]) -> None:
        """Count a change of the older messages that only adds these requests after those before: what is summed up stays so."""
        known = self.older_sum
        is_current = known is not None and known[0] == self.older_changes
        self.older_changes += 1
        if known is not None and is_current:
            self.older_sum = (self.older_changes, known[1])
            self.unsummed += requests

    def _grows(self, message_id: str) -> bool:
        return not self.growing.keys().isdisjoint(self.parts.get(message_id, {}))

    def put_before(self, older: "OpenRecords") -> None:
        """Add the messages before those in memory, which were read from the disk."""
        self.messages = {**older.messages, **self.messages}
        self.parts = {**older.parts, **self.parts}
        self.older, self.older_sum, self.unsummed = {}, None, []
        self.is_whole &= older.is_whole


def opened(loaded: Loaded, seen: Seen) -> OpenRecords:
    """Return the records of an open session."""
    return OpenRecords(
        messages={message.info.id: message.info for message in loaded.messages},
        parts={message.info.id: {part.id: part for part in message.parts} for message in loaded.messages},
        older=dict.fromkeys(loaded.older),
        is_whole=not loaded.unknown,
        seen=seen,
    )


class Publisher:
    """Publishes the events of sessions. Events of sessions without a bound folder go to the whole process."""

    def __init__(self, *, bus: Bus) -> None:
        self._bus = bus
        self._directories: dict[str, str] = {}
        self._parents: dict[str, str] = {}
        self._guests: dict[str, frozenset[str]] = {}

    def bind(self, session_id: str, directory: str, parent_id: str | None = None) -> None:
        """Publish the events of this session under the instance of `directory` from now on."""
        self._directories[session_id] = directory
        if parent_id is not None:
            self._parents[session_id] = parent_id

    def admit(self, session_id: str, directory: str) -> None:
        """Publish the events of this session, and of its agents, to the readers of `directory` too: it works from there."""
        if directory != self._directories.get(session_id):
            self._guests[session_id] = self._guests.get(session_id, frozenset()) | {directory}

    def directory_of(self, session_id: str) -> str:
        """Return the folder that a session is bound to, empty without one."""
        return self._directories.get(session_id, "")

    def publish(self, event: Event) -> None:
        """Publish; returns at once."""
        session_id = session_of(event)
        guests = self._guests_of(session_id) if self._guests else frozenset[str]()
        self._bus.publish(event, directory=self._directories.get(session_id, ""), guests=guests)

    def _guests_of(self, session_id: str) -> frozenset[str]:
        found, seen = self._guests.get(session_id, frozenset()), {session_id}
        while (session_id := self._parents.get(session_id, "")) and session_id not in seen:
            found |= self._guests.get(session_id, frozenset())
            seen.add(session_id)
        return found
