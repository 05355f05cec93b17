"""Delete, once a day, the snapshots that are older than a month and that no session needs for its undo."""

import asyncio
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.session.background import Background
from opencode_tui.schema.error import CorruptRecordError, NotFoundError, StorageError
from opencode_tui.schema.ids import Clock, system_clock
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.keys import Key
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.reader import RecordReader

if TYPE_CHECKING:
    from opencode_tui.engine.snapshot.objects.quota import Usage
    from opencode_tui.engine.snapshot.snapshot import Snapshots

PAUSE_S = 60.0
"""Seconds from the first change of a file to the cleaning, so that it does not slow down that step."""

_ATTEMPTS = 3
"""How often the records are read when sessions are moved in the meantime."""

_DAY_MS = 24 * 60 * 60 * 1000
_ID = re.compile(rb'"([0-9a-f]{40})"')
_MARKS = (b'"patch"', b'"step-start"', b'"step-finish"', b'"snapshot"')


class SnapshotRetention:
    """Cleans the snapshot store of one folder."""

    def __init__(self, *, snapshots: "Lazy[Snapshots]", background: Background, clock: Clock) -> None:
        self._snapshots = snapshots
        self._background = background
        self._clock = clock
        self._next = 0

    def schedule(self) -> None:
        """Clean the store in the background, unless that was done within a day; returns at once."""
        now = self._clock()
        if now >= self._next:
            self._next = now + _DAY_MS
            self._background.start(self._clean(), name="cleaning snapshots")

    async def _clean(self) -> None:
        await asyncio.sleep(PAUSE_S)
        await clean_unneeded(self._snapshots.get())


async def clean_unneeded(snapshots: "Snapshots", *, is_dry_run: bool = False) -> "Usage":
    """Delete old snapshots that no session of the folder needs, and return what is left; raises SnapshotError, StorageError.

    A dry run deletes nothing and estimates what would be left. The sessions are read only when there are old snapshots.
    """
    usage = await snapshots.size()
    if not snapshots.has_outdated(usage):
        return usage
    lock = snapshots.lock
    needed = await asyncio.to_thread(needed_snapshots, lock.paths, snapshots.worktree, lock.project_id)
    return await snapshots.clean(keep=needed, is_dry_run=is_dry_run)


def needed_snapshots(paths: Paths, worktree: Path, project_id: str) -> set[str]:
    """Return the ids of snapshots in the records of a folder's or its project's sessions, those in the trash included.

    Blocks; reads all their parts. The snapshots that a damaged record names count too, where its bytes say which. Raises
    StorageError when a record or a folder cannot be read now, or while sessions are deleted and restored all the time: a session
    that moves could be missed.
    """
    from opencode_tui.storage.trash import Trash  # a run only schedules the cleaning

    trash = Trash(paths, locks=Locks(paths), clock=system_clock)
    store = RecordReader(FileSystem(), str(paths.storage))
    for _ in range(_ATTEMPTS):
        generation = trash.generation()
        found = {
            name
            for reader in (store, *trash.readers())
            for name in _snapshots_in(reader, os.path.realpath(worktree), project_id)
        }
        if trash.generation() == generation:
            return found
    raise StorageError("sessions are being deleted or restored; clean the snapshots when that is done")


def _snapshots_in(reader: RecordReader, worktree: str, project_id: str) -> Iterator[str]:
    for key in reader.list(("session",)):
        for data in _records_of(reader, key, worktree, project_id):
            for found in _ID.finditer(data):
                yield found[1].decode()


def _records_of(reader: RecordReader, key: Key, worktree: str, project_id: str) -> Iterator[bytes]:
    """Yield a session's record and its parts that mention snapshots; nothing for a session of another folder.

    Raises StorageError when one of them cannot be read now; one that is gone, empty or no file names no snapshot.
    """
    try:
        data = reader.read_unchecked(key)
    except (NotFoundError, CorruptRecordError):
        return
    if key[1] != project_id and not _may_be_in(data, worktree):
        return
    yield data
    for message in reader.list(("message", key[-1])):
        found = reader.read_folder(("part", message[-1]))
        for failure in found.failures:
            if not isinstance(failure, CorruptRecordError):
                raise failure
        for _, part in found.records:
            if any(mark in part for mark in _MARKS):
                yield part


def _may_be_in(session: bytes, worktree: str) -> bool:
    """Return whether a session works in a folder or below it; True where its record does not say."""
    try:
        record: object = json.loads(session)
    except ValueError:
        return True
    directory = cast("JsonObject", record).get("directory") if isinstance(record, dict) else None
    if not isinstance(directory, str):
        return True
    folder = os.path.realpath(directory)
    return folder == worktree or folder.startswith(f"{worktree}/")
