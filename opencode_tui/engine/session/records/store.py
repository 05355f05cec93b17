"""The only writer of session, message and part records.

Write first, then publish: a reader that reacts to an event finds the file. The records of open sessions, those that run and those
used last, are kept in memory and written through; growing text is written later (docs/internals/session.md#storage). Messages and
parts change only under the session's run lock, the session record under its write lock. Order: docs/internals/session.md#ids.
"""

import asyncio
import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, KeysView, Sequence
from dataclasses import dataclass, field

from msgspec import Struct
from pydantic import ConfigDict, TypeAdapter, ValidationError

from opencode_tui.bus import Bus
from opencode_tui.engine.session.records.stored_history import StoredHistory, open_history
from opencode_tui.schema.error import CorruptRecordError, NotFoundError, StorageError
from opencode_tui.schema.event.event import (
    Event,
    MessageRemoved,
    MessageUpdated,
    PartGrowth,
    PartProgress,
    PartRemoved,
    PartUpdated,
    SessionCreated,
    SessionDeleted,
    SessionFailed,
    SessionUpdated,
    session_of,
)
from opencode_tui.schema.ids import Clock, spans_wrap, time_field
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import MESSAGE, AnyMessage
from opencode_tui.schema.session.part import AnyPart, PartTime, ReasoningPart, TextPart, ToolPart, parse_part
from opencode_tui.schema.session.prefix import SessionPrefix
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.stored_error import StoredError
from opencode_tui.storage.keys import Key
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.session_index import SessionIndex
from opencode_tui.storage.session_record import describe_mismatch, parse_session
from opencode_tui.storage.storage import Storage

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
            time=PartTime(start=started, end=end),
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


# Read a session's messages and parts from disk, in order; a damaged record is skipped. Blocks.

_HALF_FIELD = 1 << 47

MAX_RECORDS = 3_000
"""Messages and parts in memory, about 8 MB, over which idle sessions are closed; a session of 50 turns has some 500."""

MAX_SESSIONS, MIN_SESSIONS = 16, 2
"""Sessions that are open at most while they are idle, and those that stay open however long they are."""


@dataclass(slots=True)
class OpenRecords:
    """An open session's messages and their parts in order, by id, and the texts that are still growing."""

    messages: dict[str, AnyMessage] = field(default_factory=dict[str, AnyMessage])
    parts: dict[str, dict[str, AnyPart]] = field(default_factory=dict[str, dict[str, AnyPart]])
    growing: dict[str, LiveText] = field(default_factory=dict[str, LiveText])

    def __len__(self) -> int:
        """Return the number of messages and parts."""
        return len(self.messages) + sum(map(len, self.parts.values()))

    def together(self) -> list[MessageWithParts]:
        """Return all messages with their parts, oldest first."""
        return [with_parts(info, self.parts_of(message_id)) for message_id, info in self.messages.items()]

    def parts_of(self, message_id: str) -> list[AnyPart]:
        """Return the parts of a message, in order; a growing text with all of its content."""
        return [self._now(part) for part in self.parts.get(message_id, {}).values()]

    def _now(self, part: AnyPart) -> AnyPart:
        live = self.growing.get(part.id)
        return part if live is None else live.record()

    def put_part(self, part: AnyPart) -> None:
        """Add or replace a part; ends its growth."""
        self.growing.pop(part.id, None)
        self.parts.setdefault(part.message_id, {})[part.id] = part

    def remove_part(self, message_id: str, part_id: str) -> None:
        """Remove a part."""
        self.growing.pop(part_id, None)
        self.parts.get(message_id, {}).pop(part_id, None)

    def remove_message(self, message_id: str) -> tuple[str, ...]:
        """Remove a message and its parts; return the ids of the parts."""
        self.messages.pop(message_id, None)
        parts = tuple(self.parts.pop(message_id, {}))
        for part_id in parts:
            self.growing.pop(part_id, None)
        return parts


@dataclass(slots=True)
class Loaded:
    """Messages in order, and the records that could not be read; `is_copying`: some messages came from the source of the fork."""

    messages: list[MessageWithParts] = field(default_factory=list[MessageWithParts])
    damaged: list[StorageError] = field(default_factory=list[StorageError])
    is_copying: bool = False

    def opened(self) -> OpenRecords:
        """Return the records of an open session."""
        return OpenRecords(
            messages={message.info.id: message.info for message in self.messages},
            parts={message.info.id: {part.id: part for part in message.parts} for message in self.messages},
        )


def load_session(storage: Storage, session_id: str, session: Key | None = None) -> Loaded:
    """Read all messages with their parts, oldest first; `session` is the key of the session's record, if it has one."""
    history = open_history(storage, session, session_id)
    return _load(storage, history, session_id, history.names(), None)


def load_tail(storage: Storage, session_id: str, limit: int, session: Key | None = None) -> Loaded:
    """Read the newest `limit` messages with their parts, oldest first; all of them when their names do not give the order."""
    history = open_history(storage, session, session_id)
    return _load(storage, history, session_id, history.names(), limit)


def _load(storage: Storage, history: StoredHistory, session_id: str, names: Sequence[str], limit: int | None) -> Loaded:
    loaded = Loaded(is_copying=history.is_copying)
    is_wrapped = spans_wrap(names)
    wanted = names if limit is None or is_wrapped else names[-limit:]
    messages: list[AnyMessage] = []
    for name in wanted:
        try:
            messages.append(MESSAGE.validate_json(history.message(name)))
        except StorageError as error:
            loaded.damaged.append(error)
        except ValidationError as error:
            path = storage.path_of(("message", session_id, name))
            loaded.damaged.append(CorruptRecordError(path, describe_mismatch(error)))
    if is_wrapped:
        messages.sort(key=lambda message: (message.time.created, message.id))
        messages = messages if limit is None else messages[-limit:]
    loaded.messages = [with_parts(message, _read_parts(storage, history, message.id, loaded)) for message in messages]
    return loaded


def _read_parts(storage: Storage, history: StoredHistory, message_id: str, loaded: Loaded) -> list[AnyPart]:
    parts: list[AnyPart] = []
    found = history.parts(message_id)
    loaded.damaged.extend(found.failures)
    for key, data in found.records:
        try:
            parts.append(parse_part(data))
        except ValidationError as error:
            loaded.damaged.append(CorruptRecordError(storage.path_of(key), describe_mismatch(error)))
    names = [part.id for part in parts]
    if spans_wrap(names):
        parts.sort(key=_rotated)
    return parts


def _rotated(part: AnyPart) -> tuple[bool, int, str]:
    """Return the sort key of a part across an overflow of the time field: small values are newer; ids without one come first."""
    value = time_field(part.id)
    if value is None:
        return (False, 0, part.id)
    return (True, value + (_HALF_FIELD * 2 if value < _HALF_FIELD else 0), part.id)


class Publisher:
    """Publishes the events of sessions. Events of sessions without a bound folder go to the whole process."""

    def __init__(self, *, bus: Bus) -> None:
        self._bus = bus
        self._directories: dict[str, str] = {}

    def bind(self, session_id: str, directory: str) -> None:
        """Publish the events of this session under the instance of `directory` from now on."""
        self._directories[session_id] = directory

    def directory_of(self, session_id: str) -> str:
        """Return the folder that a session is bound to, empty without one."""
        return self._directories.get(session_id, "")

    def publish(self, event: Event) -> None:
        """Publish; returns at once."""
        self._bus.publish(event, directory=self._directories.get(session_of(event), ""))


logger = logging.getLogger(__name__)

_DIFFS: TypeAdapter[list[FileDiff]] = TypeAdapter(list[FileDiff], config=ConfigDict(defer_build=True))

SIBLINGS = ("session_diff", "todo", "share", "session_share", "session_prefix")
"""Kinds of records that each session has at most one of, and that are deleted with it."""


class SessionStore:
    """Reads and writes sessions, messages and parts. Call all methods on the event loop's thread."""

    def __init__(
        self,
        *,
        storage: Storage,
        locks: Locks,
        index: SessionIndex,
        publisher: Publisher,
        clock: Clock,
        resume_copy: Callable[[str], None] | None = None,
    ) -> None:
        """`resume_copy` is called with the id of each incomplete fork that was read."""
        self._copy_on = resume_copy
        self._storage = storage
        self._locks = locks
        self._index = index
        self._publisher = publisher
        self._clock = clock
        self._projects: dict[str, str] = {}
        self._open: OrderedDict[str, OpenRecords] = OrderedDict()
        self._prefixes: dict[str, SessionPrefix] = {}

    async def create(self, info: SessionInfo) -> SessionInfo:
        """Store a new session and publish it."""
        self._remember(info)
        await self._storage.write(self._key(info), info.to_json())
        self._admit(info.id, OpenRecords())
        self._publisher.publish(SessionCreated.trusted(info=info))
        self._publisher.publish(SessionUpdated.trusted(info=info))
        return info

    async def get(self, session_id: str) -> SessionInfo:
        """Return a session's record as it is on disk; raises NotFoundError or CorruptRecordError."""
        key = await self._locate(session_id)
        return self._parse(key, await self._storage.read(key))

    def look(self, session_id: str) -> SessionInfo | None:
        """Return what `get` returns for a session whose path is known, None for any other. Blocks for one small file."""
        project_id = self._projects.get(session_id)
        if project_id is None:
            return None
        key = ("session", project_id, session_id)
        return self._parse(key, self._storage.read_sync(key))

    async def sessions(self, project_id: str) -> list[SessionInfo]:
        """Return a project's sessions, newest first; damaged records are logged and skipped."""
        listing = await asyncio.to_thread(self._index.list, project_id)
        for problem in listing.damaged:
            logger.warning("skipped in the list: %s", problem)
        for info in listing.sessions:
            self._projects[info.id] = info.project_id
        return listing.sessions

    async def root_of(self, session_id: str) -> str:
        """Return the top session above a session, itself where it has no parent that exists."""
        seen = {session_id}
        while True:
            try:
                parent = (await self.get(session_id)).parent_id
            except NotFoundError:
                return session_id
            if parent is None or parent in seen:
                return session_id
            session_id = parent
            seen.add(parent)

    async def children(self, session_id: str) -> list[SessionInfo]:
        """Return the sessions whose parent this is, newest first."""
        info = await self.get(session_id)
        return [child for child in await self.sessions(info.project_id) if child.parent_id == session_id]

    async def update(
        self, session_id: str, change: Callable[[SessionInfo], SessionInfo], *, touch: bool = True
    ) -> SessionInfo:
        """Change a session's record under its write lock and publish it; `touch` updates `time.updated`."""
        key = await self._locate(session_id)

        def apply(data: JsonObject) -> JsonObject:
            info = change(self._read_info(key, json.dumps(data).encode()))
            if touch:
                info = info.changed(time=info.time.changed(updated=self._clock()))
            return info.to_dict()

        data = await self._storage.update(key, apply, self._locks.session_write(session_id))
        info = SessionInfo.model_validate(data)
        self._publisher.publish(SessionUpdated.trusted(info=info))
        return info

    async def remove(self, session_id: str) -> None:
        """Delete a session, its children first, with everything that belongs to it; its record last."""
        info = await self.get(session_id)
        for child in await self.children(session_id):
            await self.remove(child.id)
        for key in await self._storage.list(("message", session_id)):
            await self._storage.remove_tree(("part", key[-1]))
        await self._storage.remove_tree(("message", session_id))
        for kind in SIBLINGS:
            await self._storage.remove((kind, session_id))
        await self._storage.remove(self._key(info))
        self.drop(session_id)
        self._publisher.publish(SessionDeleted(info=info))

    async def open(self, session_id: str) -> None:
        """Load a session's records into memory unless they are loaded; closes idle sessions over the limits."""
        if session_id in self._open:
            self._open.move_to_end(session_id)
            return
        loaded = await asyncio.to_thread(load_session, self._storage, session_id, await self._find(session_id))
        self._note(session_id, loaded)
        if session_id not in self._open:  # else another task was faster, and may have changed records since
            self._admit(session_id, loaded.opened())

    def drop(self, session_id: str) -> None:
        """Drop the records in memory, because another process has changed them."""
        self._open.pop(session_id, None)
        self._prefixes.pop(session_id, None)

    async def messages(self, session_id: str) -> list[MessageWithParts]:
        """Return all messages with their parts, oldest first; opens the session."""
        await self.open(session_id)
        return self._open[session_id].together()

    def message_ids(self, session_id: str) -> KeysView[str] | None:
        """Return the ids of an open session's messages in order, None when it is not open."""
        records = self._open.get(session_id)
        return records.messages.keys() if records is not None else None

    def parts(self, session_id: str, message_id: str) -> list[AnyPart]:
        """Return the parts of a message of an open session, in order."""
        records = self._open.get(session_id)
        return records.parts_of(message_id) if records is not None else []

    async def tail(self, session_id: str, limit: int) -> list[MessageWithParts]:
        """Return the newest `limit` messages, oldest first, reading no others from the disk."""
        if session_id in self._open:
            return (await self.messages(session_id))[-limit:]
        loaded = await asyncio.to_thread(load_tail, self._storage, session_id, limit, await self._find(session_id))
        self._note(session_id, loaded)
        return loaded.messages

    def report_failure(self, session_id: str, error: StoredError) -> None:
        """Publish that a turn ended with an error that a message has already."""
        self._publisher.publish(SessionFailed(session_id=session_id, error=error))

    async def update_message(self, info: AnyMessage) -> None:
        """Store a message, new or changed, and publish it."""
        await self._storage.write(("message", info.session_id, info.id), info.to_json())
        if (records := self._open.get(info.session_id)) is not None:
            records.messages[info.id] = info
        self._publisher.publish(MessageUpdated.trusted(info=info))

    async def add_message(self, info: AnyMessage, parts: Sequence[AnyPart]) -> None:
        """Store a new message, then its parts, and publish them."""
        await self.update_message(info)
        for part in parts:
            await self.update_part(part)

    async def update_part(self, part: AnyPart) -> None:
        """Store a part, new or with a new state, and publish it; ends its growth."""
        await self._storage.write(("part", part.message_id, part.id), part.to_json())
        if (records := self._open.get(part.session_id)) is not None:
            records.put_part(part)
        self._publisher.publish(PartUpdated.trusted(part=part))

    def grow_part(self, session_id: str, message_id: str, live: LiveText, delta: str) -> None:
        """Publish appended text and write the part later; readers get it immediately."""
        if (records := self._open.get(session_id)) is not None:
            records.growing[live.id] = live
        self._storage.write_behind(("part", message_id, live.id), lambda: live.record().to_json())
        self._publisher.publish(PartGrowth(session_id, message_id, live.id, delta, live.publish(delta)))

    def progress_part(self, live: LiveTool) -> None:
        """Publish a running tool's progress and write its part later."""
        part = live.part
        if (records := self._open.get(part.session_id)) is not None:
            records.put_part(part)
        self._storage.write_behind(("part", part.message_id, part.id), lambda: live.part.to_json())
        self._publisher.publish(PartProgress(part.session_id, part.message_id, part.id, live))

    async def remove_part(self, session_id: str, message_id: str, part_id: str) -> None:
        """Delete a part and publish that."""
        await self._storage.remove(("part", message_id, part_id))
        if (records := self._open.get(session_id)) is not None:
            records.remove_part(message_id, part_id)
        self._publisher.publish(PartRemoved(session_id=session_id, message_id=message_id, part_id=part_id))

    async def withdraw_message(self, session_id: str, message_id: str) -> None:
        """Delete a message that no step has read: first in memory, then on disk, then publish it."""
        await self.open(session_id)  # does not yield when it is open: no step reads the message from here on
        parts = self._open[session_id].remove_message(message_id)
        await self._storage.remove_tree(("part", message_id))
        await self._storage.remove(("message", session_id, message_id))
        for part_id in parts:
            self._publisher.publish(PartRemoved(session_id=session_id, message_id=message_id, part_id=part_id))
        self._publisher.publish(MessageRemoved(session_id=session_id, message_id=message_id))

    async def remove_message(self, session_id: str, message_id: str) -> None:
        """Delete a message after its parts and publish each deletion."""
        await self.open(session_id)
        for part_id in tuple(self._open[session_id].parts.get(message_id, {})):
            await self.remove_part(session_id, message_id, part_id)
        await self._storage.remove_tree(("part", message_id))
        await self._storage.remove(("message", session_id, message_id))
        if (records := self._open.get(session_id)) is not None:
            records.remove_message(message_id)
        self._publisher.publish(MessageRemoved(session_id=session_id, message_id=message_id))

    async def diff(self, session_id: str) -> list[FileDiff]:
        """Return the session's changes of files as last summarized; empty before that."""
        try:
            data = await self._storage.read(("session_diff", session_id))
        except NotFoundError:
            return []
        return _DIFFS.validate_json(data)

    async def write_diff(self, session_id: str, diff: list[FileDiff]) -> None:
        """Store the session's changes of files; needs the run lock."""
        data = _DIFFS.dump_json(diff, by_alias=True, indent=2)
        await self._storage.write(("session_diff", session_id), data)

    async def prefix(self, session_id: str) -> SessionPrefix | None:
        """Return what the session's requests start with; None without a record, or when it is damaged."""
        known = self._prefixes.get(session_id)
        if known is None:
            try:
                data = await self._storage.read(("session_prefix", session_id))
                known = SessionPrefix.model_validate_json(data)
            except NotFoundError:
                return None
            except (StorageError, ValidationError) as error:
                logger.warning("the start of the requests of session %s is made anew: %s", session_id, error)
                return None
            self._keep_if_open(session_id, known)
        return known

    async def write_prefix(self, session_id: str, prefix: SessionPrefix) -> None:
        """Store what the session's requests start with; needs the run lock, but for a session that is being created."""
        await self._storage.write(("session_prefix", session_id), prefix.to_json())
        self._keep_if_open(session_id, prefix)

    def keep_prefix(self, session_id: str, prefix: SessionPrefix) -> None:
        """Keep a change in memory: the next `write_prefix` stores it. Needs the run lock."""
        self._prefixes[session_id] = prefix

    async def remove_prefix(self, session_id: str) -> None:
        """Delete what the session's requests start with: the next request makes it anew. Needs the run lock."""
        self._prefixes.pop(session_id, None)
        await self._storage.remove(("session_prefix", session_id))

    async def flush(self) -> None:
        """Write everything that is queued."""
        await self._storage.flush()

    async def sync(self) -> None:
        """Sync what was written since the last call to the disk; called at the end of a step."""
        await self._storage.flush()
        await self._storage.sync()

    def _keep_if_open(self, session_id: str, prefix: SessionPrefix) -> None:
        if session_id in self._open:
            self._prefixes[session_id] = prefix

    def _admit(self, session_id: str, records: OpenRecords) -> None:
        """Keep a session's records in memory, and close idle sessions over the limits, the longest unused first."""
        self._open[session_id] = records
        self._open.move_to_end(session_id)
        count = sum(map(len, self._open.values()))
        for other in tuple(self._open)[:-MIN_SESSIONS]:
            if count <= MAX_RECORDS and len(self._open) <= MAX_SESSIONS:
                return
            if not self._locks.holds_run(other):
                count -= len(self._open[other])
                self.drop(other)

    def _remember(self, info: SessionInfo) -> None:
        self._projects[info.id] = info.project_id
        self._publisher.bind(info.id, info.directory)

    def _parse(self, key: Key, data: bytes) -> SessionInfo:
        info = self._read_info(key, data)
        self._remember(info)
        return info

    def _read_info(self, key: Key, data: bytes) -> SessionInfo:
        path, project_id = self._storage.path_of(key), key[1]
        return parse_session(data, path=path, project_id=project_id, worktree=lambda: self._index.worktree(project_id))

    @staticmethod
    def _key(info: SessionInfo) -> Key:
        return ("session", info.project_id, info.id)

    async def _locate(self, session_id: str) -> Key:
        known = self._projects.get(session_id)
        if known is not None:
            return ("session", known, session_id)
        for key in await self._storage.list(("session",)):
            if key[-1] == session_id:
                self._projects[session_id] = key[1]
                return key
        raise NotFoundError(f"no session {session_id}; see `opencode-tui session list`")

    async def _find(self, session_id: str) -> Key | None:
        """Return the key of a session's record, None when there is none."""
        try:
            return await self._locate(session_id)
        except NotFoundError:
            return None

    def _note(self, session_id: str, loaded: Loaded) -> None:
        for problem in loaded.damaged:
            logger.warning("session %s: %s", session_id, problem)
        if loaded.is_copying and self._copy_on is not None:
            self._copy_on(session_id)
