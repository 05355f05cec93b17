"""A store for searches: sessions written with few words, and the search over them.

store = SearchStore(paths)
store.write("ses_a", user("wait"), assistant("retry"), title="Backoff")
assert store.texts("retry") == ["retry"]
"""

import time
from dataclasses import dataclass, field
from typing import Any

from opencode_tui.engine.search.searcher import Searcher
from opencode_tui.schema.api.search import SearchRequest, SearchResult
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import MessageTime
from opencode_tui.storage.paths import Paths
from tests.support.sessions.records import session_info, write_records

DAY = 24 * 3_600_000


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass
class SearchStore:
    """`began` is the time of the first message, ms since 1970; each message comes a minute after the one before it."""

    paths: Paths
    began: int = field(default_factory=lambda: now_ms() - 30 * DAY)

    def __post_init__(self) -> None:
        self.paths.lock.mkdir(parents=True, exist_ok=True)
        self.searcher = self.open()

    def open(self) -> Searcher:
        """Return another searcher, as another process has it."""
        return Searcher(str(self.paths.storage), self.paths.cache, self.paths.lock / "search")

    def write(self, session: str, *messages: MessageWithParts, **fields: Any) -> None:
        """Write a session with these messages, which get its id and later times."""
        info = session_info(session, **{"created": self.began, "updated": self.began, **fields})
        written: list[MessageWithParts] = []
        for one in messages:
            self.began += 60_000
            time = one.info.time.changed(created=self.began)
            head = one.info.changed(session_id=session, time=time)
            written.append(with_parts(head, [part.changed(session_id=session) for part in one.parts]))
        write_records(self.paths, info, written)

    def search(self, query: str, *, project: str = "global", **fields: Any) -> SearchResult:
        """Return the result of a query."""
        return self.searcher.search(SearchRequest(query=query, **fields), project)

    def texts(self, query: str, **fields: Any) -> list[str]:
        """Return the snippets of all hits."""
        return [hit.snippet for group in self.search(query, **fields).groups for hit in group.hits]

    def sessions(self, query: str, **fields: Any) -> list[str]:
        """Return the ids of the sessions found, in order."""
        return [group.session_id for group in self.search(query, **fields).groups]


def at(message: MessageWithParts, time: int) -> MessageWithParts:
    """Return the message as it was created at this time."""
    return with_parts(message.info.changed(time=MessageTime(created=time)), message.parts)
