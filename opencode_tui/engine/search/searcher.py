"""Answers queries from the index after bringing it up to date. Every method blocks; one thread at a time.

A problem of the index never raises: the result has what is known, and says what is missing. Each hit that is returned was compared
with its record.
"""

import logging
import sqlite3
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from opencode_tui.engine.search import build, refresh
from opencode_tui.engine.search.fields import Fields
from opencode_tui.engine.search.index import Index, IndexFiles, PartRow, SessionRow
from opencode_tui.engine.search.query import Query, parse_query, similar_query
from opencode_tui.engine.search.snippets import Marker
from opencode_tui.engine.search.store_view import Found, StoreView
from opencode_tui.schema.api.search import SearchGroup, SearchHit, SearchRequest, SearchResult
from opencode_tui.storage.files import FileSystem

COUNTED = 2_000
"""Matches that are grouped and counted."""

RANKED = 50_000
"""Limit of the newest matches that are ranked: ranking takes 1.5 s for a million."""

GROUPS = 100
"""Sessions in a result."""

INLINE_S, QUICK_S = 0.15, 0.03
"""Seconds that a query, and a quick one, spends on bringing the index up to date itself."""

SCAN_S = 10.0
"""Seconds for which quick queries use the same scan of the store: a whole query follows them when the user pauses."""

SOME = 20
"""Sessions that are brought up to date by a query also while the child process builds."""

SMALL = 50_000
"""Parts up to which the words of the index are read for similar words without the file of the child process."""

_logger = logging.getLogger(__name__)


class Searcher:
    """The searches in one store."""

    def __init__(self, root: str, cache: Path, lock: Path) -> None:
        """`root` is the folder of the store, `lock` the file that the child process locks."""
        self._view = StoreView(FileSystem(), root)
        self._root = root
        self._cache = cache
        self._lock = lock
        self._files = IndexFiles(cache, root)
        self._index: Index | None = None
        self._rows: dict[str, SessionRow] = {}
        self._rows_at = -1
        self._found: dict[str, Found] = {}
        self._found_at = 0.0
        self._child: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._words: tuple[Path, int, Sequence[str]] | None = None

    def close(self) -> None:
        """Close the index and end the child process."""
        if self._index is not None:
            self._index.close()
            self._index = None
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            if self._child.stdin is not None:
                self._child.stdin.close()

    def expire_scan(self) -> None:
        """Look at the store again with the next query."""
        self._found_at = 0.0

    def release(self) -> None:
        """Keep no session in memory: with 100,000 of them the next query reads them again in half a second."""
        self._rows, self._rows_at = {}, -1
        self._found, self._found_at = {}, 0.0

    def update(self, names: Iterable[str]) -> None:
        """Index changes of these sessions; what fails is left to the next query."""
        try:
            index = self._open()
            found = self._view.look(names)
            refresh.update(index, self._view, found, list(found), is_over=refresh.deadline(1))
        except (sqlite3.Error, OSError) as error:
            _logger.info("changes are indexed with the next search: %s", error)

    def search(self, request: SearchRequest, project: str) -> SearchResult:
        """Return the result of a query; `project` is the id of the project that `project:.` means."""
        began = time.perf_counter()
        now = datetime.now(UTC).astimezone()
        query = parse_query(request.query, now=now, is_typing=request.is_typing)
        if request.is_here:
            query = msgspec.structs.replace(query, project=".")
        result = self._guarded(request, query, project)
        return result.changed(ignored=list(query.ignored), elapsed_ms=round((time.perf_counter() - began) * 1000, 1))

    def _guarded(self, request: SearchRequest, query: Query, project: str) -> SearchResult:
        """Answer a query; with a damaged index again with a new one."""
        for _ in range(2):
            try:
                return self._answer(request, query, project)
            except (sqlite3.Error, OSError, ValueError) as error:
                if not refresh.is_damaged(error):
                    return self._failed(error)
                _logger.warning("rebuilding the search index: %s", error)
                self._discard()
        return self._failed(sqlite3.DatabaseError("it is damaged again"))

    def _failed(self, error: Exception) -> SearchResult:
        path = str(self._index.path if self._index is not None else self._files.pointer)
        return SearchResult(groups=[], sessions=max(1, len(self._found)), problem=refresh.problem_of(error, path))

    def _answer(self, request: SearchRequest, query: Query, project: str) -> SearchResult:
        index = self._open()
        found = self._scan(is_quick=request.is_quick)
        stale, problem = self._refresh(index, found, QUICK_S if request.is_quick else INLINE_S)
        result = self._run(index, request, query, found, project)
        if not result.groups and not stale and query.terms and not request.is_quick:
            result = self._corrected(index, request, query, project) or result
        return result.changed(indexed=len(found) - len(stale), sessions=len(found), problem=problem)

    def _open(self) -> Index:
        """Return the present index, a new one if there is none. Raises sqlite3.Error, OSError."""
        path = self._files.current()
        if self._index is not None and self._index.path != path:
            self._index.close()
            self._index = None
        if self._index is None:
            self._rows_at = -1
            if path is None:
                path = self._files.new()
                self._index = Index(path, create=True)
                self._files.replace(path)
            else:
                self._index = Index(path)
        return self._index

    def _discard(self) -> None:
        path = self._index.path if self._index is not None else None
        with suppress(sqlite3.Error):
            if self._index is not None:
                self._index.close()
        self._index = None
        with suppress(OSError):
            path = path or self._files.current()
            if path is not None:
                self._files.discard(path)

    def _scan(self, *, is_quick: bool) -> Mapping[str, Found]:
        now = time.monotonic()
        if not (is_quick and now - self._found_at < SCAN_S):
            self._found = self._view.scan()
            self._found_at = now
        return self._found

    def _sessions(self, index: Index) -> Mapping[str, SessionRow]:
        changes = index.changes
        if changes != self._rows_at:
            self._rows, self._rows_at = index.sessions(), changes
        return self._rows

    def _refresh(self, index: Index, found: Mapping[str, Found], seconds: float) -> tuple[list[str], str | None]:
        """Bring the index up to date for at most `seconds`; return the sessions that are left, and why writing failed."""
        stale = refresh.stale_sessions(self._view, found, self._sessions(index))
        if not stale:
            return [], None
        problem = None
        done: Mapping[str, bool] = {}
        is_building = self._child is not None and self._child.poll() is None
        if not is_building or len(stale) <= SOME:
            try:
                if len(found) > len(self._rows):
                    refresh.add_titles(index, self._view, found, [one for one in stale if one not in self._rows][:500])
                done = refresh.update(index, self._view, found, stale, is_over=refresh.deadline(seconds))
            except sqlite3.OperationalError as error:
                if not refresh.is_busy(error):
                    if refresh.is_damaged(error):
                        raise
                    problem = refresh.problem_of(error, str(index.path))
            self._rows_at = -1
            stale = refresh.stale_sessions(self._view, found, self._sessions(index))
        left = [name for name in stale if name not in done]  # young ones stay stale for a moment
        if left and problem is None:
            self._start_build(len(left))
        return left, problem

    def _start_build(self, count: int) -> None:
        """Start the child process unless it runs, or ended a moment ago."""
        if self._child is not None and self._child.poll() is None:
            return
        if count <= build.REST and time.monotonic() - self._started < 2:
            return
        if time.monotonic() - self._started < 0.5:
            return
        self._started = time.monotonic()
        if self._child is not None and self._child.stdin is not None:
            self._child.stdin.close()
        self._child = build.start_build(self._root, self._cache, self._lock)

    def _run(
        self, index: Index, request: SearchRequest, query: Query, found: Mapping[str, Found], project: str
    ) -> SearchResult:
        if query.is_empty:
            return SearchResult(groups=[])
        for is_last in (False, True):
            rows = {row.id: row for row in self._sessions(index).values() if row.name in found}
            parts, is_capped = self._parts(index, request, query, rows, project)
            drawn = _Grouping(self._view, query, rows, request.limit)
            groups = drawn.groups(parts, self._titles(query, rows, project, found))
            if not drawn.outdated or is_last:
                break
            names = [rows[session].name for session in drawn.outdated]
            self._write_again(index, found, names)
        result = SearchResult(groups=groups, matches=sum(one.count for one in groups), is_capped=is_capped)
        is_unknown = _projects(query, rows.values(), project) == set()
        return result.changed(unknown_project=query.project) if is_unknown else result

    def _write_again(self, index: Index, found: Mapping[str, Found], names: Sequence[str]) -> None:
        """Index sessions whose records changed without another state of their files."""
        with suppress(sqlite3.OperationalError):  # another process writes: the hits are left out
            index.expire(names)
            refresh.update(index, self._view, found, names, is_over=refresh.deadline(INLINE_S))
        self._rows_at = -1

    def _parts(
        self, index: Index, request: SearchRequest, query: Query, rows: Mapping[int, SessionRow], project: str
    ) -> tuple[list[PartRow], bool]:
        """Return the parts that match and count, and whether there are more."""
        expression = query.expression(_projects(query, rows.values(), project))
        if request.order == "relevance":
            listed = index.ranked(expression, since=query.since, limit=COUNTED, most=RANKED)
            return [one for one in listed if one is not None and one.session in rows], len(listed) == COUNTED
        live: list[PartRow] = []
        before: int | None = None
        while len(live) < COUNTED:
            listed = index.newest(expression, since=query.since, before=before, limit=COUNTED)
            live += [one for one in listed if one is not None and one.session in rows]
            if len(listed) < COUNTED:
                return live, False
            before = index.last_rowid
        return live[:COUNTED], True

    def _titles(
        self, query: Query, rows: Mapping[int, SessionRow], project: str, found: Mapping[str, Found]
    ) -> list[SessionRow]:
        """Return the sessions whose titles match, the last updated first."""
        if not query.is_plain:
            return []
        marker, unwanted = Marker(query.terms), [Marker([term]) for term in query.without]
        projects = _projects(query, rows.values(), project)
        matching = [
            row
            for row in rows.values()
            if row.title
            and row.updated >= query.since
            and (projects is None or found[row.name].project in projects)
            and marker.has_all(row.title)
            and not any(one.has_all(row.title) for one in unwanted)
        ]
        return sorted(matching, key=lambda row: row.updated, reverse=True)

    def _corrected(self, index: Index, request: SearchRequest, query: Query, project: str) -> SearchResult | None:
        """Return the result for the most similar words that the index has, None without one."""
        text = similar_query(request.query, query, self._vocabulary(index))
        if text is None:
            return None
        other = parse_query(text, now=datetime.now(UTC).astimezone())
        if request.is_here:
            other = msgspec.structs.replace(other, project=".")
        result = self._run(index, request, other, self._found, project)
        return result.changed(corrected=text) if result.groups else None

    def _vocabulary(self, index: Index) -> Sequence[str]:
        changes = index.changes
        if self._words is not None and self._words[:2] == (index.path, changes):
            return self._words[2]
        if index.counts()[0] <= SMALL:
            found = index.vocabulary()
        else:
            try:
                found = build.words_file(index.path).read_text().split("\n")
            except OSError:
                found = []
        self._words = (index.path, changes, found)
        return found


class _Grouping:
    """Groups parts by session and reads the snippets of the first ones."""

    def __init__(self, view: StoreView, query: Query, rows: Mapping[int, SessionRow], limit: int) -> None:
        self.outdated: set[int] = set()
        """The rows of sessions with a part that is not as it was indexed."""
        self._view = view
        self._marker = Marker(query.terms)
        self._rows = rows
        self._limit = limit
        self._messages: dict[str, dict[int, tuple[str, Fields]]] = {}

    def groups(self, parts: Sequence[PartRow], titles: Sequence[SessionRow]) -> list[SearchGroup]:
        """Return the sessions, those with a matching title first, then in the order of their first part."""
        by_session: dict[int, list[PartRow]] = {row.id: [] for row in titles[:GROUPS]}
        for part in parts:
            by_session.setdefault(part.session, []).append(part)
        shown = list(by_session.items())[:GROUPS]
        each = max(1, self._limit // max(1, len(shown)))
        left = self._limit
        groups: list[SearchGroup] = []
        matching = {row.id for row in titles}
        for session, mine in shown:
            tried = mine[: min(each, left)]
            hits = [hit for part in tried if (hit := self._hit(part)) is not None]
            left -= len(hits)
            row = self._rows[session]
            count = len(mine) - len(tried) + len(hits)
            if not (count or session in matching):
                continue
            groups.append(
                SearchGroup(
                    session_id=row.name,
                    parent_id=row.parent,
                    project_id=row.project,
                    directory=row.directory,
                    title=row.title,
                    marks=self._marker.marks(row.title) if session in matching else [],
                    updated=row.updated,
                    archived=row.archived,
                    count=count,
                    hits=hits,
                )
            )
        return groups

    def _hit(self, part: PartRow) -> SearchHit | None:
        row = self._rows[part.session]
        if part.message not in self._messages:
            self._messages[part.message] = self._view.parts(part.message, row.project, is_user=part.is_user)
        found = self._messages[part.message].get(part.checksum)
        if found is None:
            self.outdated.add(part.session)
            return None
        name, fields = found
        snippet = self._marker.snippet([fields.body, fields.paths])
        return SearchHit(
            message_id=part.message,
            part_id=name,
            kind=fields.kind,
            tool=fields.tool or None,
            time=fields.time or part.time,
            snippet=snippet.text,
            marks=snippet.marks,
        )


def _projects(query: Query, rows: Iterable[SessionRow], project: str) -> set[str] | None:
    """Return the ids of the projects that a query is limited to, None without a limit."""
    if query.project is None:
        return None
    if query.project == ".":
        return {project}
    wanted = query.project.casefold()
    return {row.project for row in rows if wanted in row.directory.rstrip("/").rpartition("/")[2].casefold()}
