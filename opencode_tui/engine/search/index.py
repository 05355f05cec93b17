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
from opencode_tui.engine.search.fields import Fields, as_ms, as_object
from opencode_tui.engine.search.store_view import MessageDraft, SessionDraft
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.paths import ensure

FORMAT = 1

PARTS = 64
"""Part numbers of a row of `message`; one with more parts has several rows."""

TITLE_ONLY = 0
"""The version of a session of which no message was written yet; each write adds one."""

BUSY_MS = 250
"""Milliseconds that a query or a small update waits for another process."""

_ASKED = 500
"""Values in one query: SQLite has a limit."""

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


class SessionRow(msgspec.Struct, frozen=True):
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

    def __init__(self, path: Path, *, create: bool = False, wait_ms: int = BUSY_MS) -> None:
        self.path = path
        if create:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        uri = f"{path.absolute().as_uri()}?mode=rw"
        self._db = sqlite3.connect(uri, uri=True, timeout=wait_ms / 1000, isolation_level=None, check_same_thread=False)
        self.last_rowid = 0
        """The rowid of the last part of the latest query, dead or not."""
        self._slots: dict[int, int] = {}
        try:
            self._db.execute("PRAGMA synchronous = NORMAL")
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

    def sessions(self, names: Sequence[str] | None = None) -> dict[str, SessionRow]:
        """Return all sessions by name, or those with these names."""
        query = (
            "SELECT id, name, version, state, project, directory, title, parent, updated, archived, open_message,"
            " open_state FROM session"
        )
        if names is None:
            return {row[1]: SessionRow(*row) for row in self._db.execute(query)}
        found: dict[str, SessionRow] = {}
        for start in range(0, len(names), _ASKED):
            some = names[start : start + _ASKED]
            rows = self._db.execute(f"{query} WHERE name IN ({_marks(some)})", some)
            found |= {row[1]: SessionRow(*row) for row in rows}
        return found

    def messages(self, session: SessionRow | None, project: str) -> dict[str, int]:
        """Return the states of a session's messages by name; none when it belongs to another project now."""
        if session is None or session.version == TITLE_ONLY or session.project != project:
            return {}
        rows = self._db.execute("SELECT name, state FROM message WHERE session = ? ORDER BY id", (session.id,))
        return dict(rows.fetchall())

    def counts(self) -> tuple[int, int]:
        """Return the numbers of parts and of dead parts."""
        found = dict(self._db.execute("SELECT key, value FROM meta").fetchall())
        return int(found.get("parts", 0)), int(found.get("dead", 0))

    def write(self, drafts: Sequence[SessionDraft]) -> set[str]:
        """Store what drafts have, in one transaction; one whose session was written since it was read is left out.

        Return the sessions that have everything now.
        """
        done: set[str] = set()
        with self._transaction():
            inserts: list[tuple[int, str, str, str]] = []
            dead = 0
            rows = self.sessions([draft.name for draft in drafts])
            for draft in drafts:
                row = rows.get(draft.name)
                if (None if row is None else row.version) == draft.version:
                    dead += self._write_session(draft, row, inserts)
                    if draft.is_whole:
                        done.add(draft.name)
            inserts.sort()  # FTS5 is fast for ascending rowids only
            self._db.executemany("INSERT INTO fts(rowid, body, extra, path) VALUES(?, ?, ?, ?)", inserts)
            self._count("parts", len(inserts))
            self._count("dead", dead)
        return done

    def add_sessions(self, drafts: Sequence[SessionDraft]) -> None:
        """Store new sessions without their messages, so that their titles are found."""
        with self._transaction():
            known = self.sessions([draft.name for draft in drafts])
            for draft in drafts:
                if draft.name not in known:
                    self._put_session(draft, None, version=TITLE_ONLY, state="")

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

    def _put_session(self, draft: SessionDraft, row: SessionRow | None, *, version: int, state: str) -> int:
        record = draft.record
        time = as_object(record.get("time"))
        values = (
            version,
            state,
            draft.found.project,
            _text(record.get("directory")),
            " ".join(_text(record.get("title")).split()),
            _text(record.get("parentID")) or None,
            as_ms(time.get("updated")) or as_ms(time.get("created")),
            as_ms(time.get("archived")) or None,
            draft.open_message,
            draft.open_state,
        )
        done = self._db.execute(
            "INSERT INTO session(name, version, state, project, directory, title, parent, updated, archived, open_message,"
            " open_state) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            if row is None
            else "UPDATE session SET name = ?, version = ?, state = ?, project = ?, directory = ?, title = ?, parent = ?,"
            " updated = ?, archived = ?, open_message = ?, open_state = ? WHERE id = ?",
            (draft.name, *values, *([] if row is None else [row.id])),
        )
        assert done.lastrowid is not None
        return done.lastrowid if row is None else row.id

    def _write_session(
        self, draft: SessionDraft, row: SessionRow | None, inserts: list[tuple[int, str, str, str]]
    ) -> int:
        """Store a draft; add what must be added to `fts`, and return the number of parts that are dead now."""
        is_done = draft.is_whole and draft.is_stable
        version = TITLE_ONLY if row is None else row.version
        session = self._put_session(draft, row, version=version + 1, state=draft.found.state if is_done else "")
        old: dict[str, list[tuple[int, int, bytes]]] = {}
        if version != TITLE_ONLY:
            rows = self._db.execute(
                "SELECT name, id, next, parts FROM message WHERE session = ? ORDER BY id", (session,)
            )
            for name, identifier, following, parts in rows:
                old.setdefault(name, []).append((identifier, following, parts))
        dead = 0
        for name in draft.gone:
            for identifier, _, parts in old.get(name, ()):
                dead += len(parts) // _ENTRY.size
                self._db.execute("UPDATE message SET session = 0, parts = x'' WHERE id = ?", (identifier,))
        project = draft.found.project
        for message in draft.messages:
            rest = dict(message.parts)
            free: list[tuple[int, int, bytes]] = []
            for identifier, following, parts in old.get(message.name, ()):
                kept = b""
                for number, check in _ENTRY.iter_unpack(parts):
                    if rest.pop(check, None) is not None:
                        kept += _ENTRY.pack(number, check)
                dead += (len(parts) - len(kept)) // _ENTRY.size
                free.append((identifier, following, kept))
            for rowid, fields in self._put_parts(session, message, rest, free):
                inserts.append((rowid, *_columns(fields, project, is_user=message.is_user)))
        return dead

    def _put_parts(
        self, session: int, message: MessageDraft, new: dict[int, Fields], rows: list[tuple[int, int, bytes]]
    ) -> list[tuple[int, Fields]]:
        """Store the rows of a message, with more if they do not suffice; return the rowid of each new part."""
        added: list[tuple[int, Fields]] = []
        waiting = list(new.items())
        is_first = not rows
        while rows or waiting or is_first:
            is_first = False
            is_new = not rows
            identifier, following, kept = rows.pop(0) if rows else (self._slot(message.time // 1000), 0, b"")
            while waiting and following < PARTS:
                check, fields = waiting.pop(0)
                kept += _ENTRY.pack(following, check)
                added.append((identifier * PARTS + following, fields))
                following += 1
            if is_new:
                self._db.execute(
                    "INSERT INTO message VALUES(?, ?, ?, ?, ?, ?, ?)",
                    (identifier, session, message.name, message.is_user, message.state, following, kept),
                )
            else:
                self._db.execute(
                    "UPDATE message SET state = ?, next = ?, parts = ? WHERE id = ?",
                    (message.state, following, kept, identifier),
                )
        return added

    def _slot(self, second: int) -> int:
        """Return the first id of a message from this second on that is not used."""
        at = max(second, self._slots.get(second, 0))
        while self._db.execute("SELECT 1 FROM message WHERE id = ?", (at,)).fetchone():
            at += 1
        if len(self._slots) > 10_000:
            self._slots.clear()
        self._slots[second] = at + 1
        return at


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


def _text(value: object) -> str:
    return value.encode("utf-8", "replace").decode()[:4_000] if isinstance(value, str) else ""
