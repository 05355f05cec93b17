"""The child process that builds the index: newest sessions first, at the lowest priority, one for each store.

It can be killed at any time: each transaction leaves a usable index, and the next child continues. It ends when nothing is left, or
when the process that started it has ended.
"""

import os
import sqlite3
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

from opencode_tui.engine.search.index import Index, IndexFiles
from opencode_tui.engine.search.refresh import add_titles, deadline, is_busy, is_damaged, stale_sessions, update
from opencode_tui.engine.search.store_view import StoreView
from opencode_tui.programs import python_command, python_environ
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.process_lock import ProcessLock

RESCAN_S = 2.0
"""Least seconds until the store is looked at again for sessions that changed meanwhile, which come first then."""

RESCAN_RATIO = 10
"""How many times as long as a look, which takes a second with 100,000 sessions, the work until the next one lasts at least."""

REST = 5
"""Sessions that may be left at the end: those that are being written are brought up to date by queries."""

LEAST_PARTS = 2_000
"""Parts from which dead ones are worth a new database."""

_WAIT_MS = 5_000
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
    alone = ProcessLock(lock)
    if not alone.try_acquire():
        return
    try:
        build(StoreView(FileSystem(), root), IndexFiles(Path(cache), root))
    finally:
        alone.release()


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
        index = Index(path, create=True, wait_ms=_WAIT_MS)
        files.replace(path)
    parts, dead = index.counts()
    if parts >= LEAST_PARTS and dead > parts // 5:
        index.close()
        path = files.new()
        index = Index(path, create=True, wait_ms=_WAIT_MS)
        _fill(index, view)
        files.replace(path)
    else:
        _fill(index, view)
    index.close()
    files.clean()


def _open(path: Path) -> Index | None:
    try:
        return Index(path, wait_ms=_WAIT_MS)
    except sqlite3.Error as error:
        if is_damaged(error):
            return None
        raise


def _fill(index: Index, view: StoreView) -> None:
    before = index.counts()[0]
    previous = -1
    while True:
        begun = time.monotonic()
        found = view.scan()
        rows = index.sessions()
        look_s = time.monotonic() - begun
        add_titles(index, view, found, [name for name in found if name not in rows])
        stale = stale_sessions(view, found, rows)
        if not stale or (len(stale) <= REST and previous >= 0 and len(stale) >= previous):
            break
        previous = len(stale)
        try:
            update(index, view, found, stale, is_over=deadline(max(RESCAN_S, RESCAN_RATIO * look_s)))
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            time.sleep(0.1)
    if index.counts()[0] > before * 1.2:
        index.optimize()
    _write_words(index)


def words_file(index: Path) -> Path:
    """Return the file with the words of an index, for similar words."""
    return index.with_suffix(".words")


def _write_words(index: Index) -> None:
    with suppress(OSError):  # similar words are not suggested then
        text = "\n".join(index.vocabulary())
        AtomicWriter(FileSystem()).write(str(words_file(index.path)), text.encode())
