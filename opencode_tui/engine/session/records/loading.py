"""Read the messages and parts of a session from disk, in order: all, the newest ones, or those since the last compaction.

A damaged record is skipped. All functions block.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from opencode_tui.engine.session.records.stored_history import StoredHistory
from opencode_tui.schema.error import CorruptRecordError, NotFoundError, StorageError
from opencode_tui.schema.ids import moment, spans_wrap, time_field
from opencode_tui.schema.json_text import decode_json
from opencode_tui.schema.record import ValidationError
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import AnyMessage, AssistantMessage, UserMessage
from opencode_tui.schema.session.newer import message_of, parse_message, parse_stored_part
from opencode_tui.schema.session.part import AnyPart, CompactionPart
from opencode_tui.storage.record_file import checked, is_unknown
from opencode_tui.storage.session_record import describe_mismatch
from opencode_tui.storage.storage import Storage

_HALF_FIELD = 1 << 47

SHORT = 400
"""Messages of a session that is always read whole: less than what most models are sent at once."""

_GROUP = 200
"""Messages that a reader of a whole session has in memory at a time."""

_MIN_RECENT = 100
"""Messages that are read at least: what the screen, a fork and a run look at first."""


@dataclass(slots=True)
class Loaded:
    """Messages in order, and the records that could not be read.

    `older` are the names of the messages before them, in order, where these were not asked for.
    """

    messages: list[MessageWithParts] = field(default_factory=list[MessageWithParts])
    damaged: list[StorageError] = field(default_factory=list[StorageError])
    older: Sequence[str] = ()

    @property
    def unknown(self) -> Sequence[StorageError]:
        """The failures behind which a record may be whole: what could not be read is not absent."""
        return [one for one in self.damaged if is_unknown(one)]

    def made(self) -> Iterator[tuple[str, int]]:
        """Yield the ids of the messages and of the last part of each, which new ids have to follow, with the messages' times."""
        for message in self.messages:
            created = message.info.time.created
            yield message.info.id, created
            if message.parts:
                yield message.parts[-1].id, created


def load_session(storage: Storage, session_id: str) -> Loaded:
    """Read all messages with their parts, oldest first."""
    history = StoredHistory(storage, session_id)
    return _load(storage, history, session_id, history.names(), None)


def read_groups(storage: Storage, session_id: str) -> Iterator[Loaded]:
    """Yield what `load_session` returns in groups, read while the caller goes on: a long session needs no memory for all of it."""
    history = StoredHistory(storage, session_id)
    names = history.names()
    size = len(names) if spans_wrap(names) else _GROUP  # else only the messages themselves give the order
    for at in range(0, len(names), size or 1):
        yield _load(storage, history, session_id, names[at : at + size], None)


def load_tail(storage: Storage, session_id: str, limit: int) -> Loaded:
    """Read the newest `limit` messages with their parts, oldest first; all of them when their names do not give the order."""
    history = StoredHistory(storage, session_id)
    return _load(storage, history, session_id, history.names(), limit)


def load_named(storage: Storage, session_id: str, names: Sequence[str]) -> Loaded:
    """Read these messages with their parts, in the order of their names; those that are removed are left out."""
    loaded = _load(storage, StoredHistory(storage, session_id), session_id, names, None)
    loaded.damaged = [one for one in loaded.damaged if not isinstance(one, NotFoundError)]
    return loaded


def read_requests(storage: Storage, session_id: str, names: Sequence[str]) -> Iterator[UserMessage]:
    """Yield the requests among these messages, without parts; those that cannot be read are left out."""
    history = StoredHistory(storage, session_id)
    for name in names:
        try:
            data = history.message(name)
            info = parse_message(data) if b'"user"' in data else None
        except (StorageError, ValidationError):
            continue
        if isinstance(info, UserMessage):
            yield info


def load_recent(storage: Storage, session_id: str) -> Loaded:
    """Read the messages from the newest finished compaction on, with its tail, as whole turns; of a short session all.

    `filter_compacted` returns the same of them as of all.
    """
    history = StoredHistory(storage, session_id)
    names = history.names()

    def info(name: str) -> AnyMessage | None:
        try:
            return parse_message(history.message(name))
        except (StorageError, ValidationError):
            return None  # reading it with its parts reports it

    looked_at = Loaded()
    start = recent_start(names, info, lambda name: _read_parts(storage, history, name, looked_at))
    loaded = _load(storage, history, session_id, names[start:], None)
    loaded.damaged.extend(looked_at.unknown)
    loaded.older = names[:start]
    return loaded


def recent_start(
    names: Sequence[str], info: Callable[[str], AnyMessage | None], parts: Callable[[str], Sequence[AnyPart]]
) -> int:
    """Return where the messages begin that `load_recent` reads of a session with these names, which are in order.

    `info` returns a message, None for one that cannot be read. Both are called for no more than what they are needed for.
    """
    return 0 if len(names) <= SHORT or spans_wrap(names) else _Window(names, info, parts).start()


class _Window:
    """Finds where the messages begin that a request is made of, looking at no more than those."""

    def __init__(
        self, names: Sequence[str], info: Callable[[str], AnyMessage | None], parts: Callable[[str], Sequence[AnyPart]]
    ) -> None:
        self._names = names
        self._read = info
        self._parts = parts
        self._infos: dict[int, AnyMessage | None] = {}

    def start(self) -> int:
        """Return the index of the first message; 0 for a session without a compaction."""
        summary_at = next((at for at in reversed(range(len(self._names))) if self._is_summary(at)), None)
        if summary_at is None:
            return 0
        start = min(self._boundary(summary_at), len(self._names) - _MIN_RECENT)
        checked = len(self._names)
        while start < checked:  # an answer belongs to its request, whichever of them is older than the boundary
            parents = [self._parent(at) for at in range(start, checked)]
            checked, start = start, min([start, *(parent for parent in parents if parent is not None)])
            while start > 0 and not isinstance(self._info(start), UserMessage):
                start -= 1
        return start

    def _boundary(self, summary_at: int) -> int:
        """Return the index of a summary's marker, or of the tail that it kept; that of the summary where it has no marker."""
        marker_at = self._parent(summary_at)
        if marker_at is None or marker_at > summary_at:
            return summary_at
        marker = next((part for part in self._parts(self._names[marker_at]) if isinstance(part, CompactionPart)), None)
        if marker is None:
            return summary_at
        tail_at = self._index(marker.tail_id)
        return marker_at if tail_at is None else min(tail_at, marker_at)

    def _is_summary(self, at: int) -> bool:
        info = self._info(at)
        return isinstance(info, AssistantMessage) and bool(info.summary and info.finish) and info.error is None

    def _parent(self, at: int) -> int | None:
        info = self._info(at)
        return self._index(info.parent_id) if isinstance(info, AssistantMessage) else None

    def _index(self, name: str | None) -> int | None:
        if name is None:
            return None
        at = bisect_left(self._names, name)
        return at if at < len(self._names) and self._names[at] == name else None

    def _info(self, at: int) -> AnyMessage | None:
        """Return a message, None for one that cannot be read."""
        if at not in self._infos:
            self._infos[at] = self._read(self._names[at])
        return self._infos[at]


def _load(storage: Storage, history: StoredHistory, session_id: str, names: Sequence[str], limit: int | None) -> Loaded:
    loaded = Loaded()
    is_wrapped = spans_wrap(names)
    wanted = names if limit is None or is_wrapped else names[-limit:]
    messages: list[AnyMessage] = []
    for name in wanted:
        try:
            messages.append(_read_message(storage, history, session_id, name))
        except StorageError as error:
            loaded.damaged.append(error)
    if is_wrapped:
        messages.sort(key=lambda message: moment(message.id, message.time.created))
        messages = messages if limit is None else messages[-limit:]
    loaded.messages = [with_parts(message, _read_parts(storage, history, message.id, loaded)) for message in messages]
    return loaded


def _read_message(storage: Storage, history: StoredHistory, session_id: str, name: str) -> AnyMessage:
    """Return a message without its parts. Raises StorageError."""
    data = history.unchecked(name)
    try:
        return message_of(decode_json(data))  # a check before would decode it, too
    except ValueError:
        path = storage.path_of(("message", session_id, name))
    try:
        return parse_message(checked(data, path))
    except ValidationError as error:
        raise CorruptRecordError(path, describe_mismatch(error)) from error


def _read_parts(storage: Storage, history: StoredHistory, message_id: str, loaded: Loaded) -> list[AnyPart]:
    parts: list[AnyPart] = []
    found = history.parts(message_id)
    loaded.damaged.extend(found.failures)
    for key, data in found.records:
        try:
            parts.append(parse_stored_part(data))
        except ValidationError as error:
            loaded.damaged.append(CorruptRecordError(storage.path_of(key), describe_mismatch(error)))
    names = [part.id for part in parts]
    if len(names) > 1 and spans_wrap(names):
        parts.sort(key=_rotated)
    return parts


def _rotated(part: AnyPart) -> tuple[bool, int, str]:
    """Return the sort key of a part across an overflow of the time field: small values are newer; ids without one come first."""
    value = time_field(part.id)
    if value is None:
        return (False, 0, part.id)
    return (True, value + (_HALF_FIELD * 2 if value < _HALF_FIELD else 0), part.id)
