"""The sessions of a folder by ID, with what came from each."""

from collections.abc import Iterable, Iterator, MutableMapping
from heapq import nlargest
from operator import attrgetter

from opencode_tui.schema.session.listed import ListedSession


class SessionMap(MutableMapping[str, ListedSession]):
    """Sessions that follow events."""

    def __init__(self, sessions: Iterable[ListedSession] = ()) -> None:
        self.changes = 0
        """How often a session was set or deleted."""
        self._sessions: dict[str, ListedSession] = {}
        self._below: dict[str, dict[str, None]] = {}
        """The IDs of what came from a session."""
        for info in sessions:
            self._put(info)

    def newest(self, count: int) -> list[ListedSession]:
        """Return the sessions that were updated last, the last one first, without subagent and archived ones."""
        tops = (info for info in self._sessions.values() if not info.parent_id and not info.is_archived)
        return nlargest(count, tops, key=attrgetter("updated"))

    def below(self, session_id: str) -> Iterator[ListedSession]:
        """Return the sessions that came from this one: its subagent sessions and its forks."""
        return (self._sessions[one] for one in self._below.get(session_id, ()))

    def __getitem__(self, session_id: str) -> ListedSession:
        return self._sessions[session_id]

    def __setitem__(self, session_id: str, info: ListedSession) -> None:
        if session_id in self._sessions:
            self._remove(session_id)
        self._put(info)
        self.changes += 1

    def __delitem__(self, session_id: str) -> None:
        self._remove(session_id)
        self.changes += 1

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._sessions

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sessions)

    def _put(self, info: ListedSession) -> None:
        self._sessions[info.id] = info
        for origin in filter(None, (info.parent_id, info.fork_of)):
            self._below.setdefault(origin, {})[info.id] = None

    def _remove(self, session_id: str) -> None:
        info = self._sessions.pop(session_id)
        for origin in filter(None, {info.parent_id, info.fork_of}):
            del self._below[origin][session_id]
