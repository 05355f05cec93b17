"""Copy the records of a fork: all of them at once, before the fork has a record of its own.

Until that record is written nobody knows of the copies, so that they need no locks of their own and may be removed at any time.
They are on the disk before it is: after a power cut a fork is whole or not there. `forks/{fork}` in the data folder lists the
messages while they are copied; what a killed process left is removed by the next start (`ForkCopies.recover`). Version 0.3 let a
fork read from its source until it was copied: its unfinished copies, listed in `lock/forks`, are completed there too.

The source must not lose messages meanwhile: `{session}.fork` is held, and a prune, undo, edit or deletion waits for it.
Source: docs/internals/session.md#forks.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import msgspec
from msgspec import Struct

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.session.records.stored_history import (
    ForkMap,
    StoredHistory,
    copied_messages,
    find_session,
)
from opencode_tui.schema.error import CorruptRecordError, NotFoundError, OpencodeError, StorageError
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.session import CopyRange, SessionInfo, fork_origin, with_origin
from opencode_tui.storage.files import AtomicWriter
from opencode_tui.storage.keys import Key, folder_path, is_segment, record_path
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.storage import Storage

_BATCH = 64
"""Messages copied between two looks at whether the fork is still wanted."""

_SIBLINGS = ("todo", "session_prefix")

_logger = logging.getLogger(__name__)


class ForkSource(Struct, frozen=True):
    """What a fork copies: these messages of a session, in order, the last one without its parts from `part_id` on.

    `elsewhere`: the fork works on other files, to which recorded states do not apply.
    """

    session_id: str
    messages: Sequence[str]
    part_id: str | None = None
    elsewhere: bool = False


class ForkCopies(Struct, frozen=True):
    """Copies forks of one store. Raises StorageError."""

    storage: Storage
    locks: Locks

    @asynccontextmanager
    async def copied(self, fork_id: str, source: ForkSource) -> AsyncGenerator[None]:
        """Copy the messages and their parts; the context stores the record of the fork, after which they count.

        When it does not, or is canceled, nothing of the fork stays.
        """
        lock = self.locks.session_copy(fork_id)
        await lock.acquire()
        try:
            try:
                await self._copy(fork_id, source)
                yield
            except BaseException:
                await run_to_completion(asyncio.to_thread(self._end, fork_id))
                raise
            await asyncio.to_thread(self._unlist, fork_id)
        finally:
            lock.release()

    async def recover(self) -> None:
        """Remove what killed processes left of forks, and complete those of version 0.3; failures are logged and retried later.

        Blocks for one look at a folder that is not there, where there is nothing to do.
        """
        for fork_id in await asyncio.to_thread(self._listed):
            lock = self.locks.session_copy(fork_id)
            try:
                if not await lock.try_acquire_on_thread():
                    continue  # another process copies it now
                try:
                    await asyncio.to_thread(self._end, fork_id)
                finally:
                    lock.release()
            except OpencodeError as error:
                _logger.warning("what is left of the fork %s is not removed: %s", fork_id, error)
        await self._complete_older()

    async def _copy(self, fork_id: str, source: ForkSource) -> None:
        await asyncio.to_thread(self._list, fork_id, source.messages)
        names = list(source.messages)
        for start in range(0, len(names), _BATCH):
            # A batch ends although the fork is canceled: what it writes is removed afterwards.
            batch = asyncio.to_thread(self._copy_batch, fork_id, source, names[start : start + _BATCH])
            await run_to_completion(batch)
        await run_to_completion(asyncio.to_thread(self._sync))

    def _copy_batch(self, fork_id: str, source: ForkSource, names: Sequence[str]) -> None:
        for key, data in self._records(fork_id, source, names):
            self._write(record_path(str(self.storage.paths.storage), key), data)

    def _records(self, fork_id: str, source: ForkSource, names: Sequence[str]) -> Iterator[tuple[Key, bytes]]:
        """Yield the records of these messages and their parts for the fork, without damaged ones and requests that wait."""
        history, mapped = StoredHistory(self.storage, source.session_id), ForkMap(fork_id, elsewhere=source.elsewhere)
        for name in names:
            try:
                message = mapped.message(history.message(name))
            except (CorruptRecordError, NotFoundError, ValueError) as error:
                _logger.warning("the fork %s is without the message %s: %s", fork_id, name, error)
                continue
            if message is None:
                continue
            new = mapped.id(name)
            yield ("message", fork_id, new), message
            found = history.parts(name)
            for failure in found.failures:
                if not isinstance(failure, CorruptRecordError):
                    raise failure
                _logger.warning("the fork %s is without a part: %s", fork_id, failure)
            for key, data in found.records:
                if name == source.messages[-1] and key[-1] == source.part_id:
                    break
                try:
                    part = mapped.part(data)
                except ValueError as error:
                    _logger.warning("the fork %s is without the part %s: %s", fork_id, key[-1], error)
                    continue
                if part is not None:
                    yield ("part", new, mapped.id(key[-1])), part

    def _write(self, path: str, data: bytes) -> None:
        try:
            AtomicWriter(self.storage.files).create(path, data)
        except OSError as error:
            raise storage_error(error, "write", path) from error

    def _sync(self) -> None:
        path = str(self.storage.paths.storage)
        try:
            self.storage.files.sync_all(path)
        except OSError as error:
            raise storage_error(error, "sync", path) from error

    # The list of a fork's messages: who removes them needs no other record.

    def _list(self, fork_id: str, messages: Sequence[str]) -> None:
        path, mapped = self._path(fork_id), ForkMap(fork_id)
        try:
            names = msgspec.json.encode([mapped.id(name) for name in messages])
            AtomicWriter(self.storage.files).write(path, names, durable=True)
        except OSError as error:
            raise storage_error(error, "write", path) from error

    def _listed(self) -> list[str]:
        folder = self._path("")
        try:
            return sorted(filter(is_segment, self.storage.files.names(folder)))
        except FileNotFoundError:
            return []
        except OSError as error:
            _logger.warning("%s", storage_error(error, "list", folder))
            return []

    def _unlist(self, fork_id: str) -> None:
        path = self._path(fork_id)
        try:
            AtomicWriter(self.storage.files).remove(path)
        except OSError as error:  # the next start finds that the fork is whole
            _logger.warning("%s", storage_error(error, "remove", path))

    def _end(self, fork_id: str) -> None:
        """Remove the copies of a fork that has no record, and then the list of them; raises StorageError. Blocks."""
        path = self._path(fork_id)
        try:
            data = self.storage.files.read_whole(path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error(error, "read", path) from error
        if find_session(self.storage, fork_id) is None:
            self._remove(fork_id, _names_in(data))
        self._unlist(fork_id)

    def _remove(self, fork_id: str, messages: Sequence[str]) -> None:
        root, writer = str(self.storage.paths.storage), AtomicWriter(self.storage.files)
        folders = [folder_path(root, ("part", name)) for name in messages] + [folder_path(root, ("message", fork_id))]
        path = root
        try:
            for path in folders:
                writer.remove_tree(path)
            for kind in _SIBLINGS:
                path = record_path(root, (kind, fork_id))
                writer.remove(path)
        except OSError as error:
            raise storage_error(error, "remove", path) from error

    def _path(self, fork_id: str) -> str:
        return f"{self.storage.paths.data}/forks/{fork_id}".rstrip("/")

    # What version 0.3 left: forks with a record, whose messages are in part still those of the source.

    async def _complete_older(self) -> None:
        path = f"{self.storage.paths.lock}/forks"
        try:
            data = await asyncio.to_thread(self.storage.files.read_whole, path)
        except FileNotFoundError:
            return
        except OSError as error:
            _logger.warning("%s", storage_error(error, "read", path))
            return
        is_done = True
        for fork_id in _pending_in(data):
            try:
                await self.complete(fork_id)
            except OpencodeError as error:
                _logger.warning("the fork %s is not complete yet: %s", fork_id, error)
                is_done = False
        if is_done:
            try:
                await asyncio.to_thread(AtomicWriter(self.storage.files).remove, path)
            except OSError as error:
                _logger.warning("%s", storage_error(error, "remove", path))

    async def complete(self, session_id: str) -> None:
        """Complete a fork that version 0.3 left half-made; does nothing for any other session."""
        lock = self.locks.session_copy(session_id)
        if not await lock.try_acquire_on_thread():
            raise StorageError("another process copies it")
        try:
            key = await asyncio.to_thread(find_session, self.storage, session_id)
            if key is None:
                return
            info = SessionInfo.model_validate(await asyncio.to_thread(self._object, key))
            origin = fork_origin(info)
            if origin is None or origin.copying is None:
                return
            async with self.locks.unforked(origin.session_id):
                await asyncio.to_thread(self._complete_records, session_id, origin.session_id, origin.copying)
            await self.storage.update(key, _completed, self.locks.session_write(session_id))
        finally:
            lock.release()

    def _complete_records(self, fork_id: str, source_id: str, copying: CopyRange) -> None:
        """Copy the messages that the fork lacks, or has without their bytes after a power cut."""
        names = copied_messages(StoredHistory(self.storage, source_id), copying)
        part = copying.part_id if names and names[-1] == copying.last else None
        source = ForkSource(source_id, names, part, elsewhere=bool(copying.elsewhere))
        own = StoredHistory(self.storage, fork_id)
        for key, data in self._records(fork_id, source, names):
            try:
                self.storage.read_sync(key)
            except (NotFoundError, CorruptRecordError):
                path = self.storage.path_of(key)
                try:
                    AtomicWriter(self.storage.files).write(path, data)
                except OSError as error:
                    raise storage_error(error, "write", path) from error
        if not names and not own.names():
            _logger.warning("the fork %s has nothing to copy: its source is empty or deleted", fork_id)
        self._sync()

    def _object(self, key: Key) -> JsonObject:
        value: object = msgspec.json.decode(self.storage.read_sync(key))
        return cast("JsonObject", value) if isinstance(value, dict) else {}


def _completed(data: JsonObject) -> JsonObject:
    info = SessionInfo.model_validate(data)
    origin = fork_origin(info)
    return data if origin is None else with_origin(info, origin.changed(copying=None)).to_dict()


def _names_in(data: bytes) -> list[str]:
    """Return the names in a list; those before the end of one that was cut."""
    try:
        found: Any = msgspec.json.decode(data)
    except msgspec.DecodeError:
        found = []
    names = cast("list[object]", found) if isinstance(found, list) else []
    return [name for name in names if isinstance(name, str) and is_segment(name)]


def _pending_in(data: bytes) -> list[str]:
    """Return the forks in the list of version 0.3 that were not copied: a line for each start, and for each end."""
    pending: dict[str, None] = {}
    for line in data.decode(errors="replace").splitlines():
        match line.split(" "):
            case ["+", _, fork]:
                pending[fork] = None
            case ["-", _, fork]:
                pending.pop(fork, None)
            case _:
                continue
    return list(filter(is_segment, pending))
