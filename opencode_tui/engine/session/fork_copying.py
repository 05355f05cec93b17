"""The copying itself: from a source's records to those of its fork, some messages at a time."""

import asyncio
import logging
from collections.abc import Sequence

from opencode_tui.engine.session.fork_history import ForkHistory, open_fork, unfinished
from opencode_tui.engine.session.publisher import Publisher
from opencode_tui.engine.session.stored_history import find_session
from opencode_tui.schema.error import CorruptRecordError, NotFoundError
from opencode_tui.schema.event import SessionUpdated
from opencode_tui.schema.fork import fork_origin, with_origin
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session import SessionInfo
from opencode_tui.storage.keys import Key
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.pending_copies import PendingCopies
from opencode_tui.storage.storage import Storage

_logger = logging.getLogger(__name__)

_BATCH = 8
"""Messages copied between two looks at whether the copy is to end; the writes of a run wait for one batch at the most."""

COPY_WAIT_MS = 600_000
"""How long to wait for another process that copies the same fork."""


class ForkCopying:
    """Copies forks of one store. Raises StorageError; what is done then stays, and is passed by the next time."""

    def __init__(self, *, storage: Storage, locks: Locks, pending: PendingCopies, publisher: Publisher) -> None:
        self._storage = storage
        self._locks = locks
        self._pending = pending
        self._publisher = publisher

    async def copy(self, fork_id: str) -> None:
        """Make a fork whole, unless another process has done so meanwhile."""
        lock = self._locks.session_copy(fork_id)
        await lock.acquire(COPY_WAIT_MS)
        try:
            await self.fix_end(fork_id)
            key = await asyncio.to_thread(find_session, self._storage, fork_id)
            history = await asyncio.to_thread(_open_unfinished, self._storage, key) if key else None
            if key is None or history is None:
                return
            if not history.inherited:
                _logger.warning("fork %s has nothing to copy: what it was forked from is empty or gone", fork_id)
            for start in range(0, len(history.inherited), _BATCH):
                names = history.inherited[start : start + _BATCH]
                await self._storage.write_missing(await asyncio.to_thread(_records, history, fork_id, names))
            await self._mark_whole(key)
        finally:
            lock.release()

    async def fix_end(self, fork_id: str) -> None:
        """Write down where a fork ends that takes over everything."""
        key = await asyncio.to_thread(find_session, self._storage, fork_id)
        origin = await asyncio.to_thread(unfinished, self._storage, key) if key else None
        if key is None or origin is None or origin.copying is None or not origin.copying.whole:
            return
        history = await asyncio.to_thread(_open_unfinished, self._storage, key)
        last = await asyncio.to_thread(history.last_origin) if history else None

        def change(data: JsonObject) -> JsonObject:
            info = SessionInfo.model_validate(data)
            now = fork_origin(info)
            if now is None or now.copying is None or not now.copying.whole:
                return data
            return with_origin(info, now.changed(copying=now.copying.changed(whole=None, last=last))).to_dict()

        await self._storage.update(key, change, self._locks.session_write(fork_id))

    async def _mark_whole(self, key: Key) -> None:
        source_id = ""

        def change(data: JsonObject) -> JsonObject:
            nonlocal source_id
            info = SessionInfo.model_validate(data)
            origin = fork_origin(info)
            if origin is None:
                return data
            source_id = origin.session_id
            return with_origin(info, origin.changed(copying=None)).to_dict()

        data = await self._storage.update(key, change, self._locks.session_write(key[-1]))
        if source_id:
            self._pending.remove(source_id, key[-1])
        self._publisher.publish(SessionUpdated(info=SessionInfo.model_validate(data)))

    def source_of(self, session_id: str) -> str | None:
        """Return the source of a fork that is not copied whole, None for any other session. Blocks."""
        key = find_session(self._storage, session_id)
        origin = unfinished(self._storage, key) if key else None
        return origin.session_id if origin else None


def _open_unfinished(storage: Storage, key: Key) -> ForkHistory | None:
    history = open_fork(storage, key)
    return history if isinstance(history, ForkHistory) else None


def _records(history: ForkHistory, fork_id: str, names: Sequence[str]) -> list[tuple[Key, bytes]]:
    """Return the records of these messages and their parts; a damaged one costs itself alone, a disk that refuses all. Blocks."""
    records: list[tuple[Key, bytes]] = []
    for name in names:
        try:
            message = history.message(name)
        except (CorruptRecordError, NotFoundError) as error:
            _logger.warning("fork %s is without a message: %s", fork_id, error)
            continue
        parts = history.inherited_parts(name)
        for failure in parts.failures:
            if not isinstance(failure, CorruptRecordError):
                raise failure
            _logger.warning("fork %s is without a part: %s", fork_id, failure)
        # The message comes last: one that exists has all its parts.
        records += [*parts.records, (("message", fork_id, name), message)]
    return records
