"""The child process that builds the index: newest sessions first, at the lowest priority, one for each store.

It can be killed at any time: each transaction leaves a usable index, and the next child continues. It ends when nothing is left, or
when the process that started it has ended.
"""

import os
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from opencode_tui.engine.search.index import Index, IndexFiles, SessionRow
from opencode_tui.engine.search.refresh import add_titles, deadline, is_busy, is_damaged, stale_sessions, update
from opencode_tui.engine.search.store_view import Found, StoreView
from opencode_tui.programs import python_command, python_environ
from opencode_tui.storage.files import FILE_MODE, AtomicWriter, FileSystem

RESCAN_S = 2.0
"""Least seconds until the store is examined again for sessions that changed in the meantime, which come first then."""

RESCAN_RATIO = 10
"""How many times as long as a look, which takes a second with 100,000 sessions, the work until the next one lasts at least."""

LATEST_S = 60.0
"""Least seconds until the store is examined again while no record of a session was written."""

REST = 5
"""Sessions that may be left at the end: those that are being written are brought up to date by queries."""

LEAST_PARTS = 2_000
"""Parts from which dead ones are worth a new database."""

TITLES_S = 3.0
"""Seconds after which sessions whose messages are not indexed yet are found by their titles; small stores are indexed by then."""

_WAIT_MS = 5_000
_CACHE_KB = 16_384
"""Memory for pages of the database: with the 2 MB of SQLite a store of 100,000 sessions has each page written four times."""

_ENTRY = """import sys
sys.path.append(sys.argv[1])
from opencode_tui.engine.search.build import main
main(*sys.argv[2:])"""
_PACKAGE_ROOT = Path(__file__).resolve().parents[3]


def start_build(root: str, cache: Path, lock: Path) -> "subprocess.Popen[bytes]":
    """Start the child for the store in `root`; closing its standard input ends it. Raises OSError."""
    return subprocess.Popen(
        python_command("-c", _ENTRY, str(_PACKAGE_ROOT), root, str(cache), str(lock)),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
        env=python_environ(os.environ),
    )


def main(root: str, cache: str, lock: str) -> None:
    """Build the index until it is up to date."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(19)
    try:
        with FileLock(lock, mode=FILE_MODE, fallback_to_soft=False).acquire(blocking=False):
            build(StoreView(FileSystem(), root), IndexFiles(Path(cache), root))
    except Timeout:
        return  # another child builds it


def _end_with_parent() -> None:
    with suppress(OSError):
        while os.read(0, 4096):
            pass
    os._exit(0)


def build(view: StoreView, files: IndexFiles) -> None:
    """Bring the index up to date, or make a new one for it. Needs the build lock. Raises OSError, sqlite3.Error."""
    path = files.current()
    index = _open(path) if path is not None else None
    if index is None:
        path = files.new()
        index = Index(path, create=True, wait_ms=_WAIT_MS, cache_kb=_CACHE_KB)
        files.replace(path)
    parts, dead = index.counts()
    if parts >= LEAST_PARTS and dead > parts // 5:
        index.close()
        path = files.new()
        index = Index(path, create=True, wait_ms=_WAIT_MS, cache_kb=_CACHE_KB)
        _fill(index, view)
        files.replace(path)
    else:
        _fill(index, view)
    index.close()
    files.clean()


def _open(path: Path) -> Index | None:
    try:
        return Index(path, wait_ms=_WAIT_MS, cache_kb=_CACHE_KB)
    except sqlite3.Error as error:
        if is_damaged(error):
            return None
        raise


def _fill(index: Index, view: StoreView) -> None:
    before = index.counts()[0]
    previous = -1
    while True:
        begun = time.monotonic()
        folders = view.folders()
        found = view.scan()
        rows = index.sessions()
        look_s = time.monotonic() - begun
        stale = stale_sessions(view, found, rows)
        if not stale or (len(stale) <= REST and previous >= 0 and len(stale) >= previous):
            break
        previous = len(stale)
        try:
            is_complete = _update(index, view, found, rows, stale, _until_changed(view, folders, RESCAN_RATIO * look_s))
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            time.sleep(0.1)
            continue
        if is_complete and view.folders() == folders:
            break
    if index.counts()[0] > before * 1.2:
        index.optimize()
    _write_words(index)


def _update(
    index: Index,
    view: StoreView,
    found: Mapping[str, Found],
    rows: Mapping[str, SessionRow],
    names: Sequence[str],
    is_over: Callable[[], bool],
) -> bool:
    """Index these sessions, the titles of those first that would be late; return whether all are indexed and stay so."""
    done = update(index, view, found, names, is_over=deadline(TITLES_S))
    left = [name for name in names if name not in done]
    add_titles(index, view, found, [name for name in left if name not in rows])
    while left and not is_over():
        done |= update(index, view, found, left, is_over=is_over)
        left = [name for name in left if name not in done]
    return not left and all(done.values())


def _until_changed(view: StoreView, folders: Mapping[str, int], seconds: float) -> Callable[[], bool]:
    """Return a predicate that says when to examine the whole store again, which costs: not within `seconds`.

    After them it becomes true when a folder of sessions has another time than in `folders`, else after `LATEST_S`.
    """
    is_soon = deadline(max(RESCAN_S, seconds))
    is_late = deadline(max(LATEST_S, seconds))

    def is_over() -> bool:
        nonlocal is_soon
        if not is_soon():
            return False
        is_soon = deadline(RESCAN_S)
        return is_late() or view.folders() != folders

    return is_over


def words_file(index: Path) -> Path:
    """Return the file with the words of an index, for similar words."""
    return index.with_suffix(".words")


def _write_words(index: Index) -> None:
    with suppress(OSError):  # similar words are not suggested then
        text = "\n".join(index.vocabulary())
        AtomicWriter(FileSystem()).write(str(words_file(index.path)), text.encode())
