"""The engine in a thread of its own, for a caller whose event loop must not wait for it.

The caller and the engine share values only: arguments and results are frozen records, events are read from a `Subscription`, which
both sides may use. A canceled call is canceled in the engine; its caller does not wait for that.
"""

import asyncio
import logging
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from contextvars import Context
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from opencode_tui.bus import Bus
from opencode_tui.cancellation import consume_error, limit_threads
from opencode_tui.client.local import LocalClient, LocalClients
from opencode_tui.engine.engine import open_engine
from opencode_tui.schema.error import OpencodeError, StorageError
from opencode_tui.schema.event.screen_event import ScreenToastShown
from opencode_tui.tasks import first_error

logger = logging.getLogger(__name__)

SWITCH_INTERVAL_S = 0.0005
"""Seconds that a thread may run Python while another one waits. A key needs the interpreter several times until it is drawn; with
Python's 5 ms a busy engine delays it by up to that much each time."""

CLOSE_LIMIT_S = 5.0
"""Seconds that the engine has to end; unfinished work is recovered at the next start, as after a kill."""

P = ParamSpec("P")
R = TypeVar("R")

Share = Callable[[LocalClients], AbstractAsyncContextManager[None]]
"""Lets other processes use the engine during its context."""


class EngineThread:
    """A thread with the engine and its event loop; created and used on the caller's event loop."""

    def __init__(self) -> None:
        self._face = asyncio.get_running_loop()
        self._loop = asyncio.new_event_loop()
        self._opened: asyncio.Future[LocalClient] = self._face.create_future()
        self._ended: asyncio.Future[None] = self._face.create_future()
        self._leave = asyncio.Event()
        self._bus: Bus | None = None
        self._pending: set[Future[Any]] = set()
        self._left: set[Future[Any]] = set()
        self._has_ended = False
        self._failure: BaseException | None = None
        self._last = threading.Lock()
        self._is_over = False
        self._after_end: Callable[[], object] | None = None

    @property
    def ended(self) -> "asyncio.Future[None]":
        """Done, on the caller's event loop, when the engine has ended."""
        return self._ended

    @property
    def has_ended(self) -> bool:
        """Whether the engine has ended."""
        return self._has_ended

    async def open(self, environ: Mapping[str, str], directory: Path, *, share: Share | None = None) -> LocalClient:
        """Start the thread and return the client of a folder; raises the error that kept the engine from opening.

        `share` is open in the engine's loop as long as the engine is.
        """
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        # a daemon: the process can end although the engine does not
        threading.Thread(target=self._run, args=(environ, directory, share), name="engine", daemon=True).start()
        await asyncio.wait({self._opened, self._ended}, return_when=asyncio.FIRST_COMPLETED)
        if not self._opened.done() and self._failure is not None:
            raise self._failure
        return self._opened.result()

    def coroutine(self, function: Callable[P, Awaitable[R]]) -> Callable[P, Coroutine[Any, Any, R]]:
        """Return a function that awaits this one of the engine in its loop. Callbacks in keywords are called in the caller's loop.

        The function raises OpencodeError when the engine has ended.
        """

        async def carried(*args: P.args, **kwargs: P.kwargs) -> R:
            for name, value in kwargs.items():
                if callable(value):
                    kwargs[name] = self._in_face(value)

            async def work() -> R:
                return await function(*args, **kwargs)

            if self._has_ended:
                raise _lost(self._failure)
            # in a context of its own: that of a screen would keep the whole screen, for as long as something runs here
            future = Context().run(asyncio.run_coroutine_threadsafe, work(), self._loop)
            self._pending.add(future)
            future.add_done_callback(self._pending.discard)
            if self._has_ended:
                future.cancel()
            waiting = Context().run(asyncio.wrap_future, future)
            waiting.add_done_callback(consume_error, context=Context())
            try:
                return await Context().run(asyncio.shield, waiting)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if self._has_ended and (task is None or not task.cancelling()):
                    raise _lost(self._failure) from None
                if future not in self._left:
                    future.cancel()
                raise
            except (SystemExit, KeyboardInterrupt) as error:  # ends the engine, not the caller
                raise _lost(error) from error

        return carried

    def leave_calls(self, ended: Callable[[], None]) -> None:
        """Let the calls that wait now continue in the engine when their callers end; a prompt in the queue is sent by its call.

        `ended` is called at the end of each, in the loop of the engine.
        """
        self._left = set(self._pending)
        for future in tuple(self._left):
            future.add_done_callback(lambda _done: ended())

    @property
    def has_left_calls(self) -> bool:
        """Whether calls continue that `leave_calls` has left."""
        return not all(future.done() for future in self._left)

    def when_ended(self, work: Callable[[], object]) -> None:
        """Call `work` when the engine has ended, in its thread; if it has ended, call it now, in this thread.

        Only the last `work` is called: for the caller whose `close` gave up.
        """
        with self._last:
            if not self._is_over:
                self._after_end = work
                return
        work()

    async def close(self) -> None:
        """End the engine in order, within `CLOSE_LIMIT_S`.

        Raises OpencodeError when it failed or does not end, StorageError when not all is stored.
        """
        with suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._leave.set)
        await asyncio.wait({self._ended}, timeout=CLOSE_LIMIT_S)
        if not self._ended.done():
            raise OpencodeError(
                f"the engine did not stop within {CLOSE_LIMIT_S:.0f} s; unfinished work is recovered at the next start"
            )
        if isinstance(self._failure, StorageError):
            raise self._failure
        if self._failure is not None and self._opened.done():
            raise _lost(self._failure) from self._failure

    def _in_face(self, callback: Callable[..., object]) -> Callable[..., None]:
        def call(*args: object) -> None:
            self._face.call_soon_threadsafe(callback, *args)

        return call

    def _run(self, environ: Mapping[str, str], directory: Path, share: Share | None) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            try:
                runner.run(self._work(environ, directory, share))
            except BaseException as error:  # noqa: BLE001 - the caller reports it
                self._failure = error
            self._has_ended = True  # now the runner cancels the calls that are left
        for future in tuple(self._pending):  # calls that the loop has not begun
            future.cancel()
        with self._last:
            self._is_over, work = True, self._after_end
        if work is not None:
            work()
        if self._failure is not None and self._bus is not None:
            logger.error("the engine failed", exc_info=self._failure)
            self._bus.publish(
                ScreenToastShown.model_validate({"message": str(_lost(self._failure)), "variant": "error"})
            )
        with suppress(RuntimeError):  # the caller has given up and closed its loop
            self._face.call_soon_threadsafe(self._ended.set_result, None)

    async def _work(self, environ: Mapping[str, str], directory: Path, share: Share | None) -> None:
        limit_threads()
        async with open_engine(environ) as engine:
            client = LocalClient(engine, await engine.instance(directory), carry=self.coroutine)
            self._bus = engine.bus
            async with nullcontext() if share is None else share(LocalClients(engine, directory, own=client)):
                self._face.call_soon_threadsafe(self._opened.set_result, client)
                await self._leave.wait()


def _lost(failure: BaseException | None) -> OpencodeError:
    error = None if failure is None else first_error(failure)
    reason = "has ended" if error is None else f"failed ({type(error).__name__}: {error})"
    return OpencodeError(f"the engine {reason}; what was stored is safe, start opencode-tui again")


@asynccontextmanager
async def open_client_in_thread(environ: Mapping[str, str], directory: Path) -> AsyncGenerator[LocalClient, None]:
    """Open the engine in a thread, and the client of a folder; on leaving, everything ends in order or after a limit."""
    thread = EngineThread()
    try:
        yield await thread.open(environ, directory)
    finally:
        await thread.close()
