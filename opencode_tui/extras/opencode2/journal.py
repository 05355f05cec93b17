"""The order of a session's durable events: a file with one line for each, to which lines are only appended.

The number of an event is the number of its line, from 1 on; 0 is the creation of the session. A line is appended before its event
is sent, and after the record that it is about is on the disk. So whatever moment the process is killed in, no client has
an event that the file does not have, and the records say what is missing in it. A line has no content of the records.

Lines are appended under a lock of the file, which is held for some microseconds: another server may use the same store. The file
is locked, read and written on threads; what is known of it changes on the event loop alone.
"""

import asyncio
import fcntl
import logging
import os
import time
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from opencode_tui.cancellation import run_to_completion
from opencode_tui.extras.opencode2 import entries as kinds
from opencode_tui.extras.opencode2.entries import CHOICES, OLD_ID, Entry
from opencode_tui.schema.error import LockTimeoutError
from opencode_tui.schema.ids import is_identifier, system_clock
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.session import RevertState
from opencode_tui.storage.paths import ensure
from opencode_tui.storage.process_identity import holder_of
from opencode_tui.storage.safe_folder import open_folder

FOLDER = "opencode2"
"""The folder of the files, in the data folder."""

LOCK_S = 5.0
"""Seconds that a journal waits for another process that has its file."""

_PAUSE_S = 0.01
_SIZE_LIMIT = 256 * 1024 * 1024
_UNREADABLE = "unreadable"
_Key = tuple[str, str, str]
_logger = logging.getLogger(__name__)


class Journal:
    """The durable events of one session. Load and extend it while `lock` is held; reading needs no lock."""

    def __init__(self, folder: Path, session_id: str) -> None:
        """Does not read the file."""
        assert is_identifier(session_id, "ses")
        self.session_id = session_id
        self.lock = asyncio.Lock()
        self.entries: list[Entry] = []
        self.ids: dict[str, str] = {}
        """The IDs by which clients know messages, where these are stored under others."""
        self.fresh: dict[str, UserMessage] = {}
        """Messages of the user that have no entry yet, in order."""
        self.assistants: set[str] = set()
        self.texts: dict[str, str] = {}
        """The kinds of the parts that grow: text or reasoning."""
        self._numbers: dict[tuple[str, str, str], int] = {}
        self._folder = folder
        self._size = 0
        self._is_loaded = False
        self._changed = asyncio.Event()

    def __contains__(self, key: tuple[str, str, str]) -> bool:
        """Return whether there is a derived entry with this key."""
        return key in self._numbers

    @property
    def waiting(self) -> list[str]:
        """The prompts that are admitted and not read yet, oldest first."""
        prompted = {
            (entry.data or {}).get(OLD_ID, entry.message) for entry in self.entries if entry.kind == kinds.PROMPTED
        }
        return [one.message for one in self.entries if one.kind == kinds.ADMITTED and one.message not in prompted]

    @property
    def staged(self) -> Entry | None:
        """The entry of an undo that was neither cleared nor committed."""
        undos = (one for one in reversed(self.entries) if one.kind in (kinds.STAGED, kinds.CLEARED, kinds.COMMITTED))
        last = next(undos, None)
        return last if last is not None and last.kind == kinds.STAGED else None

    def last(self, kind: str) -> Entry | None:
        """Return the newest entry of a kind."""
        return next((entry for entry in reversed(self.entries) if entry.kind == kind), None)

    def number(self, entry: Entry) -> int | None:
        """Return the number of a derived entry."""
        return self._numbers.get(entry.key)

    def stored_id(self, message_id: str) -> str:
        """Return the ID under which a message is stored that a client knows by this one."""
        return next((stored for stored, known in self.ids.items() if known == message_id), message_id)

    def after(self, number: int) -> list[tuple[int, Entry]]:
        """Return the entries with a greater number."""
        found = enumerate(self.entries[number:], number + 1)
        return [(seq, entry) for seq, entry in found if entry.kind != _UNREADABLE]

    async def wait(self, number: int, timeout: float) -> bool:
        """Wait until there is an entry with a greater number; return False after `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):
                while len(self.entries) <= number:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def load(self) -> None:
        """Read what the file has more than was read before. Raises OSError, LockTimeoutError after `LOCK_S`."""
        await run_to_completion(self._append([]))
        self._is_loaded = True

    async def load_once(self) -> None:
        """Do the same unless it was read before."""
        if not self._is_loaded:
            await self.load()

    async def extend(self, entries: Iterable[Entry]) -> list[tuple[int, Entry]]:
        """Append those of the entries that are not there yet; return them, and what else is new, with their numbers.

        Raises what `load` does.
        """
        wanted = list(self._missing(entries, self._numbers))
        return await run_to_completion(self._append(wanted)) if wanted else []

    async def delete(self) -> None:
        """Delete the file; the session is gone. Raises OSError."""
        await asyncio.to_thread(self._delete)

    def state_of_undo(self, revert: RevertState | None, is_removed: bool) -> list[Entry]:
        """Return the entry that follows from the session's undo, if there is one; `is_removed`: the undone messages are gone."""
        staged, now = self.staged, system_clock()
        if revert is not None:
            is_known = staged is not None and staged.message == revert.message_id
            return [] if is_known else [Entry(kinds.STAGED, now, revert.message_id, data={})]
        if staged is None:
            return []
        return [Entry(kinds.COMMITTED if is_removed else kinds.CLEARED, now, staged.message, data={})]

    @property
    def _name(self) -> str:
        return f"{self.session_id}.log"

    @staticmethod
    def _missing(entries: Iterable[Entry], known: Collection[_Key]) -> Iterator[Entry]:
        seen: set[_Key] = set()
        for entry in entries:
            if entry.kind not in CHOICES:
                if entry.key in known or entry.key in seen:
                    continue
                seen.add(entry.key)
            yield entry

    async def _append(self, wanted: Sequence[Entry]) -> list[tuple[int, Entry]]:
        before = len(self.entries)
        size, added = await asyncio.to_thread(self._write, wanted, self._size)
        self._add(size, added)
        return self.after(before)

    def _write(self, wanted: Sequence[Entry], start: int) -> tuple[int, list[Entry]]:
        """Append what is missing in the file; return its size and its entries from the byte `start` on. Blocks."""
        if not wanted and not (self._folder / self._name).exists():
            return start, []
        with self._locked() as descriptor:
            added, size = self._read_on(descriptor, start)
            known = {entry.key for entry in added if entry.kind not in CHOICES} | self._numbers.keys()
            missing = list(self._missing(wanted, known))
            data = b"".join(msgspec.json.encode(entry) + b"\n" for entry in missing)
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        return size + len(data), added + missing

    def _delete(self) -> None:
        if self._folder.is_dir():
            with open_folder(self._folder) as folder:
                folder.delete(self._name)

    @contextmanager
    def _locked(self) -> Generator[int]:
        ensure(self._folder)
        with open_folder(self._folder) as folder:
            descriptor = folder.open_to_append(self._name)
            try:
                folder.set_file_mode(descriptor, 0o600)
                self._lock_file(descriptor)
                yield descriptor
            finally:
                folder.close(descriptor)

    def _lock_file(self, descriptor: int) -> None:
        end = time.monotonic() + LOCK_S
        while True:
            try:
                return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    path = str(self._folder / self._name)
                    raise LockTimeoutError(
                        f"{path} has been held by {holder_of(path)} for more than {LOCK_S:g} s; wait for it or end that process"
                    ) from None
            time.sleep(_PAUSE_S)

    def _read_on(self, descriptor: int, start: int) -> tuple[list[Entry], int]:
        """Return the lines from `start` on and the size; one that is not whole was never sent, and is removed."""
        size = os.fstat(descriptor).st_size
        if size <= start:
            return [], start
        with open_folder(self._folder) as folder:
            data = folder.read(self._name, _SIZE_LIMIT, start=start)[0]
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.ftruncate(descriptor, start + whole)
        return [self._decoded(line) for line in data[:whole].splitlines()], start + whole

    def _decoded(self, line: bytes) -> Entry:
        try:
            return msgspec.json.decode(line, type=Entry)
        except msgspec.DecodeError as error:
            _logger.warning("a line of %s cannot be read (%s)", self._name, error)
            return Entry(_UNREADABLE, 0)

    def _add(self, size: int, added: Sequence[Entry]) -> None:
        self._size = size
        for entry in added:
            self.entries.append(entry)
            if entry.kind not in CHOICES:
                self._numbers[entry.key] = len(self.entries)
            if entry.kind == kinds.PROMPTED and entry.data:
                self.ids[entry.message] = entry.data[OLD_ID]
        self._changed.set()
