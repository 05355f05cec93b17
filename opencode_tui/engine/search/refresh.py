"""Brings the index up to date with the store: which sessions changed, and writing them. Blocks."""

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence

from opencode_tui.engine.search.index import Index, KnownSession, SessionRow
from opencode_tui.engine.search.store_view import Found, SessionDraft, StoreView

BATCH_PARTS = 4_000
"""Parts that are written in one transaction, about; another process waits for it."""

BATCH_TITLES = 2_000
"""Sessions that are written without their messages in one transaction."""

_AHEAD = 100
"""Sessions whose rows are read at once."""


def stale_sessions(view: StoreView, found: Mapping[str, Found], rows: Mapping[str, SessionRow]) -> list[str]:
    """Return the sessions that are not indexed as they are now, the last changed first."""
    stale = [name for name, one in found.items() if _is_stale(view, one, rows.get(name))]
    stale.sort(key=lambda name: found[name].changed, reverse=True)
    return stale


def _is_stale(view: StoreView, found: Found, row: SessionRow | None) -> bool:
    if row is None or row.state != found.state:
        return True
    return bool(row.open_message) and view.folder_state(row.open_message) != row.open_state


def update(
    index: Index, view: StoreView, found: Mapping[str, Found], names: Sequence[str], *, is_over: Callable[[], bool]
) -> dict[str, bool]:
    """Index these sessions as they are now, in this order, until `is_over`; return those that are indexed as they were just now.

    The value of each is whether it stays so until its files have another state. A session with many changes needs more than one
    call. Raises sqlite3.Error, OSError.
    """
    drafts: list[SessionDraft] = []
    done: dict[str, bool] = {}
    parts = 0
    rows: Mapping[str, KnownSession] = {}
    for at, name in enumerate(names):
        if at % _AHEAD == 0:
            rows = index.known(names[at : at + _AHEAD])
        row = rows.get(name)
        one = found[name]
        if row is None:
            drafts.append(view.draft(name, one, {}, None))
        else:
            known = index.messages(row, one.project)
            drafts.append(view.draft(name, one, known, row.version, has_record=row.has_record(one)))
        messages = drafts[-1].messages
        parts += len(messages) + sum([len(message.parts) for message in messages])
        if parts >= BATCH_PARTS:
            done |= index.write(drafts)
            drafts, parts = [], 0
        if is_over():
            break
    if drafts:
        done |= index.write(drafts)
    return done


def add_titles(index: Index, view: StoreView, found: Mapping[str, Found], names: Sequence[str]) -> None:
    """Store the sessions that the index does not have without their messages, in this order. Raises sqlite3.Error, OSError."""
    for start in range(0, len(names), BATCH_TITLES):
        drafts: list[SessionDraft] = []
        for name in names[start : start + BATCH_TITLES]:
            record = view.record(name, found[name])
            if record is not None:
                drafts.append(SessionDraft(name, found[name], record, None, [], []))
        index.add_sessions(drafts)


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another process holds the database, so that trying again helps."""
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF in (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
    )


def is_damaged(error: Exception) -> bool:
    """Return whether the database itself is at fault, so that only a new one helps."""
    if not isinstance(error, sqlite3.Error):
        return False
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    outside = (
        *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR),
        *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM),
    )
    return code not in outside


def problem_of(error: Exception, path: str) -> str:
    """Return what keeps the index from being used, and the remedy, as one line."""
    from opencode_tui.storage.record_file import storage_error  # for errors only

    if isinstance(error, OSError):
        return str(storage_error(error, "use the search index", path))
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    remedies = {
        sqlite3.SQLITE_FULL: "the disk is full; free some space",
        sqlite3.SQLITE_IOERR: "the disk reports an error, or is full; check it",
        sqlite3.SQLITE_BUSY: "another program holds it; try again",
        sqlite3.SQLITE_LOCKED: "another program holds it; try again",
        sqlite3.SQLITE_READONLY: "it cannot be written; check the owner and mode of the cache folder",
        sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check the owner and mode of the cache folder",
    }
    return f"cannot use the search index {path}: {remedies.get(code, str(error))}"


def deadline(seconds: float) -> Callable[[], bool]:
    """Return a predicate that becomes true after `seconds`."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end
