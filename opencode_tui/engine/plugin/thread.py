"""Plain functions of plugins, each call on a daemon thread of its own.

Unlike those of the loop's pool such a thread delays nothing: who waits can be cancelled at once, and the program ends without it.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def run_on_thread(work: Callable[[], T]) -> T:
    """Return what the work gives, or raise what it raises; SystemExit and the like become RuntimeError."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def deliver(outcome: Callable[[], None]) -> None:
        if not done.done():
            outcome()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - raised again on the event loop
            failure = error if isinstance(error, Exception) else RuntimeError(repr(error))
            outcome: Callable[[], None] = lambda: done.set_exception(failure)  # noqa: E731 - one of two outcomes
        else:
            outcome = lambda: done.set_result(result)  # noqa: E731 - as above
        with suppress(RuntimeError):  # the loop was closed meanwhile; nobody waits any more
            loop.call_soon_threadsafe(deliver, outcome)

    threading.Thread(target=run, name="plugin", daemon=True).start()
    return await done
