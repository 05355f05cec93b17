"""The index: a SQLite database with FTS5 in the cache folder. It is derived data and may be deleted at any time.

    fts      the words of each part, without its text; rowid = 64 × the message's id + the part's number in it
    message  id = the second in which it was created, or the next free one: the order of rowids is that of time
    session  what lists of hits show, and the state of its files when it was indexed

A part that changed or was removed stays in `fts`, where nothing can be deleted without its old text; the list of part numbers in
`message` says which ones count. When a fifth of the parts are dead, `build.py` makes a new database.

The file `search-{format}-{store}` holds the name of the present database, so that a new one replaces it for all processes at once.
"""

import contextlib
import hashlib
import os
import secrets
import sqlite3
import struct
from collections.abc import Generator, Sequence
from pathlib import Path

import msgspec

from opencode_tui.engine.search import words
from opencode_tui.engine.search.fields import Fields, SessionFields
from opencode_tui.engine.search.store_view import Found, MessageDraft, SessionDraft
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.paths import ensure

FORMAT = 1

PARTS = 64
"""Part numbers of a row of `message`; one with more parts has several rows."""

TITLE_ONLY = 0
"""The version of a session without messages; each write adds one."""

_TITLE = "title"
"""The beginning of the state of such a session; the rest is the state of its files when the record was read."""

BUSY_MS = 250
"""Milliseconds that a query or a small update waits for another process."""

_ASKED = 500
"""Values in one query: SQLite has a limit."""

_SECONDS = 10_000
"""Seconds whose next free id is remembered."""

_ENTRY = struct.Struct("<BI")

_SCHEMA = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE session(
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, version INTEGER NOT NULL, state TEXT NOT NULL, project TEXT NOT NULL,
    directory TEXT NOT NULL, title TEXT NOT NULL, parent TEXT, updated INTEGER NOT NULL, archived INTEGER,
    open_message TEXT NOT NULL, open_state INTEGER NOT NULL);
CREATE TABLE message(
    id INTEGER PRIMARY KEY, session INTEGER NOT NULL, name TEXT NOT NULL, is_user INTEGER NOT NULL, state INTEGER NOT NULL,
    next INTEGER NOT NULL, parts BLOB NOT NULL);
CREATE INDEX message_session ON message(session);
CREATE VIRTUAL TABLE fts USING fts5(body, extra, path, content='', tokenize="unicode61 remove_diacritics 2");
"""


class KnownSession(msgspec.Struct, frozen=True, gc=False):
    """What of a session in the index says what must be written."""

    id: int
    version: int
    state: str
    project: str

    def has_record(self, found: Found) -> bool:
        """Return whether the row was made from the record as it was found, and none of the messages is indexed yet."""
        is_current = not found.is_young and self.state == _title_state(found)
        return is_current and self.version == TITLE_ONLY and self.project == found.project


class SessionRow(msgspec.Struct, frozen=True, gc=False):
    """A session in the index."""

    id: int
    name: str
    version: int
    state: str
    project: str
    directory: str
    title: str
    parent: str | None
    updated: int
    archived: int | None
    open_message: str
    open_state: int


class PartRow(msgspec.Struct, frozen=True):
    """A part that matches: the row of its session, its message, and the checksum of its content."""

    rowid: int
    session: int
    message: str
    is_user: bool
    checksum: int

    @property
    def time(self) -> int:
        """Return when the message was created, in ms, to about a second."""
        return self.rowid // PARTS * 1000


class IndexFiles:
    """The names of the databases of one store."""

    def __init__(self, cache: Path, root: str) -> None:
        self.folder = cache / "index"
        store = hashlib.sha256(os.fsencode(root)).hexdigest()[:12]
        self.pointer = self.folder / f"search-{FORMAT}-{store}"
        self._store = store

    def current(self) -> Path | None:
        """Return the present database, None when there is none. Raises OSError."""
        try:
            name = self.pointer.read_text()
        except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
            return None
        path = self.folder / f"{self.pointer.name}-{name}.db"
        return path if name.isalnum() and path.is_file() else None

    def new(self) -> Path:
        """Return the path of a new database, which is not the present one yet. Raises OSError."""
        ensure(self.folder)
        return self.folder / f"{self.pointer.name}-{secrets.token_hex(4)}.db"

    def replace(self, path: Path) -> None:
        """Make a database the present one. Raises OSError."""
        name = path.stem.removeprefix(f"{self.pointer.name}-")
        AtomicWriter(FileSystem()).write(str(self.pointer), name.encode())

    def discard(self, path: Path) -> None:
        """Make a database no longer the present one, if it is. Raises OSError."""
        if self.current() == path:
            self.pointer.unlink(missing_ok=True)

    def clean(self) -> None:
        """Remove the databases of this store that are not the present one, older formats included; needs the build lock."""
        current = self.current()
        for path in [*self.folder.glob(f"search-*-{self._store}*")]:
            if path != self.pointer and not (current and path.name.startswith(f"{current.stem}.")):
                path.unlink(missing_ok=True)


class Index:
    """An open database. One thread at a time; raises sqlite3.Error, OSError."""

    def __init__(self, path: Path, *, create: bool = False, wait_ms: int = BUSY_MS, cache_kb: int = 0) -> None:
        """`cache_kb` is the memory for pages of the database, by default 2 MB."""
        self.path = path
        if create:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        uri = f"{path.absolute().as_uri()}?mode=rw"
        self._db = sqlite3.connect(uri, uri=True, timeout=wait_ms / 1000, isolation_level=None, check_same_thread=False)
        self.last_rowid = 0
        """The rowid of the last part of the latest query, dead or not."""
        self._known: dict[str, KnownSession | None] = {}
        """Sessions that were looked up since any process wrote, None for those that the index does not have."""
        self._known_at = -1
        self._following: dict[int, int] = {}
        """The id to try for the next message of a second, for the seconds written last."""
        try:
            self._db.execute("PRAGMA synchronous = NORMAL")
            if cache_kb:
                self._db.execute(f"PRAGMA cache_size = {-cache_kb:d}")
            if create:
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
            self._db.execute("SELECT id FROM session LIMIT 1")
            self._db.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, fts, row)")
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    @property
    def changes(self) -> int:
        """Return a number that changes with each write of another process."""
        return self._db.execute("PRAGMA data_version").fetchone()[0]

    def sessions(self) -> dict[str, SessionRow]:
        """Return all sessions by name."""
        query = (
            "SELECT id, name, version, state, project, directory, title, parent, updated, archived, open_message,"
            " open_state FROM session"
        )
        return {row[1]: SessionRow(*row) for row in self._db.execute(query)}

    def known(self, names: Sequence[str]) -> dict[str, KnownSession]:
        """Return those of these sessions that the index has, by name."""
        self._look_up(names)
        return {name: row for name in names if (row := self._known[name]) is not None}

    def _look_up(self, names: Sequence[str]) -> None:
        """Read the rows of sessions that were not read since another process or this one wrote last."""
        changes = self.changes
        if changes != self._known_at:
            self._known.clear()
            self._known_at = changes
        names = [name for name in names if name not in self._known]
        self._known.update(dict.fromkeys(names))
        for start in range(0, len(names), _ASKED):
            some = names[start : start + _ASKED]
            rows = self._db.execute(
                f"SELECT name, id, version, state, project FROM session WHERE name IN ({_marks(some)})", some
            )
            for name, *row in rows:
                self._known[name] = KnownSession(*row)

    def messages(self, session: KnownSession, project: str) -> dict[str, int]:
        """Return the states of a session's messages by name; none when it belongs to another project now."""
        if session.version == TITLE_ONLY or session.project != project:
            return {}
        rows = self._db.execute("SELECT name, state FROM message WHERE session = ? ORDER BY id", (session.id,))
        return dict(rows.fetchall())

    def counts(self) -> tuple[int, int]:
        """Return the numbers of parts and of dead parts."""
        found = dict(self._db.execute("SELECT key, value FROM meta").fetchall())
        return int(found.get("parts", 0)), int(found.get("dead", 0))

    def write(self, drafts: Sequence[SessionDraft]) -> dict[str, bool]:
        """Store what drafts have, in one transaction; one whose session was written since it was read is left out.

        Return the sessions that have everything now, each with whether none of it may change again with the same time.
        """
        done: dict[str, bool] = {}
        with self._transaction():
            rows = self.known([draft.name for draft in drafts])
            writes = _Writes(self._db, self._following)
            for draft in drafts:
                row = rows.get(draft.name)
                if (None if row is None else row.version) == draft.version:
                    self._write_session(draft, row, writes)
                    if draft.is_whole:
                        done[draft.name] = draft.is_stable and draft.open_state >= 0
            writes.execute()
            self._count("parts", len(writes.parts))
            self._count("dead", writes.dead)
        return done

    def add_sessions(self, drafts: Sequence[SessionDraft]) -> None:
        """Store new sessions without their messages, so that their titles are found."""
        with self._transaction():
            known = self.known([draft.name for draft in drafts])
            writes = _Writes(self._db, self._following)
            for draft in drafts:
                if draft.name not in known and draft.record is not None:
                    writes.add_session(draft, draft.record, version=TITLE_ONLY, state=_title_state(draft.found))
            writes.execute()

    def expire(self, names: Sequence[str]) -> None:
        """Have these sessions compared with all of their records again."""
        with self._transaction():
            for name in names:
                self._db.execute(
                    "UPDATE message SET state = -1 WHERE session = (SELECT id FROM session WHERE name = ?)", (name,)
                )

    def optimize(self) -> None:
        """Merge the index, so that queries read less, and write everything into the database file without free pages."""
        self._db.execute("INSERT INTO fts(fts) VALUES('optimize')")
        self._db.execute("VACUUM")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def newest(self, expression: str, *, since: int, before: int | None, limit: int) -> list[PartRow | None]:
        """Return the newest parts that match, the newest first; None in the place of a dead one."""
        below = "" if before is None else f" AND rowid < {before:d}"
        return self._parts(
            f"SELECT rowid FROM fts WHERE fts MATCH ? AND rowid >= {_row_since(since):d}{below}"
            f" ORDER BY rowid DESC LIMIT {limit:d}",
            expression,
        )

    def ranked(self, expression: str, *, since: int, limit: int, most: int) -> list[PartRow | None]:
        """Return the parts that match best, the best first, of the newest `most` that match."""
        edge = self._db.execute(
            f"SELECT rowid FROM fts WHERE fts MATCH ? AND rowid >= {_row_since(since):d}"
            f" ORDER BY rowid DESC LIMIT 1 OFFSET {most:d}",
            (expression,),
        ).fetchone()
        bound = _row_since(since) if edge is None else edge[0]
        return self._parts(
            f"SELECT rowid FROM fts WHERE fts MATCH ? AND rowid >= {bound:d} ORDER BY rank LIMIT {limit:d}", expression
        )

    def vocabulary(self) -> list[str]:
        """Return the indexed words of letters, without those of the index's own; 1 s for 1 M parts."""
        rows = self._db.execute("SELECT term FROM temp.vocabulary WHERE length(term) BETWEEN 3 AND 24")
        return [term for (term,) in rows if term.isalpha() and not term.startswith(words.MARK)]

    def _parts(self, query: str, expression: str) -> list[PartRow | None]:
        found = [rowid for (rowid,) in self._db.execute(query, (expression,))]
        self.last_rowid = found[-1] if found else 0
        known: dict[int, tuple[int, str, int, dict[int, int]]] = {}
        wanted = list(dict.fromkeys(rowid // PARTS for rowid in found))
        for start in range(0, len(wanted), _ASKED):
            some = wanted[start : start + _ASKED]
            rows = self._db.execute(
                f"SELECT id, session, name, is_user, parts FROM message WHERE id IN ({_marks(some)})", some
            )
            known.update({row[0]: (row[1], row[2], row[3], dict(_ENTRY.iter_unpack(row[4]))) for row in rows})
        parts: list[PartRow | None] = []
        for rowid in found:
            session, name, is_user, entries = known.get(rowid // PARTS, (0, "", 0, {}))
            check = entries.get(rowid % PARTS)
            parts.append(PartRow(rowid, session, name, bool(is_user), check) if session and check is not None else None)
        return parts

    @contextlib.contextmanager
    def _transaction(self) -> Generator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._known.clear()
            self._db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # SQLite has rolled back itself after some errors
                self._db.execute("ROLLBACK")
            raise

    def _count(self, key: str, number: int) -> None:
        if number:
            self._db.execute(
                "INSERT INTO meta VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = value + excluded.value",
                (key, number),
            )

    def _write_session(self, draft: SessionDraft, row: KnownSession | None, writes: "_Writes") -> None:
        is_done = draft.is_whole and draft.is_stable
        state = draft.found.state if is_done else ""
        old: dict[str, list[tuple[int, int, bytes]]] = {}
        if row is None:
            assert draft.record is not None
            session = writes.add_session(draft, draft.record, version=TITLE_ONLY + 1, state=state)
        else:
            session = row.id
            writes.change_session(session, draft, version=row.version + 1, state=state)
            if row.version != TITLE_ONLY:
                rows = self._db.execute(
                    "SELECT name, id, next, parts FROM message WHERE session = ? ORDER BY id", (session,)
                )
                for name, identifier, following, parts in rows:
                    old.setdefault(name, []).append((identifier, following, parts))
        for name in draft.gone:
            for identifier, _, parts in old.get(name, ()):
                writes.dead += len(parts) // _ENTRY.size
                self._db.execute("UPDATE message SET session = 0, parts = x'' WHERE id = ?", (identifier,))
        for message in draft.messages:
            if rows := old.get(message.name):
                self._change_message(session, message, draft.found.project, rows, writes)
            else:
                writes.add_message(session, message, draft.found.project, [*message.parts.items()])

    def _change_message(
        self, session: int, message: MessageDraft, project: str, rows: list[tuple[int, int, bytes]], writes: "_Writes"
    ) -> None:
        """Store the parts of a message that has rows already, with more rows if they do not suffice."""
        new = dict(message.parts)
        kept: list[bytes] = []
        for _, _, parts in rows:
            entries = [entry for entry in _ENTRY.iter_unpack(parts) if new.pop(entry[1], None) is not None]
            writes.dead += len(parts) // _ENTRY.size - len(entries)
            kept.append(b"".join(_ENTRY.pack(*entry) for entry in entries))
        waiting = [*new.items()]
        for (identifier, following, _), entries in zip(rows, kept, strict=True):
            some, waiting = waiting[: PARTS - following], waiting[PARTS - following :]
            packed = writes.add_parts(identifier, following, some, message, project)
            self._db.execute(
                "UPDATE message SET state = ?, next = ?, parts = ? WHERE id = ?",
                (message.state, following + len(some), entries + packed, identifier),
            )
        if waiting:
            writes.add_message(session, message, project, waiting)


class _Writes:
    """The rows that one transaction adds and the sessions that it changes, executed at once: statement by statement costs twice."""

    def __init__(self, db: sqlite3.Connection, following: dict[int, int]) -> None:
        """`following` has the id to try for the next message of some seconds; it is changed."""
        self.parts: list[tuple[int, str, str, str]] = []
        self.dead = 0
        """Parts of messages that were removed or changed."""
        self._db = db
        self._new_sessions: list[tuple[object, ...]] = []
        self._changed: list[tuple[object, ...]] = []
        self._indexed: list[tuple[object, ...]] = []
        self._messages: list[tuple[object, ...]] = []
        self._session = -1
        self._following = following
        self._used: set[int] = set()
        if len(following) > _SECONDS:
            following.clear()
        # SQLite reads all rows for both at once.
        self._low = db.execute("SELECT coalesce(min(id), 0) FROM message").fetchone()[0]
        self._high = db.execute("SELECT coalesce(max(id), -1) FROM message").fetchone()[0]

    def add_session(self, draft: SessionDraft, record: SessionFields, *, version: int, state: str) -> int:
        """Add a session; return its id."""
        if self._session < 0:
            self._session = self._db.execute("SELECT coalesce(max(id), 0) FROM session").fetchone()[0]
        self._session += 1
        self._new_sessions.append((self._session, draft.name, *_values(draft, record, version=version, state=state)))
        return self._session

    def change_session(self, session: int, draft: SessionDraft, *, version: int, state: str) -> None:
        """Have a session changed."""
        if draft.record is None:
            self._indexed.append((version, state, draft.open_message, draft.open_state, session))
        else:
            self._changed.append((*_values(draft, draft.record, version=version, state=state), session))

    def add_message(
        self, session: int, message: MessageDraft, project: str, parts: Sequence[tuple[int, Fields]]
    ) -> None:
        """Add a message, or more rows of it, with these parts."""
        for start in range(0, len(parts) or 1, PARTS):
            some = parts[start : start + PARTS]
            identifier = self._slot(message.time // 1000)
            packed = self.add_parts(identifier, 0, some, message, project)
            self._messages.append(
                (identifier, session, message.name, message.is_user, message.state, len(some), packed)
            )

    def add_parts(
        self, row: int, first: int, parts: Sequence[tuple[int, Fields]], message: MessageDraft, project: str
    ) -> bytes:
        """Add parts of a message, numbered from `first` on; return their entries in its row."""
        for number, (_, fields) in enumerate(parts, first):
            self.parts.append((row * PARTS + number, *_columns(fields, project, is_user=message.is_user)))
        return b"".join(_ENTRY.pack(number, check) for number, (check, _) in enumerate(parts, first)) if parts else b""

    def execute(self) -> None:
        """Write everything."""
        many = self._db.executemany
        many("INSERT INTO session VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._new_sessions)
        many(
            "UPDATE session SET version = ?, state = ?, project = ?, directory = ?, title = ?, parent = ?, updated = ?,"
            " archived = ?, open_message = ?, open_state = ? WHERE id = ?",
            self._changed,
        )
        many("UPDATE session SET version = ?, state = ?, open_message = ?, open_state = ? WHERE id = ?", self._indexed)
        many("INSERT INTO message VALUES(?, ?, ?, ?, ?, ?, ?)", sorted(self._messages))
        self.parts.sort()  # FTS5 is fast for ascending rowids only
        many("INSERT INTO fts(rowid, body, extra, path) VALUES(?, ?, ?, ?)", self.parts)

    def _slot(self, second: int) -> int:
        """Return the first id of a message from this second on that is not used."""
        at = max(second, self._following.get(second, 0))
        while at in self._used or (self._low <= at <= self._high and self._is_stored(at)):
            at += 1
        self._used.add(at)
        self._following[second] = at + 1
        return at

    def _is_stored(self, message: int) -> bool:
        return self._db.execute("SELECT 1 FROM message WHERE id = ?", (message,)).fetchone() is not None


def _title_state(found: Found) -> str:
    """Return the state of a session when only its record was read; empty when that may change with the same time."""
    return "" if found.is_young else f"{_TITLE} {found.state}"


def _values(draft: SessionDraft, record: SessionFields, *, version: int, state: str) -> tuple[object, ...]:
    """Return the values of a row of `session` from `version` on."""
    return (
        version,
        state,
        draft.found.project,
        record.directory,
        record.title,
        record.parent,
        record.updated,
        record.archived,
        draft.open_message,
        draft.open_state,
    )


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def _columns(fields: Fields, project: str, *, is_user: bool) -> tuple[str, str, str]:
    """Return the texts of the three columns of `fts`."""
    tags = [words.tag("r", "user" if is_user else "assistant"), words.tag("p", project)]
    if fields.tool:
        tags.append(words.tag("t", fields.tool))
    extra = f"{words.pieces(fields.body)} {words.pieces(fields.paths)}".strip()
    return words.indexed(fields.body), f"{' '.join(tags)} {extra}", words.indexed(fields.paths)


def _row_since(since: int) -> int:
    return since // 1000 * PARTS
