"""The proxy through which a face's calls reach the engine."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

import pytest

from opencode_tui.client.calls import forward

P = ParamSpec("P")
R = TypeVar("R")


class Service:
    """One member of each kind."""

    limit = 3

    async def triple(self, number: int) -> int:
        return 3 * number

    def double(self, number: int) -> int:
        return 2 * number

    async def _hidden(self) -> None: ...


class Counted:
    """Counts the functions that it was asked to carry."""

    count = 0

    def carry(self, function: Callable[P, Awaitable[R]]) -> Callable[P, Coroutine[Any, Any, R]]:
        self.count += 1

        async def carried(*args: P.args, **kwargs: P.kwargs) -> R:
            return await function(*args, **kwargs)

        return carried


async def test_a_coroutine_function_is_carried_and_kept():
    calls = Counted()
    service = forward(Service(), calls.carry)
    assert [await service.triple(1), await service.triple(2)] == [3, 6]
    assert calls.count == 1


@pytest.mark.parametrize("name", ["limit", "double", "_hidden"])
def test_nothing_but_public_coroutine_functions_is_carried(name: str):
    with pytest.raises(AttributeError, match=name):
        getattr(forward(Service(), Counted().carry), name)


def test_without_calls_to_carry_the_service_itself_is_used():
    service = Service()
    assert forward(service, None) is service
