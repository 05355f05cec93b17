"""What a run waits for outside of this program: a wait that lasts is reported, so that the status of its session names it.

The run decides who gets the reports (`reporting`); what waits says so where it waits (`waiting`), for as long as nothing arrives.
Only waits of the task that entered `reporting` count: a tool, a title or a server has a row of its own. All waits with their
deadlines: docs/internals/waits.md.
"""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct

from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.session.session import Wait, WaitKind

NAMED_AFTER_S = 1.0
"""Seconds without news after which a wait is reported; what most requests wait is not worth an event."""

NAMED_AGAIN_S = 3.0
"""The same after a wait of the same request that was reported: an answer that comes in bursts would let the screen flicker."""

Report = Callable[[Wait | None], None]
"""Called with a wait that lasts, and with None when it is over."""


class _Listener(Struct, frozen=True):
    report: Report
    task: "asyncio.Task[object] | None"
    written: list[str]


_listener: ContextVar[_Listener | None] = ContextVar("listener", default=None)


@contextmanager
def reporting(report: Report, written: list[str]) -> Generator[None]:
    """Report the waits of the current task inside the context; `written` has what it and its tools write (`writing`)."""
    mark = _listener.set(_Listener(report, asyncio.current_task(), written))
    try:
        yield
    finally:
        _listener.reset(mark)


@contextmanager
def writing(path: str) -> Generator[None]:
    """Name a file, or a folder, that is written inside the context by work that a cancellation waits for.

    An interrupted run that the disk holds there ends for the user, see `Run.supervise`.
    """
    listener = _listener.get()
    if listener is None:
        yield
        return
    listener.written.append(path)
    try:
        yield
    finally:
        listener.written.remove(path)


class Waiting:
    """A wait that has begun."""

    def __init__(
        self, on: WaitKind, name: str | Callable[[], str], limit_s: float | None, report: Report | None
    ) -> None:
        self._on: WaitKind = on
        self._name = name
        self._limit_s = limit_s
        self._report = report
        self._is_reported = False
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._after_s = NAMED_AFTER_S
        self._timer: asyncio.TimerHandle | None = None
        if report is not None:
            self._timer = self._loop.call_later(self._after_s, self._look)

    @property
    def lasted_s(self) -> float:
        """Seconds since it began, or was restarted."""
        return self._loop.time() - self._began

    def restart(self, on: WaitKind, *, limit_s: float | None = None) -> None:
        """Restart the wait when something has arrived: from now on it is for `on`, at most `limit_s` seconds if that changes.

        Takes about a microsecond.
        """
        self._on, self._began = on, self._loop.time()
        self._limit_s = self._limit_s if limit_s is None else limit_s
        if self._is_reported and self._report is not None:
            self._is_reported = False
            self._report(None)
            self._after_s = max(self._after_s, NAMED_AGAIN_S)
            self._timer = self._loop.call_later(self._after_s, self._look)

    def end(self) -> None:
        """End the wait; safe to call twice."""
        if self._timer is not None:
            self._timer.cancel()
        if self._is_reported and self._report is not None:
            self._is_reported = False
            self._report(None)
        self._report = None

    def _look(self) -> None:
        if self._report is None:
            return
        lasted = self.lasted_s
        if lasted < self._after_s * 0.99:
            self._timer = self._loop.call_later(self._after_s - lasted, self._look)
            return
        since = system_clock() - round(lasted * 1000)
        limit = None if self._limit_s is None else round(self._limit_s * 1000)
        name = self._name if isinstance(self._name, str) else self._name()
        self._is_reported = True
        self._report(Wait.trusted(on=self._on, name=name, since=since, limit=limit))


@contextmanager
def waiting(on: WaitKind, name: str | Callable[[], str] = "", *, limit_s: float | None) -> Generator[Waiting]:
    """Yield a wait for `on`, of the provider, server or file `name`, that fails after `limit_s` seconds without news.

    None for never; a callable `name` is called when the wait is reported.
    """
    listener = _listener.get()
    is_own = listener is not None and listener.task is asyncio.current_task()
    wait = Waiting(on, name, limit_s, listener.report if is_own and listener is not None else None)
    try:
        yield wait
    finally:
        wait.end()
