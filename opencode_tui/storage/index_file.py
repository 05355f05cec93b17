"""`cache/index.db`: what lists and sums need of all sessions, derived from the records and kept with SQLite.

The records are the only truth. The file may be deleted at any time, and is made again when it is damaged or of another version. If
it cannot be used (a full disk, a folder that cannot be written, another program that holds it), the same tables are kept in memory
for as long as this process runs, and a warning says why. Each use opens and closes the file; nothing is held between two looks.
"""

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from typing import TypeVar

from opencode_tui.storage.files import FILE_MODE, FileSystem
from opencode_tui.storage.paths import Paths, ensure
from opencode_tui.storage.record_file import storage_error

T = TypeVar("T")


class DamagedIndexError(sqlite3.DatabaseError):
    """A value in the file that SQLite reads, but that is none of ours."""


VERSION = 1
"""That of the tables; a file of another one is made again."""

BUSY_S = 5.0
"""Seconds to wait for another process that writes the file."""

_TABLES = """
CREATE TABLE folder(id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE);
CREATE TABLE session(
    folder INTEGER NOT NULL, id TEXT NOT NULL, state TEXT NOT NULL,
    title TEXT NOT NULL, directory TEXT NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL,
    is_archived INTEGER NOT NULL, parent_id TEXT NOT NULL, fork_of TEXT NOT NULL, fork_before TEXT NOT NULL,
    is_pinned INTEGER NOT NULL, is_shared INTEGER NOT NULL, is_undone INTEGER NOT NULL, undone_requests INTEGER NOT NULL,
    additions INTEGER NOT NULL, deletions INTEGER NOT NULL, has_changes INTEGER NOT NULL,
    own_from INTEGER NOT NULL, hidden TEXT NOT NULL,
    sum_state TEXT NOT NULL DEFAULT '', messages INTEGER NOT NULL DEFAULT 0, uses BLOB NOT NULL DEFAULT x'5b5d', tools BLOB,
    record BLOB NOT NULL,
    PRIMARY KEY(folder, id)
) WITHOUT ROWID;
"""

_OLD_SUFFIXES = (".index", ".listed", ".looked", ".sums")
"""Files in `cache/index/` that versions up to 0.3 derived from the records."""

_logger = logging.getLogger(__name__)


class IndexFile:
    """Opens the file of one cache folder; may be used from several threads."""

    def __init__(self, paths: Paths, files: FileSystem) -> None:
        self._folder = paths.cache
        self._path = str(paths.cache / "index.db")
        self._files = files
        self._lock = threading.Lock()
        self._memory: sqlite3.Connection | None = None

    def use(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what `work` returns, which gets an open database in autocommit mode.

        It is called again with an empty database if this one turns out to be damaged, or cannot be written. Blocks: one thread at a
        time. Raises what `work` raises, except for errors of the database.
        """
        with self._lock:
            if self._memory is None:
                try:
                    return self._in_file(work)
                except (sqlite3.Error, OSError) as error:
                    self._memory = self._in_memory(error)
            return work(self._memory)

    def _in_file(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            with self._opened() as db:
                return work(db)
        except sqlite3.Error as error:
            if not _is_damaged(error):
                raise
            _logger.info("making %s again: %s", self._path, error)
        os.truncate(self._path, 0)  # to remove it would leave other processes with a file of their own
        with self._opened() as db:
            return work(db)

    @contextmanager
    def _opened(self) -> Generator[sqlite3.Connection]:
        self._create()
        with closing(_connect(self._path)) as db:
            if db.execute("PRAGMA user_version").fetchone() != (VERSION,):
                _make_tables(db)
            yield db

    def _create(self) -> None:
        """Make the file that only its owner can read, and remove what older versions left where it belongs."""
        if self._files.exists(self._path):
            return
        ensure(self._folder)
        self._files.close(self._files.open(self._path, os.O_RDWR | os.O_CREAT, FILE_MODE))
        with suppress(OSError):
            for name in self._files.names(f"{self._folder}/index"):
                if name.endswith(_OLD_SUFFIXES):
                    self._files.unlink(f"{self._folder}/index/{name}")

    def _in_memory(self, error: Exception) -> sqlite3.Connection:
        """Return an empty database in memory, after a warning."""
        problem = storage_error(error, "use", self._path) if isinstance(error, OSError) else f"{self._path}: {error}"
        _logger.warning("the list of sessions is kept in memory: %s", problem)
        db = _connect(":memory:")
        _make_tables(db)
        return db


@contextmanager
def writing(db: sqlite3.Connection) -> Generator[None]:
    """Make the changes of the body together, or none of them."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # SQLite has rolled back itself after some errors
            db.execute("ROLLBACK")
        raise


def _connect(path: str) -> sqlite3.Connection:
    # One thread at a time uses a connection in memory, whichever that is.
    return sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)


def _make_tables(db: sqlite3.Connection) -> None:
    with writing(db):
        if db.execute("PRAGMA user_version").fetchone() == (VERSION,):
            return  # another process was faster
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            db.execute(f'DROP TABLE "{name}"')
        for statement in _TABLES.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {VERSION}")


def _is_damaged(error: sqlite3.Error) -> bool:
    """Return whether the content of the file is at fault, also by what a process of another version made of it."""
    if isinstance(error, DamagedIndexError):
        return True
    code = getattr(error, "sqlite_errorcode", None)
    is_text = code is None and isinstance(error, sqlite3.OperationalError)  # it could not be decoded
    return is_text or code in (
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_SCHEMA,
    )
