"""The proxy through which a face's calls reach the engine."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

import pytest

from opencode_tui.client.local_facets import DirectCalls, forward

P = ParamSpec("P")
R = TypeVar("R")


class Service:
    """One member of each kind."""

    limit = 3

    async def where(self) -> int:
        return threading.get_ident()

    def double(self, number: int) -> int:
        return 2 * number

    def _hidden(self) -> None: ...


class OtherLoop(DirectCalls):
    """Runs coroutine functions in an event loop of another thread, and notes the kinds of the members that were used."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.kinds: list[str] = []

    def coroutine(self, function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        self.kinds.append("coroutine")

        async def carried(*args: P.args, **kwargs: P.kwargs) -> R:
            async def work() -> R:
                return await function(*args, **kwargs)

            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), self._loop))

        return carried

    def function(self, function: Callable[P, R]) -> Callable[P, R]:
        self.kinds.append("function")
        return function


async def test_a_strategy_can_carry_coroutines_to_the_loop_of_another_thread():
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        calls = OtherLoop(loop)
        service = forward(Service(), calls)
        assert [await service.where(), await service.where()] == [thread.ident] * 2
        assert (service.double(4), service.limit) == (8, 3)
        assert calls.kinds == ["coroutine", "function"]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_the_private_members_of_a_service_are_not_forwarded():
    with pytest.raises(AttributeError, match="_hidden"):
        forward(Service(), DirectCalls())._hidden()
