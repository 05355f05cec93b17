"""The one way to change the messages and parts of a session: `SessionStore.locked` makes a writer and closes it.

While it is open this process holds the session's run lock, and has dropped what another process changed. A closed one refuses.
What writes several records, or a record and the memory, is done to its end although its caller is canceled. After a kill a
message is there with all its parts or not at all: it is written after its parts, and a request that waits is removed before them.
What an undo hides is removed the other way round: who repeats the removal finds the message, and with it the parts that are left.
"""

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from opencode_tui.engine.session.records.open_records import LiveText, LiveTool, OpenRecords, Publisher
from opencode_tui.engine.session.records.request_records import RequestRecords
from opencode_tui.engine.waits import waiting
from opencode_tui.schema.error import IdInUseError, SessionError, StorageError, UnlockedError
from opencode_tui.schema.event.event import (
    MessageRemoved,
    MessageUpdated,
    PartGrowth,
    PartProgress,
    PartRemoved,
    PartUpdated,
)
from opencode_tui.schema.ids import Identifier, is_before, time_field
from opencode_tui.schema.record import plain
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AnyMessage, MessageTime, UserMessage
from opencode_tui.schema.session.part import AnyPart, ToolPart
from opencode_tui.schema.session.prefix import SessionPrefix
from opencode_tui.storage.keys import Key
from opencode_tui.storage.storage import Storage

T = TypeVar("T")

logger = logging.getLogger(__name__)


class SharedRecords(Struct, frozen=True):
    """What the store and its writers share: the records in memory, and the ids of requests that are being stored."""

    open: OrderedDict[str, OpenRecords] = field(default_factory=OrderedDict[str, OpenRecords])
    prefixes: dict[str, SessionPrefix] = field(default_factory=dict[str, SessionPrefix])
    storing: set[str] = field(default_factory=set[str])
    removals: Counter[str] = field(default_factory=Counter[str])
    """How many messages of a session were removed, so that whoever reads its records meanwhile reads them again."""


class SessionWriter:
    """Writes the messages and parts of one session, and publishes them: first the record, then the event."""

    def __init__(
        self,
        session_id: str,
        *,
        shared: SharedRecords,
        storage: Storage,
        requests: RequestRecords,
        publisher: Publisher,
        identifier: Identifier,
        load: Callable[[str], Awaitable[None]],
        load_all: Callable[[str], Awaitable[None]],
    ) -> None:
        """`load` reads the newest messages of a session into memory, `load_all` all of them."""
        self.session_id = session_id
        self._shared = shared
        self._storage = storage
        self._requests = requests
        self._publisher = publisher
        self._identifier = identifier
        self._load = load
        self._load_all = load_all
        self._is_open = True

    @property
    def is_open(self) -> bool:
        """Return whether the session's run lock is still held."""
        return self._is_open

    def close(self) -> None:
        """Refuse every later change; called before the lock is released."""
        self._is_open = False

    async def add_request(self, info: UserMessage, parts: Sequence[AnyPart], *, given: str | None) -> UserMessage:
        """Store a request of a client behind all messages of the session, and return it as it is stored.

        `given` is the id that the client chose, which is kept unless it would sort before a message that is here, as where the
        client's clock is behind, or is too far ahead; the request then gets one of ours, and `SessionStore.stored_id` finds it by
        the client's. Raises IdInUseError where a message has that id already.
        """
        with self._reserved(given):
            if given is not None:
                await self.check_unused(given)
            await self._load(self.session_id)
            self._check(self.session_id)
            info, parts = self._in_order(info, parts)
            if given is not None and (given != info.id or info.delivery == "queue"):
                await self._requests.name(self.session_id, given, info.id)
            await self.add_message(info, parts)
        return info

    async def update_message(self, info: AnyMessage) -> None:
        """Store a message, new or changed, and publish it."""
        self._check(info.session_id)
        with self._waiting():
            await self._to_end(self._update_message(info))

    async def _update_message(self, info: AnyMessage) -> None:
        await self._storage.write(("message", info.session_id, info.id), info.to_json())
        self._put(info)

    def _put(self, info: AnyMessage) -> None:
        if (records := self._records) is not None:
            records.put_message(info)
        self._publisher.publish(MessageUpdated.trusted(info=info))

    async def add_message(self, info: AnyMessage, parts: Sequence[AnyPart]) -> None:
        """Store a new message after its parts, and publish them.

        Who reads the store sees the message with all its parts or not at all: a step that read a request without its text
        would answer it without that.
        """
        self._check(info.session_id)
        with self._waiting():
            await self._to_end(self._add_message(info, parts))

    async def _add_message(self, info: AnyMessage, parts: Sequence[AnyPart]) -> None:
        for part in parts:
            await self._storage.write(("part", part.message_id, part.id), part.to_json())
        await self._storage.write(("message", info.session_id, info.id), info.to_json())
        if (records := self._records) is not None:
            records.put_message(info)
            for part in parts:
                records.put_part(part)
        self._publisher.publish(MessageUpdated.trusted(info=info))
        for part in parts:
            self._publisher.publish(PartUpdated.trusted(part=part))

    async def release(self, old: MessageWithParts) -> UserMessage | None:
        """Store a request that waits as the newest message, under a new id, and remove the old one: its turn starts now.

        Returns None, and stores nothing, when it was withdrawn, in this process or another.
        """
        self._check(old.info.session_id)
        with self._waiting():
            return await self._to_end(self._release(old))

    async def _release(self, old: MessageWithParts) -> UserMessage | None:
        info = old.info
        assert isinstance(info, UserMessage)
        async with self._requests.locked(self.session_id) as kept:
            if info.id in kept.record.withdrawn:
                await self._delete(info.id)
                return None
            records = self._records
            if records is None or info.id not in records.messages:
                return None
            records.remove_message(info.id)  # from here on nobody can withdraw it
            time = MessageTime.trusted(created=self._identifier.clock())
            message = info.changed(id=self._identifier.ascending("msg"), time=time, delivery=None)
            parts = [part.changed(id=self._identifier.ascending("prt"), message_id=message.id) for part in old.parts]
            try:
                names = {one: message.id if id_ == info.id else id_ for one, id_ in kept.record.names.items()}
                await kept.write(kept.record.changed(names=names, releasing={info.id: message.id}))
                await self._add_message(message, parts)
            except StorageError:
                records.put_message(info)
                for part in old.parts:
                    records.put_part(part)
                raise
            await self._delete(info.id, [part.id for part in old.parts])
        return message

    async def withdraw(self, message_id: str) -> bool:
        """Delete a message that no step has read: first in memory, then on disk, then publish it; False when it is gone already."""
        await self._load(self.session_id)  # does not yield when it is open: no step reads the message from here on
        self._check(self.session_id)
        if (records := self._records) is not None and message_id in records.older:
            await self._load_all(self.session_id)
            self._check(self.session_id)
            records = self._records
        if records is None or message_id not in records.messages:
            return False
        parts = records.remove_message(message_id)
        await self._to_end(self._delete(message_id, parts))
        return True

    async def remove_message(self, message_id: str) -> None:
        """Delete a message after its parts and publish each deletion; after a kill in between call it again for the rest.

        For a message that nobody reads any more, as one that an undo hides. Raises StorageError; then it is still in memory.
        """
        await self._load_all(self.session_id)
        self._check(self.session_id)
        await self._to_end(self._remove_message(message_id))

    async def remove_left(self, message_id: str) -> None:
        """Delete a message that may be stored, or the parts that a kill left of it; does nothing where neither is there."""
        if await self._is_left(message_id):
            await self.remove_message(message_id)

    async def _remove_message(self, message_id: str) -> None:
        await self._storage.remove_tree(("part", message_id))
        await self._storage.remove(("message", self.session_id, message_id))
        self._publish_removal(
            message_id, () if (records := self._records) is None else records.remove_message(message_id)
        )

    async def _delete(self, message_id: str, parts: Sequence[str] = ()) -> None:
        """Delete a message in memory and on disk before its parts, and publish that; `parts` are those that are not in memory."""
        if (records := self._records) is not None:
            parts = [*parts, *records.remove_message(message_id)]
        await self._storage.remove(("message", self.session_id, message_id))
        await self._storage.remove_tree(("part", message_id))
        self._shared.removals[self.session_id] += 1
        if (records := self._records) is not None:  # they may have been read before the message was gone
            records.remove_message(message_id)
        self._publish_removal(message_id, parts)

    def _publish_removal(self, message_id: str, parts: Sequence[str]) -> None:
        for part_id in parts:
            self._publisher.publish(PartRemoved(session_id=self.session_id, message_id=message_id, part_id=part_id))
        self._publisher.publish(MessageRemoved(session_id=self.session_id, message_id=message_id))

    async def carry_out_left(self) -> None:
        """Remove requests that another process withdrew, and a waiting one that was stored again before a kill."""
        kept = await self._requests.read(self.session_id)
        if not kept.withdrawn and not kept.releasing:
            return
        gone = [old for old, new in kept.releasing.items() if await self._is_stored(new)]
        for message_id in dict.fromkeys([*kept.withdrawn, *gone]):
            if await self._is_left(message_id):
                await self._to_end(self._delete(message_id))

        await self._requests.change(self.session_id, lambda now: now.without(kept))

    async def update_part(self, part: AnyPart) -> None:
        """Store a part, new or with a new state, and publish it; ends its growth. A call that has ended does not begin again."""
        self._check(part.session_id)
        with self._waiting():
            await self._to_end(self._update_part(part))

    async def _update_part(self, part: AnyPart) -> None:
        if (records := self._records) is not None and records.is_late(part):
            return
        await self._storage.write(("part", part.message_id, part.id), part.to_json())
        if (records := self._records) is not None:
            if records.is_late(part):
                return  # its end came meanwhile, and is written after this
            records.put_part(part)
        self._publisher.publish(PartUpdated.trusted(part=part))

    async def close_part(self, part: AnyPart) -> None:
        """Store and publish how a part of a run ended. Where the disk fails readers get it all the same, and it is stored later."""
        try:
            await self.update_part(part)
        except StorageError as error:
            logger.warning("it is tried again until the program ends: %s", error)
            self.end_part(part)

    def end_part(self, part: AnyPart) -> None:
        """Publish how a part of an interrupted run ended, and store it with the next `sync`, or when the disk works."""
        self._check(part.session_id)
        if (records := self._records) is not None:
            records.put_part(part)
        self._write_later(("part", part.message_id, part.id), part.to_json)
        self._publisher.publish(PartUpdated.trusted(part=part))

    def end_message(self, info: AnyMessage) -> None:
        """Do for a message of a run what `end_part` does for a part."""
        self._check(info.session_id)
        self._write_later(("message", info.session_id, info.id), info.to_json)
        self._put(info)

    def _write_later(self, key: Key, render: Callable[[], bytes]) -> None:
        """Write a record as soon as the disk allows it."""
        with suppress(StorageError):  # the program ends
            self._storage.write_behind(key, render)

    def grow_part(self, message_id: str, live: LiveText, delta: str) -> None:
        """Publish appended text and write the part later; readers get it immediately."""
        self._check(self.session_id)
        if (records := self._records) is not None:
            records.growing[live.id] = live
        self._storage.write_behind(("part", message_id, live.id), lambda: live.record().to_json())
        self._publisher.publish(PartGrowth(self.session_id, message_id, live.id, delta, live.publish(delta).record))

    def progress_part(self, live: LiveTool) -> None:
        """Publish a running tool's progress and write its part later.

        An ended call makes none, and none is stored after the end of the run: what carried out the call may still be ending.
        """
        part = live.part
        if not self._is_open:
            return
        self._check(part.session_id)
        if (records := self._records) is not None:
            if records.is_late(part):
                return
            records.put_part(part)
        self._storage.write_behind(("part", part.message_id, part.id), lambda: live.part.to_json())
        self._publisher.publish(PartProgress(part.session_id, part.message_id, part.id, live.record))

    async def remove_part(self, message_id: str, part_id: str) -> None:
        """Delete a part and publish that."""
        self._check(self.session_id)
        await self._to_end(self._remove_part(message_id, part_id))

    async def _remove_part(self, message_id: str, part_id: str) -> None:
        records = self._records
        part = records.parts.get(message_id, {}).get(part_id) if records is not None else None
        await self._storage.remove(("part", message_id, part_id))
        if (records := self._records) is not None:
            records.remove_part(message_id, part_id)
        self._publisher.publish(PartRemoved(session_id=self.session_id, message_id=message_id, part_id=part_id))
        if part is None or isinstance(part, ToolPart):
            # Derived sums follow the messages: one call less is another message.
            key = ("message", self.session_id, message_id)
            await self._storage.write(key, await self._storage.read(key))

    async def write_diff(self, diff: list[FileDiff]) -> None:
        """Store the session's changes of files."""
        self._check(self.session_id)
        data = msgspec.json.format(msgspec.json.encode(diff, enc_hook=plain))
        await self._storage.write(("session_diff", self.session_id), data)

    async def write_prefix(self, prefix: SessionPrefix) -> None:
        """Store what the session's requests start with."""
        self._check(self.session_id)
        await self._storage.write(("session_prefix", self.session_id), prefix.to_json())
        if self.session_id in self._shared.open:
            self._shared.prefixes[self.session_id] = prefix

    def keep_prefix(self, prefix: SessionPrefix) -> None:
        """Keep a change of that in memory: the next `write_prefix` stores it."""
        self._check(self.session_id)
        self._shared.prefixes[self.session_id] = prefix

    @property
    def _records(self) -> OpenRecords | None:
        return self._shared.open.get(self.session_id)

    def _check(self, session_id: str) -> None:
        """Raise UnlockedError when the lock was released, SessionError for a record of another session."""
        if not self._is_open:
            raise UnlockedError(
                f"session {self.session_id} is not locked any more: its messages change only while this process has it; try again"
            )
        if session_id != self.session_id:
            raise SessionError(f"a record of session {session_id} cannot be stored under the lock of {self.session_id}")

    @contextmanager
    def _waiting(self) -> Generator[None]:
        with waiting("disk", self._storage.held_path, limit_s=None):
            yield

    async def _to_end(self, work: Coroutine[Any, Any, T]) -> T:
        return await self._storage.to_end(work)

    async def _is_stored(self, message_id: str) -> bool:
        path = self._storage.path_of(("message", self.session_id, message_id))
        return await asyncio.to_thread(self._storage.files.exists, path)

    async def _is_left(self, message_id: str) -> bool:
        """Return whether a message or parts of it are stored: a kill may have come between the two."""
        return await self._is_stored(message_id) or await self._requests.owner_of_parts(message_id) is not None

    @contextmanager
    def _reserved(self, given: str | None) -> Generator[None]:
        """Let no other request of this process be stored under the id meanwhile. Raises IdInUseError."""
        if given is None:
            yield
            return
        if given in self._shared.storing:
            raise IdInUseError(f"another request with the id {given} is being stored; send another id, or none")
        self._shared.storing.add(given)
        try:
            yield
        finally:
            self._shared.storing.discard(given)

    async def check_unused(self, given: str) -> None:
        """Raise IdInUseError when a message of any session has the id; delete what a kill left of a request that had it."""
        stored = (await self._requests.read(self.session_id)).names.get(given, given)
        if await self._is_stored(stored):
            raise IdInUseError(
                f"session {self.session_id} has another message with the id {given}; send another id, or none",
                session_id=self.session_id,
            )
        if (owner := await self._requests.owner_of_parts(given)) is None:
            return
        if owner != self.session_id:
            raise IdInUseError(f"a message of session {owner} has the id {given}; send another id, or none")
        await self._storage.remove_tree(("part", given))

    def _in_order(self, info: UserMessage, parts: Sequence[AnyPart]) -> tuple[UserMessage, list[AnyPart]]:
        """Return the request under ids that sort after all of the session, each part after the one before; new ones if needed."""
        records = self._records
        names = [] if records is None else [*records.older, *records.messages]
        if not self._is_usable(info.id) or (names and not is_before(names[-1], info.id)):
            info = info.changed(id=self._identifier.ascending("msg"))
        known = set[str]() if records is None else {one for here in records.parts.values() for one in here}
        is_kept = (
            known.isdisjoint(part.id for part in parts)
            and all(is_before(before.id, after.id) for before, after in pairwise(parts))
            and (len(parts) < 2 or all(self._is_usable(part.id) for part in parts))
        )
        self._identifier.observe([info.id, *(part.id for part in parts if is_kept)])
        if not is_kept:
            parts = [part.changed(id=self._identifier.ascending("prt")) for part in parts]
        return info, [part.changed(message_id=info.id) for part in parts]

    def _is_usable(self, identifier: str) -> bool:
        """Return whether later ids of ours will sort after an id."""
        return time_field(identifier) is not None and self._identifier.is_near(identifier)
