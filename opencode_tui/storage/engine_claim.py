"""Which process has the engine that the terminals of one folder share, and how the others reach it.

Each combination of folder, settings and version has a lock file and a record in `terminals/` of the data folder. The lock is held
for as long as the engine is open; the system releases it when the process dies. So a record is valid only while the lock is held,
whatever process has the id in it by now, and the next holder replaces it. The record has the secret of the socket: mode 0600 in a
folder with mode 0700, which confined commands cannot read.

Both are in the data folder and not in XDG_RUNTIME_DIR: every process that uses the store finds them there, and they outlive the
login in which the program was started.
"""

import json
import logging
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from opencode_tui.schema.error import StorageError
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.paths import Paths, ensure
from opencode_tui.storage.process_identity import ProcessIdentity, holding_pid, is_alive
from opencode_tui.storage.process_lock import ProcessLock
from opencode_tui.storage.record_file import storage_error

LOCK_SUFFIX, RECORD_SUFFIX, SOCKET_SUFFIX = ".engine", ".json", ".sock"
PATIENCE_S = 20.0
"""Seconds that an engine of another process has for each attempt to connect; until `WAIT_S` another attempt follows.

At its first connection that process imports what serves it: a second of processor time, ten where fifteen programs want two cores.
"""

WAIT_S = 60.0
"""Seconds for which a client waits for the engine of a process that is alive, or for the next engine after one that it has lost.

Three attempts to connect: a process that opens its engine or serves its first client on a busy machine has the time for it.
"""

_PATH_LIMIT = 100
"""Bytes of the path of a socket; systems allow 104 or 108 with the zero at the end."""
_HAS_SHORT_PATHS = os.path.isdir("/proc/self/fd")
"""Whether a folder can be named by its descriptor, however long its path is."""
_TEMPORARY = "opencode-tui-"
_BACKLOG = 64
_logger = logging.getLogger(__name__)


class EngineRecord(Struct, frozen=True):
    """The process with the engine, the path of its socket (empty without one), and the secret that the socket asks for.

    A process that `is_detached` has left its terminal, and continues without a screen. While it gives the terminal back it
    `is_leaving`, and is suspended for a moment.
    """

    process: ProcessIdentity
    folder: str
    socket: str
    secret: str
    is_detached: bool = False
    is_leaving: bool = False

    def __repr__(self) -> str:
        return f"EngineRecord({self.process}, {self.folder!r})"  # without the secret


class EngineClaim:
    """The claim of this process to the engine of one key, which is a file name. Not thread-safe."""

    def __init__(self, paths: Paths, key: str) -> None:
        self._folder = paths.terminals
        self._key = key
        self._lock: ProcessLock | None = None
        self._writer = AtomicWriter(FileSystem())

    def try_acquire(self) -> bool:
        """Acquire the claim if no process has it, remove what a killed holder left, and return whether it is ours.

        Raises StorageError when the folder cannot be used. Blocks for less than a millisecond.
        """
        if not self._file_lock().try_acquire():
            return False
        try:
            self._remove_record(self._key)
        except OSError as error:
            self._file_lock().release()
            raise storage_error(error, "remove", self._record_path(self._key)) from error
        return True

    def release(self) -> None:
        """Give up the claim, with its record; only its holder may call this."""
        try:
            self._remove_record(self._key)
        except OSError as error:  # the next holder removes it
            _logger.warning("%s", storage_error(error, "remove", self._record_path(self._key)))
        finally:
            self._file_lock().release()

    def is_held(self) -> bool:
        """Return whether a process has the claim."""
        lock = self._file_lock()
        try:
            if not lock.try_acquire():
                return True
        except StorageError:  # it cannot be locked: no one has it
            return False
        lock.release()
        return False

    def publish(self, record: EngineRecord) -> None:
        """Write the record of this process, which has the claim; raises StorageError."""
        process = record.process
        fields = {
            "pid": process.pid,
            "started": process.started,
            "host": process.host,
            "folder": record.folder,
            "socket": record.socket,
            "secret": record.secret,
            "detached": record.is_detached,
            "leaving": record.is_leaving,
        }
        path = self._record_path(self._key)
        try:
            self._writer.write(path, json.dumps(fields).encode())
        except OSError as error:
            raise storage_error(error, "write", path) from error

    def read(self) -> EngineRecord | None:
        """Return the record of the process that has the claim; None when there is none yet, or when it is damaged.

        While no one has the claim it may be that of a killed process: `try_acquire` first.
        """
        return self._read(self._key)

    def holder(self) -> int | None:
        """Return the id of the process of this machine that has the claim, also before it has a record; None where it is not known.

        Reads files only, so it may be called at the same time as the other methods.
        """
        pid = holding_pid(f"{self._folder}/{self._key}{LOCK_SUFFIX}")
        if pid is not None:
            return pid if pid > 0 else None
        record = self.read()  # where the system does not say who holds a lock
        if record is None or record.process.host != socket.gethostname() or not is_alive(record.process):
            return None
        return record.process.pid

    def remove_stale(self) -> int:
        """Remove the records and sockets that killed processes left in other folders; return how many. Blocks."""
        removed = 0
        with suppress(OSError):
            for name in sorted(os.listdir(self._folder)):
                key = name.removesuffix(RECORD_SUFFIX)
                if key in (name, self._key):
                    continue
                lock = ProcessLock(f"{self._folder}/{key}{LOCK_SUFFIX}")
                with suppress(OSError, StorageError):
                    if lock.try_acquire():
                        try:
                            self._remove_record(key)
                            removed += 1
                        finally:
                            lock.release()
        return removed

    def _file_lock(self) -> ProcessLock:
        if self._lock is None:
            try:
                ensure(self._folder)
            except OSError as error:
                raise storage_error(error, "create", str(self._folder)) from error
            self._lock = ProcessLock(f"{self._folder}/{self._key}{LOCK_SUFFIX}")
        return self._lock

    def _record_path(self, key: str) -> str:
        return f"{self._folder}/{key}{RECORD_SUFFIX}"

    def _read(self, key: str) -> EngineRecord | None:
        try:
            fields = json.loads(Path(self._record_path(key)).read_bytes())
            process = ProcessIdentity(int(fields["pid"]), str(fields["started"]), str(fields["host"]))
            reach = str(fields["folder"]), str(fields["socket"]), str(fields["secret"])
            is_detached, is_leaving = fields.get("detached") is True, fields.get("leaving") is True
            return EngineRecord(process, *reach, is_detached=is_detached, is_leaving=is_leaving)
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _remove_record(self, key: str) -> None:
        """Remove a record whose lock is held by this process, with its socket. Raises OSError."""
        found = self._read(key)
        if found is not None and found.socket:
            remove_socket(found.socket)
        self._writer.remove(self._record_path(key))


def live_engines(paths: Paths) -> list[EngineRecord]:
    """Return the records of all processes that have an engine now, of any folder, settings and version; sorted by folder. Blocks.

    A damaged record, and that of a process which just opens its engine, is left out.
    """
    try:
        names = os.listdir(paths.terminals)
    except OSError:  # no terminal has shared an engine yet
        return []
    found: list[EngineRecord] = []
    for name in names:
        claim = EngineClaim(paths, name.removesuffix(RECORD_SUFFIX))
        if name.endswith(RECORD_SUFFIX) and (record := claim.read()) is not None and claim.is_held():
            found.append(record)
    return sorted(found, key=lambda record: (record.folder, record.process.pid))


def open_terminal_socket(paths: Paths, name: str) -> tuple[socket.socket, str]:
    """Return a listening Unix socket that only this user can connect to, and its path; `name` has no suffix. Raises OSError."""
    folder = str(ensure(paths.terminals))
    if len(os.fsencode(f"{folder}/{name}{SOCKET_SUFFIX}")) > _PATH_LIMIT and not _HAS_SHORT_PATHS:
        import tempfile  # few folders have a path that is too long

        folder = tempfile.mkdtemp(prefix=_TEMPORARY)
    path = f"{folder}/{name}{SOCKET_SUFFIX}"
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with short_path(path) as bound:
            opened.bind(bound)
        os.chmod(path, 0o600)  # before `listen`: nothing connects until then
        opened.listen(_BACKLOG)
    except OSError:
        opened.close()
        remove_socket(path)
        raise
    opened.setblocking(False)
    return opened, path


@contextmanager
def short_path(path: str) -> Generator[str]:
    """Yield a path of a socket that is short enough for the system, during the context; where none can be, the path itself.

    Raises OSError when its folder does not exist.
    """
    if len(os.fsencode(path)) <= _PATH_LIMIT or not _HAS_SHORT_PATHS:
        yield path
        return
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{os.path.basename(path)}"
    finally:
        os.close(folder)


def remove_socket(path: str) -> None:
    """Remove a socket of ours and the temporary folder that was made for it; a missing one is fine."""
    with suppress(OSError):
        os.unlink(path)
    folder = os.path.dirname(path)
    if os.path.basename(folder).startswith(_TEMPORARY):
        with suppress(OSError):  # not empty: not ours alone
            os.rmdir(folder)
