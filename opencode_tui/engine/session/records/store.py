"""Reads sessions, messages and parts, and writes the records of sessions; messages and parts change through `locked` only.

Write first, then publish: a reader that reacts to an event finds the file. Only how a run ended is published although the disk
fails, and written when that works again. The records of open sessions, those that run and those used last, are kept in memory and
written through; growing text is written later (docs/internals/session.md#storage). Messages and parts change only under the
session's run lock, by its `SessionWriter`; the session record changes under its write lock. Order: docs/internals/session.md#ids.

Messages are read in four ways, all with what this process changed last, without what another one withdrew:

* `named`: single messages, by ID;
* `tail`: the newest, or all, which reads from the disk what is not in memory, and keeps none of it there;
* `recent`: what a run needs, from the last compaction on; they are kept in memory;
* `messages`: all of them, kept in memory.

`parts` and `message_ids` return what these keep; `stored` reads all as they are on the disk, for a thread.
"""

import asyncio
import json
import logging
import sys
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Container,
    Iterable,
    Iterator,
    KeysView,
    Sequence,
    Set,
)
from contextlib import asynccontextmanager

from opencode_tui.engine.session.records.loading import (
    Loaded,
    load_named,
    load_recent,
    load_session,
    load_tail,
    read_groups,
    read_requests,
)
from opencode_tui.engine.session.records.open_records import OpenRecords, Publisher, opened
from opencode_tui.engine.session.records.request_records import KIND, RequestRecords
from opencode_tui.engine.session.records.stored_history import StoredHistory, find_session
from opencode_tui.engine.session.records.writer import SessionWriter, SharedRecords
from opencode_tui.engine.waits import waiting
from opencode_tui.schema.error import NotFoundError, SessionError, StorageError, UnlockedError
from opencode_tui.schema.event.event import (
    MessageRemoved,
    SessionCreated,
    SessionDeleted,
    SessionFailed,
    SessionUpdated,
)
from opencode_tui.schema.ids import Identifier, spans_wrap
from opencode_tui.schema.record import JsonObject, Reader, ValidationError
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.schema.session.message import UserMessage, is_waiting
from opencode_tui.schema.session.outline import OutlinedMessage
from opencode_tui.schema.session.part import AnyPart
from opencode_tui.schema.session.prefix import SessionPrefix
from opencode_tui.schema.session.session import SessionInfo, fork_origin
from opencode_tui.schema.session.stored_error import StoredError
from opencode_tui.storage.keys import Key, is_segment
from opencode_tui.storage.locks import Locks, Seen
from opencode_tui.storage.process_lock import RunGrant, RunLock
from opencode_tui.storage.session_index import SessionIndex, SessionListing
from opencode_tui.storage.session_record import parse_session
from opencode_tui.storage.storage import Storage

MAX_RECORDS = 3_000
"""Messages and parts in memory, about 8 MB, over which idle sessions are closed; a session of 50 turns has some 500."""

MAX_SESSIONS, MIN_SESSIONS = 16, 2
"""Sessions that are open at most while they are idle, and those that stay open however long they are."""

logger = logging.getLogger(__name__)

_DIFFS: Reader[list[FileDiff]] = Reader(list[FileDiff])

SIBLINGS = ("session_diff", "todo", "share", "session_share", "session_prefix", KIND)
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
        identifier: Identifier,
    ) -> None:
        """`identifier` makes the ids of new records, behind those that were read here."""
        self._storage = storage
        self._locks = locks
        self._index = index
        self._publisher = publisher
        self._identifier = identifier
        self._projects: dict[str, str] = {}
        self._shared = SharedRecords()
        self._open, self._prefixes = self._shared.open, self._shared.prefixes
        self._requests = RequestRecords(storage, locks)
        self._writers: dict[str, SessionWriter] = {}
        """The writers of the sessions whose run lock this process holds."""

    @asynccontextmanager
    async def locked(
        self, session_id: str, acquire: Callable[[RunLock], Awaitable[RunGrant]] = RunLock.try_acquire_on_thread
    ) -> AsyncGenerator[SessionWriter]:
        """Hold the run lock of a session, and yield what alone changes its messages and parts; it ends with the context.

        What another process changed since is dropped from memory, and what it withdrew is removed. `acquire` acquires the lock.
        Raises BusyError while another holder has it, StorageError.
        """
        lock = self._locks.session_run(session_id)
        grant = await acquire(lock)
        try:
            records = self._open.get(session_id)
            if grant.was_elsewhere or (records is not None and not records.is_whole):
                self.drop(session_id)
            writer = self._writers[session_id] = SessionWriter(
                session_id,
                shared=self._shared,
                storage=self._storage,
                requests=self._requests,
                publisher=self._publisher,
                identifier=self._identifier,
                load=self._open_recent,
                load_all=self._open_whole,
            )
            try:
                await writer.carry_out_left()
                yield writer
            finally:
                writer.close()
                del self._writers[session_id]
                await self._storage.wait_left()
        finally:
            await lock.release_on_thread()

    def writer(self, session_id: str) -> SessionWriter:
        """Return what changes the messages of a session whose run lock this process holds, for the work under that lock.

        Raises UnlockedError where it does not.
        """
        writer = self._writers.get(session_id)
        if writer is None:
            raise UnlockedError(
                f"session {session_id} is not locked: its messages change only in a run, or with its lock"
            )
        return writer

    async def stored_id(self, session_id: str, message_id: str) -> str:
        """Return the id of the request to which a client gave this one; that id where no other one is known."""
        return (await self._requests.read(session_id)).names.get(message_id, message_id)

    async def withdraw_elsewhere(self, session_id: str, message_id: str) -> bool:
        """Let no process answer a request that waits; for a session that another one runs. Returns False when it does not wait."""
        if not await self._requests.withdraw(session_id, message_id):
            return False
        self.drop(session_id)
        self._publisher.publish(MessageRemoved(session_id=session_id, message_id=message_id))
        return True

    async def create(self, info: SessionInfo, *, prefix: SessionPrefix | None = None) -> SessionInfo:
        """Store a new session and publish it; `prefix` is what its requests start with."""
        self._remember(info)
        if prefix is not None:
            await self._storage.write(("session_prefix", info.id), prefix.to_json())
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
        return self._listed(await asyncio.to_thread(self._index.list, project_id))

    async def listed(self, project_id: str) -> list[ListedSession]:
        """Return a project's sessions as lists show them, newest first; damaged records are logged and skipped."""
        found, damaged = await asyncio.to_thread(self._index.listed, project_id)
        self._listed(SessionListing([], damaged))
        return found

    async def recent_sessions(
        self,
        project_id: str,
        limit: int,
        *,
        is_archived: bool = False,
        is_top: bool = False,
        accept: Callable[[SessionInfo], bool] = lambda _: True,
    ) -> list[SessionInfo]:
        """Return a project's sessions as `SessionIndex.recent` does; `accept` is called in another thread."""
        listing = await asyncio.to_thread(
            self._index.recent, project_id, limit, is_archived=is_archived, is_top=is_top, accept=accept
        )
        return self._listed(listing)

    def _listed(self, listing: SessionListing) -> list[SessionInfo]:
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
        listing = await asyncio.to_thread(self._index.children, info.project_id, session_id)
        return self._listed(listing)

    async def update(
        self, session_id: str, change: Callable[[SessionInfo], SessionInfo], *, touch: bool = True
    ) -> SessionInfo:
        """Change a session's record under its write lock and publish it; `touch` updates `time.updated`."""
        key = await self._locate(session_id)

        def apply(data: JsonObject) -> JsonObject:
            info = change(self._read_info(key, json.dumps(data).encode()))
            if touch:
                info = info.changed(time=info.time.changed(updated=self._identifier.clock()))
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

    async def _open_whole(self, session_id: str) -> None:
        """Load all of a session's records into memory unless they are loaded; closes idle sessions over the limits."""
        await self.refresh(session_id)
        await self._load(session_id, load_session)
        while (records := self._open.get(session_id)) is not None and records.older:
            names, changes = tuple(records.older), records.older_changes
            loaded = await self._read_named(session_id, names)
            if self._open.get(session_id) is records and records.older_changes == changes:
                records.put_before(opened(loaded, records.seen))
        await self._load(session_id, load_session)  # it may have been closed meanwhile

    async def _open_recent(self, session_id: str) -> None:
        """Do as `_open_whole`, but of a long session load only the messages from its last compaction on."""
        await self.refresh(session_id)
        await self._load(session_id, load_recent)

    async def _load(self, session_id: str, load: Callable[[Storage, str], Loaded]) -> None:
        """Load a session unless it is in memory, whole or in part."""
        while session_id not in self._open:
            removals = self._shared.removals[session_id]
            seen = await asyncio.to_thread(self._locks.look, session_id)
            loaded = await self._read(session_id, lambda: load(self._storage, session_id))
            if session_id in self._open:
                break  # another task was faster, and may have changed records since
            is_same_run = seen.own == self._locks.own_generation(
                session_id
            )  # else one began, which needs what is there now
            if is_same_run and removals == self._shared.removals[session_id]:
                self._admit(session_id, opened(loaded, seen))
        self._open.move_to_end(session_id)

    async def refresh(self, session_id: str) -> None:
        """Drop the records in memory where another process may have changed them since; reads a small file or two.

        While this process runs the session nobody else may. Then this reads nothing and does not yield.
        """
        records = self._open.get(session_id)
        if records is None or self._locks.holds_run(session_id):
            return
        unread = {name for name, info in records.messages.items() if is_waiting(info)}
        is_current = records.is_whole and await asyncio.to_thread(self._is_current, session_id, records.seen, unread)
        if not is_current and self._open.get(session_id) is records and not self._locks.holds_run(session_id):
            self.drop(session_id)

    def _is_current(self, session_id: str, seen: Seen, unread: Set[str]) -> bool:
        """Return whether no other process has run the session since, nor withdrawn one of these requests. Blocks."""
        return self._locks.is_current(session_id, seen) and not self._requests.withdraws(session_id, unread)

    async def _read_named(self, session_id: str, names: Sequence[str]) -> Loaded:
        return await self._read(session_id, lambda: load_named(self._storage, session_id, names))

    async def _read(self, session_id: str, load: Callable[[], Loaded]) -> Loaded:
        """Read messages from the disk, without those that were withdrawn.

        With the run lock raises StorageError where one could not be read and may be whole: what follows would build on less.
        """
        loaded = await asyncio.to_thread(lambda: self._requests.hide(session_id, load()))
        self._note(session_id, loaded)
        if loaded.unknown and self._locks.holds_run(session_id):
            raise loaded.unknown[0]
        return loaded

    def release_older(self, session_id: str) -> None:
        """Leave the messages before the last finished compaction on disk, as `recent` reads them. Needs the run lock.

        What is not on the disk yet stays in memory, with all after it.
        """
        if (records := self._open.get(session_id)) is not None:
            records.release({key[-1] if key[0] == "message" else key[1] for key in self._storage.pending()})

    def drop(self, session_id: str) -> None:
        """Drop the records in memory, because another process has changed them."""
        self._open.pop(session_id, None)
        self._prefixes.pop(session_id, None)

    async def messages(self, session_id: str) -> list[MessageWithParts]:
        """Return all messages with their parts, oldest first; opens the session."""
        await self._open_whole(session_id)
        return self._open[session_id].together()

    async def recent(self, session_id: str) -> list[MessageWithParts]:
        """Return the messages from the last compaction on, and some before it, oldest first; of a short session all.

        They are what a run needs: `filter_compacted` returns the same of them as of all messages.
        """
        await self._open_recent(session_id)
        return self._open[session_id].together()

    async def stored(self, session_id: str) -> Iterator[MessageWithParts]:
        """Return all messages with their parts as they are on disk, oldest first, for a thread that may block.

        They are read while the caller goes on, also after the store is closed.
        """

        def read() -> Iterator[MessageWithParts]:
            for loaded in read_groups(self._storage, session_id):
                self._report_damaged(session_id, loaded)
                yield from loaded.messages

        return read()

    async def sum_up_older(
        self, session_id: str, sum_up: Callable[[Sequence[FileDiff], Iterable[UserMessage]], list[FileDiff] | None]
    ) -> list[FileDiff] | None:
        """Return what `sum_up`, called on another thread, makes of the requests before those that `recent` returns.

        It gets the sum of earlier requests and those that follow; it is called for each request once while these stay on disk only.
        A sum of None is one of all that follow, too.
        """
        await self._open_recent(session_id)
        records = self._open[session_id]
        if not records.older:
            return []
        known, changes, added = records.older_sum, records.older_changes, records.unsummed
        if known is not None and known[0] == changes and (known[1] is None or not added):
            return known[1]
        records.older_sum, records.unsummed = None, []
        if known is not None and known[0] == changes:
            found = await asyncio.to_thread(sum_up, known[1] or (), added)
        else:
            names = tuple(records.older)
            found = await asyncio.to_thread(lambda: sum_up((), read_requests(self._storage, session_id, names)))
        records.older_sum = (changes, found)
        return found

    def message_ids(self, session_id: str) -> KeysView[str] | None:
        """Return the ids of an open session's messages in order, None when it is not open."""
        records = self._open.get(session_id)
        if records is not None and records.older:
            return dict.fromkeys([*records.older, *records.messages]).keys()
        return records.messages.keys() if records is not None else None

    async def ids(self, session_id: str) -> list[str]:
        """Return the ids of a session's messages, oldest first; their records are read only where the ids do not give the order."""
        await self.refresh(session_id)
        known = self.message_ids(session_id)
        if known is not None:
            return list(known)
        names = await asyncio.to_thread(StoredHistory(self._storage, session_id).names)
        return [one.info.id for one in await self.tail(session_id)] if spans_wrap(names) else names

    def parts(self, session_id: str, message_id: str) -> list[AnyPart]:
        """Return the parts of a message of an open session that is in memory, in order."""
        records = self._open.get(session_id)
        return records.parts_of(message_id) if records is not None else []

    async def tail(
        self, session_id: str, limit: int = sys.maxsize, *, is_fresh: bool = False
    ) -> list[MessageWithParts]:
        """Return the newest `limit` messages, or all, oldest first, reading no others from the disk; `is_fresh` after a `refresh`.

        Raises SessionError for a limit below 0.
        """
        if limit < 0:
            raise SessionError(f"{limit} is no number of messages; give 0 or more, or no limit for all of them")
        if limit == 0:
            return []
        if not is_fresh:
            await self.refresh(session_id)
        while (records := self._open.get(session_id)) is not None:
            self._open.move_to_end(session_id)
            missing = min(limit - len(records.messages), len(records.older))
            names = tuple(records.older)[-missing:] if missing > 0 else ()
            older = (await self._read_named(session_id, names)).messages if names else []
            if not names or tuple(records.older)[-len(names) :] == names:  # else other messages are in memory now
                return [*older, *records.together()][-limit:]
        loaded = await self._read(session_id, lambda: load_tail(self._storage, session_id, limit))
        return loaded.messages

    async def named(self, session_id: str, ids: Sequence[str]) -> list[MessageWithParts]:
        """Return these messages with their parts, in this order, reading no others; those that are removed are left out."""
        await self.refresh(session_id)
        found = self._in_memory(session_id, ids)
        if missing := [one for one in ids if one not in found]:
            loaded = await self._read_named(session_id, missing)
            found |= {one.info.id: one for one in loaded.messages}
            found |= self._in_memory(session_id, ids)  # a message may have been changed meanwhile
        return [found[one] for one in ids if one in found]

    async def outlines(self, session_id: str, ids: Sequence[str]) -> list[OutlinedMessage]:
        """Return these messages in outline, in this order; all of those that are in memory, or not there, has to be read."""
        from opencode_tui.engine.session.records.outline import read_outlines  # only a timeline needs its types

        await self.refresh(session_id)
        known = self._known(session_id)
        missing = [one for one in ids if one not in known]
        found = await asyncio.to_thread(read_outlines, self._storage, session_id, missing)
        known = self._known(session_id)  # a message may have been changed meanwhile
        outlines = {one.id: one for one in found if one.id not in known}
        return [outlines.get(one) or OutlinedMessage(one, is_partial=True) for one in ids]

    def _known(self, session_id: str) -> Container[str]:
        """Return the names of the messages that are in memory."""
        records = self._open.get(session_id)
        return records.messages if records is not None else ()

    def _in_memory(self, session_id: str, ids: Iterable[str]) -> dict[str, MessageWithParts]:
        """Return those of these messages that are in memory, by id."""
        records = self._open.get(session_id)
        known = records.messages if records is not None else {}
        return {one: with_parts(known[one], self.parts(session_id, one)) for one in ids if one in known}

    def report_failure(self, session_id: str, error: StoredError) -> None:
        """Publish that a turn ended with an error that a message has already."""
        self._publisher.publish(SessionFailed(session_id=session_id, error=error))

    def held_path(self, seconds: float) -> str:
        """Return the file that the disk has not ended to write for so long, else an empty text."""
        return self._storage.held_path(seconds)

    async def diff(self, session_id: str) -> list[FileDiff]:
        """Return the session's changes of files as last summarized; empty before that."""
        try:
            data = await self._storage.read(("session_diff", session_id))
        except NotFoundError:
            return []
        return _DIFFS.validate_json(data)

    async def prefix(self, session_id: str) -> SessionPrefix | None:
        """Return what the session's requests start with; None without a record, or when it is damaged."""
        await self.refresh(session_id)
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
            if session_id in self._open:
                self._prefixes[session_id] = known
        return known

    async def flush(self) -> None:
        """Write everything that is queued."""
        await self._storage.flush()

    async def sync(self) -> None:
        """Sync what was written since the last call to the disk; called at the end of a step."""
        with waiting("disk", self._storage.held_path, limit_s=None):
            await self._storage.flush()
            await self._storage.sync()

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
        if fork_origin(info) is not None:
            self._identifier.observe_session(info.id)  # `own_from` says why
        self._projects[info.id] = info.project_id
        self._publisher.bind(info.id, info.directory, info.parent_id)

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
        key = await asyncio.to_thread(find_session, self._storage, session_id) if is_segment(session_id) else None
        if key is not None:
            self._projects[session_id] = key[1]
            return key
        raise NotFoundError(f"no session {session_id}; see `opencode-tui session list`")

    def _note(self, session_id: str, loaded: Loaded) -> None:
        self._identifier.observe_made(loaded.made())
        self._report_damaged(session_id, loaded)

    @staticmethod
    def _report_damaged(session_id: str, loaded: Loaded) -> None:
        for problem in loaded.damaged:
            logger.warning("session %s: %s", session_id, problem)
