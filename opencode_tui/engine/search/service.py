"""The search of one process: queries on a thread of their own, and the changes of the running engine."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from opencode_tui.cancellation import Threads, on_thread_for
from opencode_tui.engine.search.searcher import Searcher
from opencode_tui.schema.api.search import SearchRequest, SearchResult
from opencode_tui.schema.event.event import (
    Envelope,
    MessageRemoved,
    MessageUpdated,
    PartRemoved,
    PartUpdated,
    SessionCreated,
    SessionDeleted,
)
from opencode_tui.schema.session.part import ReasoningPart, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from opencode_tui.storage.paths import Paths, ensure

GATHER_S = 0.5
"""Seconds in which changes are gathered before they are indexed."""

KEEP_S = 20.0
"""Seconds after a query for which all sessions stay in memory for the next one."""

CLOSE_S = 3.0
"""Seconds that the index has to close; a disk that hangs keeps it, and the next search reads it as after a kill."""


class SearchService:
    """Searches all sessions. Called on the engine's event loop, which it never blocks."""

    def __init__(self, paths: Paths, events: Callable[[], AsyncIterator[Envelope]]) -> None:
        """`events` returns a reader of the events of all folders; it is called with the first search."""
        self._paths = paths
        self._events = events
        self._thread = Threads(1, name="search")
        self._searcher: Searcher | None = None
        self._following: asyncio.Task[None] | None = None
        self._releasing: asyncio.TimerHandle | None = None

    async def find(self, request: SearchRequest, project: str) -> SearchResult:
        """Return the result of a query; `project` is the id of the project that `project:.` means."""
        if self._following is None:
            self._following = asyncio.create_task(self._follow(), name="search-events")
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, lambda: self._made().search(request, project))
        finally:
            self._release_later(loop)

    async def close(self) -> None:
        """Stop following the engine, end the child process and close the index."""
        if self._releasing is not None:
            self._releasing.cancel()
        if self._following is not None:
            self._following.cancel()
            with suppress(asyncio.CancelledError):
                await self._following
        searcher = self._searcher
        if searcher is not None:
            await on_thread_for(searcher.close, CLOSE_S, threads=self._thread)
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _release_later(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._releasing is not None:
            self._releasing.cancel()
        self._releasing = loop.call_later(KEEP_S, self._release)

    def _release(self) -> None:
        if self._searcher is not None:
            with suppress(RuntimeError):  # it was closed while a query ran
                self._thread.submit(self._searcher.release)

    def _made(self) -> Searcher:
        if self._searcher is None:
            paths = self._paths
            self._searcher = Searcher(str(paths.storage), paths.cache, ensure(paths.lock) / "search")
        return self._searcher

    async def _follow(self) -> None:
        """Index the changes of the running engine when parts end."""
        changed: set[str] = set()
        waiting: asyncio.Task[None] | None = None

        async def index_later() -> None:
            await asyncio.sleep(GATHER_S)
            names = sorted(changed)
            changed.clear()
            await asyncio.get_running_loop().run_in_executor(self._thread, lambda: self._made().update(names))

        try:
            async for envelope in self._events():
                name = _changed_session(envelope)
                if not name:
                    continue
                if self._searcher is not None:
                    self._searcher.expire_scan()
                changed.add(name)
                if waiting is None or waiting.done():
                    waiting = asyncio.create_task(index_later(), name="search-index")
        finally:
            if waiting is not None:
                waiting.cancel()


def _changed_session(envelope: Envelope) -> str:
    """Return the session whose indexed content an event changes, empty for any other event."""
    match envelope.event:
        case PartUpdated(part=ToolPart(state=ToolStateCompleted() | ToolStateError()) as part):
            return part.session_id
        case PartUpdated(part=TextPart() | ReasoningPart() as part) if part.time is None or part.time.end is not None:
            return part.session_id
        case MessageUpdated(info=info):
            return info.session_id if getattr(info.time, "completed", None) is not None else ""
        case PartRemoved() | MessageRemoved():
            return envelope.event.session_id
        case SessionCreated(info=info) | SessionDeleted(info=info):
            return info.id
        case _:
            return ""
